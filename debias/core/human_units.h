// Times and sizes as a person reads and writes them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace debias {

// A time in a result.
std::string duration_text(double seconds);  // "1.2 s", "3.4 min", "5.6 h"

// Durations as a clock shows them.
std::string clock_text(double seconds);  // "0:07", "12:30", "1:02:03"; rounded; 0:00 for negative and non-finite times

// Remaining time of a run, by its own speed so far.
//
// With s steps since the start in T seconds, evaluations and checkpoints included, the steps left take T / s seconds each.
class RunClock {
 public:
  using Clock = std::chrono::steady_clock;

  // `step`: of the run so far, which an earlier process may have trained.
  explicit RunClock(int64_t step, Clock::time_point now = Clock::now()) : first_(step), start_(now) {}

  // Seconds until step `total`; nullopt before the first step.
  std::optional<double> left(int64_t step, int64_t total, Clock::time_point now = Clock::now()) const {
    if (step <= first_) return std::nullopt;
    const double a_step = std::chrono::duration<double>(now - start_).count() / static_cast<double>(step - first_);
    return a_step * static_cast<double>(total > step ? total - step : 0);
  }

 private:
  int64_t first_;
  Clock::time_point start_;
};

// Sizes as a person writes them.

// "256MB", "64MiB", "1.5GB", "4096": bytes, in decimal (kB, MB, GB) or binary (KiB, MiB, GiB) units. `what` begins the message of the usage
// error that anything else, or a size below one byte, throws.
int64_t parse_byte_size(const std::string& text, const std::string& what);

}  // namespace debias

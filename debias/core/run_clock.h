// Remaining time of a run, by its own speed so far.
//
// With s steps since the start in T seconds, evaluations and checkpoints included, the steps left take T / s seconds each.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace debias {

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

}  // namespace debias

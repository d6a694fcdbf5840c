// Learning-rate schedules: a pure function of (epoch, step), so that resuming needs no state.
//
// constant; cosine (SupContrast: lr(e) = eta_min + (lr - eta_min)(1 + cos(pi e / E)) / 2 with e counted from 1 and
// eta_min = lr * decay_rate^3 by default; `from_zero: true` gives torch's CosineAnnealing, e from 0, eta_min 0); multistep (milestones, gamma).
// Any of them with warm-up: `warmup_epochs`, `warmup_from` (per-iteration linear up to the schedule's value at the end of the warm-up).
// Spec section 5.1.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"

namespace debias {

class Schedule {
 public:
  virtual ~Schedule() = default;
  // `epoch` from 0, `step` within it of `steps` per epoch.
  virtual double learning_rate(int64_t epoch, int64_t step, int64_t steps) const = 0;
  virtual Config config() const = 0;
};

struct ScheduleEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<Schedule>(const Config& section, double base, int64_t epochs)> make;
};
const std::vector<ScheduleEntry>& schedule_registry();
std::unique_ptr<Schedule> make_schedule(const Config& section, double base_learning_rate, int64_t epochs);  // null section: constant

}  // namespace debias

// Learning-rate schedules: a pure function of (epoch, step), so that resuming needs no state.
//
//   constant    lr
//   cosine      eta_min + (lr - eta_min) (1 + cos(pi e / E)) / 2, e counted from 1, E epochs, eta_min = lr * decay_rate^3, or as given
//               (SupContrast); `from_zero: true` counts e from 0 and ends at 0 (torch's CosineAnnealingLR)
//   multistep   lr * gamma^(number of milestones < e), e counted from 1: a milestone is the number of epochs done before a decay
//
// Any of them with a warm-up of `warmup_epochs`: linear per step from `warmup_from` to the schedule's value at e = warmup_epochs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/optim/chosen.h"

namespace debias {

class Schedule {
 public:
  virtual ~Schedule() = default;
  // `epoch` from 0, `step` within it of `steps` per epoch.
  virtual double learning_rate(int64_t epoch, int64_t step, int64_t steps) const = 0;
};

struct ScheduleEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<ChosenSchedule(const Config& section)> read;
};
const std::vector<ScheduleEntry>& schedule_registry();

}  // namespace debias

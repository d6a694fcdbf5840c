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
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/optim/optimizer.h"

namespace debias {

// Value schedules: a number of a recipe (an objective's option, a term's weight) as a pure function of the epoch e = 0, ..., E - 1.
//
//   {schedule: linear, from: 2.0, to: 0.1, every: 20}     from + (to - from) k / (K - 1)
//   {schedule: cosine, from: 1.0, to: 0.0}                to + (from - to) (1 + cos(pi k / (K - 1))) / 2
//   {schedule: steps, values: {0: 0.5, 300: 0.7}}         the value of the last epoch listed that is not after e; epoch 0 must be listed
//
// k = floor(e / every) is the stage, K = ceil(E / every) their number, every >= 1 (default 1): the first stage has `from`, the last has
// `to`; a single stage has `from`. linear with every = 20 and E = 400 from 2 to 0.1 is the hardness schedule 2 - 0.005 e, refreshed every
// 20 epochs, of Liu and Wang 2023. Past the end the last value stays.
class ValueSchedule {
 public:
  virtual ~ValueSchedule() = default;
  virtual double value(int64_t epoch) const = 0;
  virtual Config config() const = 0;  // every option written out; reads as the same schedule
};

enum class RampPath { kLinear, kCosine };
constexpr auto enum_words(RampPath) { return named("linear", "cosine"); }

struct RampOptions {
  double from = 0;
  double to = 0;
  int64_t every = 1;

  void describe(OptionVisitor& o) {
    o("from", from, "value of the first stage");
    o("to", to, "value of the last stage");
    o("every", every, Range::closed(1, 1e6), "epochs of a stage");
  }
};

std::unique_ptr<ValueSchedule> ramp_schedule(RampPath path, const RampOptions& options, int64_t epochs);
std::unique_ptr<ValueSchedule> steps_schedule(std::map<int64_t, double> values);  // by the epoch that they are in force from; one is 0

// `what` names the number in messages ("objective 'bayesian': beta"). Usage errors, naming file and line: `section` is not a map with a
// `schedule`, an unknown schedule or option, a missing or non-numeric value.
std::unique_ptr<ValueSchedule> read_value_schedule(const Config& section, const std::string& what, int64_t epochs);

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

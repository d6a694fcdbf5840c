// The optimizer and the schedule of a recipe: their options are read and checked, and they can be made from them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "debias/core/config.h"

namespace debias {

struct MomentumOptions;
class Optimizer;
class Schedule;
struct OptimizedParameter;

struct ChosenOptimizer {
  Config section;            // every option written out, with `name`; reads as the same
  double learning_rate = 0;  // before the schedule
  std::function<std::unique_ptr<Optimizer>(std::vector<OptimizedParameter> parameters)> make;
};
ChosenOptimizer read_optimizer(const Config& section);                          // of none: the first entry
ChosenOptimizer adam_optimizer(double learning_rate, double weight_decay = 0);  // usage errors as of a section
ChosenOptimizer sgd_optimizer(const MomentumOptions& options);

struct ChosenSchedule {
  Config section;  // likewise
  int64_t warmup_epochs = 0;
  // Usage errors: a warm-up from above the learning rate, a run without epochs.
  std::function<std::unique_ptr<Schedule>(double base_learning_rate, int64_t epochs)> make;
};
ChosenSchedule read_schedule(const Config& section);  // of none: the first entry
ChosenSchedule multistep_schedule(const std::vector<int64_t>& milestones, double gamma);

}  // namespace debias

#include "debias/train/loop/trainer.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include "debias/core/error.h"
#include "debias/encoders/state.h"
#include "debias/train/loop/encoder_training.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/state/resume.h"

namespace debias {

TrainResult train(const TrainInput& input) {
  const Recipe& recipe = input.recipe;
  const LoopRecipe loop = {.output = recipe.output,
                           .resolved = resolve_recipe(recipe, *input.dataset),
                           .epochs = recipe.train.epochs,
                           .checkpoint_every = recipe.train.checkpoint_every,
                           .on_full_disk = recipe.train.on_full_disk,
                           .select = recipe.evaluate.select,
                           .on_evaluation_error = recipe.evaluate.on_error};
  require_same_training(loop.resolved, input.data, *input.ranks);
  EncoderTraining training(input);
  return run_training(training, loop, {name_table(*input.dataset), input.data, input.data_change, input.data_roots}, input);
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSlowStep = 5;  // seconds

int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

template <class Work>
double timed(const Work& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int64_t state_bytes(const RunParts& parts) {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : parts.model.state()) bytes += static_cast<int64_t>(tensor.nbytes());
  for (const auto& [name, tensor] : parts.optimizers->state()) bytes += static_cast<int64_t>(tensor.nbytes());
  for (const auto& [name, tensor] : parts.method->state()) bytes += static_cast<int64_t>(tensor.nbytes());
  for (const auto& [name, tensor] : parts.source->state()) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

// Steps of a run that is thrown away.
class TrialSteps {
 public:
  explicit TrialSteps(RunParts& parts) : parts_(parts) {
    parts_.model.train(true);
    parts_.source->start(epoch_);
    cached_ = next();
    for (auto& [name, tensor] : cached_.inputs) tensor = tensor.clone();
  }

  const Batch& next() {
    if (const Batch* batch = parts_.source->next()) return *batch;
    parts_.source->start(++epoch_);
    return *parts_.source->next();
  }
  void cached() { parts_.method->run(cached_, ++step_); }
  void fresh() {
    parts_.method->run(next(), ++step_, [this] { parts_.source->prepare(); });
  }

  // Seconds of one on a cached batch, behind the first, which allocates and chooses kernels.
  double warm_up() {
    cached();
    return timed([this] { cached(); });
  }

  // Medians, in seconds. The batches that were made while others were timed are used up first.
  double fresh_seconds(int64_t steps, int64_t prefetch) {
    for (int64_t i = 0; i <= prefetch; ++i) fresh();
    std::vector<double> seconds;
    for (int64_t i = 0; i < steps; ++i) seconds.push_back(timed([this] { fresh(); }));
    return median(seconds);
  }
  double cached_seconds(int64_t steps) {
    for (int64_t i = 0; i < 2; ++i) cached();  // until the workers have filled the ring and rest
    std::vector<double> seconds;
    for (int64_t i = 0; i < steps; ++i) seconds.push_back(timed([this] { cached(); }));
    return median(seconds);
  }

  // Of a network of weeks, whose step is not repeated a dozen times: loader and network overlap, and the slower one counts.
  double slow_seconds(double trial, int64_t prefetch) {
    for (int64_t i = 0; i <= prefetch; ++i) next();
    return std::max(trial, timed([this] { next(); }));
  }

 private:
  RunParts& parts_;
  Batch cached_;
  int64_t epoch_ = 0, step_ = 0;
};

int64_t parameter_count(const Model& model) {
  int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  if (model.classifier == nullptr) return count;
  for (const auto& parameter : model.classifier->linear()->parameters()) count += parameter.numel();
  return count;
}

}  // namespace

TrainPlan plan_training(const TrainInput& input) {
  constexpr double kTrialSeconds = 10;
  constexpr int64_t kMostTrials = 12;
  RunParts parts = make_run_parts(input.recipe, input.dataset);
  for (const auto& observer : input.observers) observer->before_training(parts.model);
  TrainPlan plan;
  plan.samples_are = input.dataset->what();
  plan.inputs_are = parts.source->what();
  plan.samples = input.dataset->size();
  plan.steps_per_epoch = parts.source->batches_per_epoch();
  plan.epochs = input.recipe.train.epochs;
  plan.parameters = parameter_count(parts.model);
  TrialSteps steps(parts);
  const int64_t prefetch = input.recipe.train.prefetch;
  const double trial = steps.warm_up();
  plan.trial_steps = std::clamp<int64_t>(static_cast<int64_t>(kTrialSeconds / std::max(trial, 1e-6)), 1, kMostTrials);
  const bool is_slow = trial > kSlowStep;
  plan.seconds_per_step = is_slow ? steps.slow_seconds(trial, prefetch) : steps.fresh_seconds(plan.trial_steps, prefetch);
  plan.seconds_per_cached_step = is_slow ? trial : steps.cached_seconds(plan.trial_steps);
  plan.seconds_per_epoch = plan.seconds_per_step * static_cast<double>(plan.steps_per_epoch);
  const bool once = has_fixed_features(input.recipe, *input.dataset, *parts.model.encoder, Ranks::alone());
  plan.seconds_total = plan.seconds_per_epoch * static_cast<double>(once ? 1 : plan.epochs);  // the encoder's part
  plan.peak_bytes = peak_resident_bytes();
  plan.checkpoint_bytes = state_bytes(parts);
  plan.groups = drawn_groups(input.recipe, *input.dataset);
  plan.undrawn = undrawn_groups(input.recipe, *input.dataset);
  for (const auto& line : parts.source->notes()) plan.undrawn.push_back(line);
  return plan;
}

double seconds_of_step(const TrainInput& input) {
  constexpr int64_t kTrials = 3;
  RunParts parts = make_run_parts(input.recipe, input.dataset);
  TrialSteps steps(parts);
  const int64_t prefetch = input.recipe.train.prefetch;
  const double trial = steps.warm_up();
  return trial > kSlowStep ? steps.slow_seconds(trial, prefetch) : steps.fresh_seconds(kTrials, prefetch);
}

}  // namespace debias

#include <algorithm>
#include <chrono>
#include <fstream>

#include "debias/core/error.h"
#include "debias/encoders/state.h"
#include "debias/train/run_parts.h"
#include "debias/train/trainer.h"

namespace debias {
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

}  // namespace

TrainPlan plan_training(const TrainInput& input) {
  RunParts parts = make_run_parts(input.recipe, input.dataset);
  for (const auto& observer : input.observers) observer->before_training(parts.model);
  TrainPlan plan;
  plan.samples_are = input.dataset->what();
  plan.inputs_are = parts.source->what();
  plan.samples = input.dataset->size();
  plan.steps_per_epoch = parts.source->batches_per_epoch();
  plan.epochs = input.recipe.train.epochs();
  for (const auto& parameter : parts.model.parameters()) plan.parameters += parameter.numel();
  if (parts.model.classifier != nullptr) {
    for (const auto& parameter : parts.model.classifier->linear()->parameters()) plan.parameters += parameter.numel();
  }

  parts.model.train(true);
  int64_t epoch = 0, step = 0;
  parts.source->start(epoch);
  const auto next = [&]() -> const Batch& {
    if (const Batch* batch = parts.source->next()) return *batch;
    parts.source->start(++epoch);
    return *parts.source->next();
  };
  Batch cached = next();
  for (auto& [name, tensor] : cached.inputs) tensor = tensor.clone();
  const auto cached_step = [&] { parts.method->run(cached, ++step); };
  const auto fresh_step = [&] { parts.method->run(next(), ++step); };

  cached_step();  // the first step allocates and chooses kernels
  const double trial = timed(cached_step);
  plan.trial_steps = std::clamp<int64_t>(static_cast<int64_t>(10 / std::max(trial, 1e-6)), 1, 12);
  std::vector<double> fresh, held;
  if (trial > kSlowStep) {  // a network of weeks: its step is not repeated a dozen times; loader and network overlap, the slower one counts
    for (int64_t i = 0; i <= input.recipe.train.prefetch(); ++i) next();
    held.push_back(trial);
    fresh.push_back(std::max(trial, timed(next)));
  } else {
    for (int64_t i = 0; i <= input.recipe.train.prefetch(); ++i) fresh_step();  // these batches were made while others were timed
    for (int64_t i = 0; i < plan.trial_steps; ++i) fresh.push_back(timed(fresh_step));
    for (int64_t i = 0; i < 2; ++i) cached_step();  // until the workers have filled the ring and rest
    for (int64_t i = 0; i < plan.trial_steps; ++i) held.push_back(timed(cached_step));
  }
  plan.seconds_per_step = median(fresh);
  plan.seconds_per_cached_step = median(held);
  plan.seconds_per_epoch = plan.seconds_per_step * static_cast<double>(plan.steps_per_epoch);
  plan.seconds_total = plan.seconds_per_epoch * static_cast<double>(plan.epochs);
  plan.peak_bytes = peak_resident_bytes();
  plan.checkpoint_bytes = state_bytes(parts);
  plan.groups = drawn_groups(input.recipe, *input.dataset);
  plan.undrawn = undrawn_groups(input.recipe, *input.dataset);
  for (const auto& line : parts.source->notes()) plan.undrawn.push_back(line);
  return plan;
}

}  // namespace debias

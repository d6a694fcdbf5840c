#include "debias/runs/rank_trial.h"

#include <ctime>

#include "debias/optim/optimizer.h"
#include "debias/train/loop/rank_batches.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/state/rank_resume.h"

namespace debias {
namespace {

double process_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Traffic between(const Traffic& before, const Traffic& after) {
  return {after.calls - before.calls, after.bytes - before.bytes, after.cpu_seconds - before.cpu_seconds, after.seconds - before.seconds};
}

struct Meter {
  explicit Meter(const Ranks& of) : ranks(of) { start(); }
  void start() {
    cpu = process_seconds();
    for (size_t i = 0; i < 3; ++i) traffic[i] = ranks.traffic(static_cast<Ranks::Channel>(i));
  }
  TrialCost read(int64_t steps, double last_loss) const {
    const auto of = [&](Ranks::Channel channel) { return between(traffic[static_cast<size_t>(channel)], ranks.traffic(channel)); };
    return {
        steps, process_seconds() - cpu, last_loss, of(Ranks::Channel::kRows), of(Ranks::Channel::kStatistics), of(Ranks::Channel::kSums)};
  }

  const Ranks& ranks;
  double cpu = 0;
  std::array<Traffic, 3> traffic;
};

}  // namespace

TrialCost run_trial(const Recipe& recipe, std::shared_ptr<const Dataset> dataset, const Ranks& ranks, const Trial& trial) {
  RunParts parts = make_run_parts(recipe, dataset, ranks);
  const RunDescription description = {resolve_recipe(recipe, *dataset), name_table(*dataset), {}};
  require_same_training(description.recipe, {}, ranks);
  const Trained trained = {parts.model, *parts.optimizers, *parts.method, *parts.source};
  TrainingState state;
  if (!trial.from.empty()) {
    const OpenCheckpoint from = open_checkpoint(trial.from);
    restore(from, trained);
    state = from.state;
  }
  require_same_weights(parts.model.state(), "at the start", ranks);
  parts.model.train(true);
  RankBatches batches(*parts.source, recipe.train.batch_size(), ranks);
  const int64_t per_epoch = parts.source->batches_per_epoch(), last = std::min(trial.steps, recipe.train.epochs() * per_epoch);
  const int64_t first = state.step;
  double last_loss = 0;
  Meter meter(ranks);
  while (state.step < last) {
    parts.method->terms().begin_epoch(state.epoch);
    parts.source->start(state.epoch, state.batch);
    for (const Batch* batch = nullptr; state.step < last && (batch = batches.next({})) != nullptr;) {
      set_learning_rate(*parts.optimizers->network, parts.schedule->learning_rate(state.epoch, batch->number, per_epoch));
      last_loss = parts.method->run(*batch, ++state.step).loss;
      ++state.batch;
      if (state.step == first + 1) meter.start();
    }
    if (state.batch < per_epoch) break;
    state.batch = 0;
    ++state.epoch;
  }
  const TrialCost cost = meter.read(state.step - first - 1, last_loss);
  require_same_weights(parts.model.state(), fmt::format("they differ after step {}", state.step), ranks);
  if (ranks.leads()) save_checkpoint(trial.out, trained, state, description);
  return cost;
}

}  // namespace debias

#include "apps/debias/sweep_check.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "apps/debias/judged_run.h"
#include "apps/debias/option_estimates.h"
#include "apps/debias/training_evaluation.h"
#include "debias/core/error.h"
#include "debias/evaluate/eval_views.h"
#include "debias/train/run_folder.h"
#include "debias/train/run_parts.h"
#include "debias/train/trainer.h"

namespace debias {
namespace {

// A run of an earlier sweep by the same name would refuse to go on, one after the other.
void require_same_training(const SweepRun& run, Config resolved) {
  const std::string path = run.recipe.find("output")->text() + "/config.yaml";
  if (!std::filesystem::exists(path)) return;
  resolved.set("seed", Config::scalar(run.seed));
  for (const auto& change : config_changes(read_yaml_file(path), resolved)) {
    if (!changes_training(change.key)) continue;
    throw usage_error("run '{}' exists and trains otherwise: {} was {}, now {}; choose another output, or remove that run", run.name(),
                      change.key, change.then, change.now);
  }
}

class SweepCheck {
 public:
  SweepCheck(const SweepPlan& plan, const SweepCheckOptions& options, Progress& progress, Log& log)
      : plan_(plan), options_(options), progress_(progress), log_(log) {}

  CheckedPoint point(size_t number) {
    const size_t seeds = plan_.seeds.size();
    const Config& config = plan_.runs[number * seeds].recipe;
    TrainInput input;
    input.recipe = read_recipe(config);
    if (options_.threads > 0 && !input.recipe.train.threads()) input.recipe.train.threads(options_.threads);
    DataWatch watch(input.recipe.verify, progress_, log_);
    input.dataset = dataset(input.recipe, watch);
    if (input.recipe.eval_views.is_null()) {
      input.recipe.eval_views = default_eval_views(input.recipe.views_section, input.dataset->info());
    }
    Recipe written = input.recipe;
    written.train.threads(read_recipe(config).train.threads());
    const Config resolved = resolve_recipe(written, *input.dataset);
    for (size_t i = 0; i < seeds; ++i) require_same_training(plan_.runs[number * seeds + i], resolved);
    check_evaluation(input, resolved, watch);
    make_option_estimates(input.recipe, input.dataset, progress_, log_);
    return options_.timed ? timed(input) : built(input);
  }

 private:
  std::shared_ptr<const Dataset> dataset(const Recipe& recipe, DataWatch& watch) {
    auto& opened = datasets_[recipe.train_data.to_yaml()];
    if (opened == nullptr) opened = watch.open("train", recipe.train_data);
    return opened;
  }

  // Opens the judged data: once for all points that are judged alike.
  void check_evaluation(const TrainInput& input, const Config& resolved, DataWatch& watch) {
    std::string judged;
    for (const char* part : {"data", "views", "encoder", "classifier", "evaluate"}) {
      if (const Config* section = resolved.find(part)) judged += section->to_yaml();
    }
    if (!evaluations_.insert(judged).second) return;
    make_training_evaluation(input.recipe, resolved, input.dataset, watch, progress_, log_);
  }

  static CheckedPoint built(const TrainInput& input) {
    const RunParts parts = make_run_parts(input.recipe, input.dataset);
    return {input.recipe.train.epochs(), parts.loader->batches_per_epoch(), 0};
  }

  static CheckedPoint timed(const TrainInput& input) {
    const TrainPlan plan = plan_training(input);
    return {plan.epochs, plan.steps_per_epoch, plan.seconds_per_epoch};
  }

  const SweepPlan& plan_;
  const SweepCheckOptions& options_;
  Progress& progress_;
  Log& log_;
  std::map<std::string, std::shared_ptr<const Dataset>> datasets_;
  std::set<std::string> evaluations_;
};

}  // namespace

std::vector<CheckedPoint> check_sweep(const SweepPlan& plan, const SweepCheckOptions& options, Progress& progress, Log& log) {
  SweepCheck check(plan, options, progress, log);
  std::vector<CheckedPoint> checked;
  for (size_t i = 0; i < plan.points.size(); ++i) {
    try {
      checked.push_back(check.point(i));
    } catch (const Error& error) {
      const std::string label = plan.points[i].label();
      throw Error(error.kind(), fmt::format("sweep '{}': {}{}", plan.file, label.empty() ? "" : label + ": ", error.what()));
    }
  }
  return checked;
}

}  // namespace debias

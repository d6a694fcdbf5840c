#include "debias/runs/sweep_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/paths.h"
#include "debias/core/recipe_keys.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/report/metric_title.h"
#include "debias/runs/evaluated_data.h"
#include "debias/runs/training_setup.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/loop/trainer.h"
#include "debias/train/methods/method.h"
#include "debias/train/state/run_folder.h"

namespace debias {
namespace {

// A run of an earlier sweep by the same name would fail to resume, one after the other.
void require_same_training(const SweepRun& run, Config resolved) {
  const std::string path = run.recipe.find("output")->text() + "/config.yaml";
  if (!std::filesystem::exists(path)) return;
  resolved.set("seed", Config::scalar(run.seed));
  for (const auto& change : config_changes(read_yaml_file(path), resolved)) {
    if (!changes_training(change.key)) continue;
    throw usage_error("run '{}' exists with other settings: {} was {}, now {}; choose another output, or remove that run", run.name(),
                      change.key, change.then, change.now);
  }
}

// Metrics of evaluated sets, in training or by `debias eval`.
std::vector<Metric> evaluated_metrics(SampleKind samples) {
  std::vector<Metric> metrics;
  for (const auto& protocol : protocol_registry()) {
    if (protocol.reads != samples || !protocol.is_of_splits) continue;
    metrics.insert(metrics.end(), protocol.metrics.begin(), protocol.metrics.end());
  }
  return metrics;
}

// A slip in it would show in the table only, after the last run. Of names without a split only those of an evaluated set are reported:
// training has others, which are its terms' own.
void require_evaluated_name(const std::string& metric, SampleKind samples) {
  const std::vector<Metric> metrics = evaluated_metrics(samples);
  std::vector<std::string> names;
  for (const Metric& known : metrics) names.push_back(known.name + (known.of_setting ? "_SETTING" : ""));
  const auto is_evaluated = [&](const std::string& name) {
    return std::ranges::any_of(metrics,
                               [&](const Metric& known) { return describes(known, name) && !(known.of_setting && name == known.name); });
  };
  const auto [split, name] = split_of(metric);
  if (split == "test" || split == "valid") {
    if (is_evaluated(name)) return;
    const std::string near = nearest_name(name, names);
    throw usage_error("metric '{}' is measured by no evaluation{}", metric,
                      near.empty() ? suggestion(name, names) : fmt::format("; did you mean '{}.{}'?", split, near));
  }
  const bool is_of_training = name == "acc1";  // of the classifier, on the batches that it learns from
  if (is_evaluated(name) && split.empty() && !is_of_training)
    throw usage_error("metric '{}' is measured of a data set; write test.{}", metric, name);
  const size_t dot = name.find('.');
  if (!split.empty() || dot == std::string::npos || !is_evaluated(name.substr(dot + 1))) return;
  const std::string near = nearest_name(name.substr(0, dot), {"test", "valid"});
  throw usage_error("metric '{}' names no evaluated data set; write {}.{}", metric, near.empty() ? "test" : near, name.substr(dot + 1));
}

// Metrics of a table, and of its published numbers.
std::vector<std::string> named_metrics(const SweepPlan& plan, const Config& recipe) {
  std::vector<std::string> names = metric_names(plan.metric);
  const Config* expected = recipe.find("expected");
  if (expected == nullptr || !expected->is_sequence()) return names;
  for (const auto& item : expected->items()) {
    const Config* metric = item.find("metric");
    if (metric != nullptr && metric->is_scalar()) names.push_back(metric->text());
  }
  return names;
}

std::string text_of(const Config& recipe, std::initializer_list<const char*> sections) {
  std::string text;
  for (const char* name : sections) {
    if (const Config* section = recipe.find(name)) text += section->to_yaml();
  }
  return text;
}

// Settings that the time of a step depends on, as a text: numbers of objective and optimizer count only as 0 or not.
std::string cost_of(const Config& resolved) {
  const std::set<std::string> free = {"name",
                                      "seed",
                                      "output",
                                      "data.train.correlation",
                                      "data.valid.correlation",
                                      "data.test.correlation",
                                      "data.train.seed",
                                      "data.valid.seed",
                                      "data.test.seed"};
  std::string text;
  for (const auto& [key, value] : flattened(resolved)) {
    const bool is_free = free.contains(key) || key.starts_with("schedule.") || key.starts_with("evaluate.") || key.starts_with("expected");
    if (is_free) continue;
    double number = 0;
    const bool counts_as_sign = (key.starts_with("objective") || key.starts_with("optimizer.")) && parse_number(value, &number);
    text += key + "=" + (!counts_as_sign ? value : number == 0 ? "0" : "not 0") + "\n";
  }
  return text;
}

// A message about a setting of the sweep.
std::string placed(const SweepPlan& plan, size_t point, std::string_view message) {
  const std::string label = plan.points[point].label();
  return fmt::format("{} '{}': {}{}", plan.verb, plan.file, label.empty() ? "" : label + ": ", message);
}

class SweepCheck {
 public:
  SweepCheck(const SweepPlan& plan, const SweepCheckOptions& options, Progress& progress, Log& log)
      : plan_(plan), options_(options), progress_(progress), log_(log) {}

  CheckedPoint point(size_t number) {
    const Config& config = plan_.runs[number * plan_.seeds.size()].recipe;
    return is_agent_recipe(config) ? of_agents(number, config) : of_encoders(number, config);
  }

 private:
  CheckedPoint of_agents(size_t number, const Config& config) {
    if (!options_.agents.resolved)
      throw usage_error("its runs are of agents, which cannot be checked here; give SweepCheckOptions::agents");
    const Config resolved = options_.agents.resolved(config);
    require_same_trainings(number, resolved);
    CheckedPoint checked = options_.agents.planned(resolved, options_, environments_);
    checked.recipe = resolved;
    return checked;
  }

  CheckedPoint of_encoders(size_t number, const Config& config) {
    TrainInput input;
    input.recipe = read_recipe(config);
    settle_pixels(input.recipe, settled_);
    if (options_.threads > 0 && !input.recipe.train.threads) input.recipe.train.threads = options_.threads;
    require_outside_data(number, input.recipe);
    DataWatch watch(input.recipe.verify, progress_, log_);
    const std::shared_ptr<const SampleTable> train = samples(input.recipe, watch);
    const auto images = images_of(train);
    for (const auto& metric : named_metrics(plan_, config)) {
      require_evaluated_name(metric, images != nullptr ? SampleKind::kImages : SampleKind::kSentences);
      warn_of_missing_set(metric, input.recipe);
    }
    input.dataset = train;
    if (images != nullptr) input.recipe.view_steps = with_eval_views(input.recipe.view_steps, train->info());
    Recipe written = input.recipe;
    written.train.threads = read_recipe(config).train.threads;
    const Config resolved = resolve_recipe(written, *train);
    require_same_trainings(number, resolved);
    check_evaluation(input.recipe, train, resolved, watch);
    if (images != nullptr) make_option_estimates(input.recipe, images, progress_, log_);
    CheckedPoint checked = options_.timed ? timed(input, resolved) : built(input, resolved);
    checked.recipe = resolved;
    return checked;
  }

  // `debias eval` may be given one later.
  void warn_of_missing_set(const std::string& metric, const Recipe& recipe) {
    const std::string split = split_of(metric).split;
    const bool is_missing = (split == "test" && !recipe.test_data) || (split == "valid" && !recipe.valid_data);
    if (!is_missing || !warned_.insert(metric).second) return;
    log_.warn(fmt::format("sweep: no run measures '{}' while it trains: the recipes have no data.{}", metric, split));
  }

  // The sweep's own files, and every seed's run.
  void require_outside_data(size_t number, const Recipe& recipe) {
    const EvaluatedData data = data_of(recipe);
    std::string sections;
    for (const auto& [split, set] : data.sets()) sections += set->section.to_yaml();
    const auto [known, is_new] = data_roots_.try_emplace(sections);
    if (is_new) known->second = roots_of(data);
    refuse_inside_data(plan_.output, known->second);
    const size_t seeds = plan_.seeds.size();
    for (size_t i = 0; i < seeds; ++i) refuse_inside_data(plan_.runs[number * seeds + i].recipe.find("output")->text(), known->second);
  }

  // Of every seed.
  void require_same_trainings(size_t number, const Config& resolved) const {
    const size_t seeds = plan_.seeds.size();
    for (size_t i = 0; i < seeds; ++i) require_same_training(plan_.runs[number * seeds + i], resolved);
  }

  std::shared_ptr<const SampleTable> samples(const Recipe& recipe, DataWatch& watch) {
    auto& opened = samples_[recipe.train_data.section.to_yaml()];
    if (opened == nullptr) opened = watch.open_samples("train", recipe.train_data);
    return opened;
  }

  // Opens the evaluated data: once for all points that are evaluated alike.
  void check_evaluation(const Recipe& recipe, const std::shared_ptr<const SampleTable>& train, const Config& resolved, DataWatch& watch) {
    const std::string evaluated = text_of(resolved, {"data", "views", "encoder", "classifier", "evaluate"});
    if (!evaluations_.insert(evaluated).second) return;
    make_evaluation(recipe, resolved, train, watch, progress_, log_);
  }

  CheckedPoint built(const TrainInput& input, const Config& resolved) {
    // Files of terms, and conditions of a method on its terms, are checked where they are made.
    const bool looks_at_terms =
        !method_of(input.recipe).takes_any_terms ||
        std::ranges::any_of(input.recipe.objective, [](const auto& term) { return !term.options.bias_features.empty(); });
    const std::string parts =
        text_of(resolved, {"data", "views", "sampler", "encoder", "head", "classifier", "method", "optimizer", "schedule", "train"}) +
        (looks_at_terms ? text_of(resolved, {"objective"}) : "");
    const auto known = built_.find(parts);
    if (known != built_.end()) return known->second;
    const RunParts made = make_run_parts(input.recipe, input.dataset);
    return built_[parts] = {{}, input.recipe.train.epochs, made.source->batches_per_epoch(), 0};
  }

  CheckedPoint timed(const TrainInput& input, const Config& resolved) {
    CheckedPoint checked = built(input, resolved);
    auto [known, is_new] = step_seconds_.try_emplace(cost_of(resolved));
    if (is_new) known->second = seconds_of_step(input);
    checked.seconds_per_epoch = known->second * static_cast<double>(checked.steps_per_epoch);
    return checked;
  }

  const SweepPlan& plan_;
  const SweepCheckOptions& options_;
  Progress& progress_;
  Log& log_;
  SettledData settled_;
  std::map<std::string, std::shared_ptr<const SampleTable>> samples_;
  std::map<std::string, std::vector<std::string>> data_roots_;  // by the sections of the data
  std::set<std::string> evaluations_, environments_, warned_;
  std::map<std::string, CheckedPoint> built_;
  std::map<std::string, double> step_seconds_;  // by cost_of()
};

}  // namespace

Config recipe_of(const CheckedPoint& point, const SweepRun& run) {
  Config recipe = point.recipe;
  for (const char* own : {"seed", "output"}) recipe.set(own, *run.recipe.find(own));
  return recipe;
}

CheckedPoints check_sweep(const SweepPlan& plan, const SweepCheckOptions& options, Progress& progress, Log& log) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kSilence{5};
  SweepCheck check(plan, options, progress, log);
  const size_t wanted = options.points ? options.points->size() : plan.points.size();
  CheckedPoints checked;
  Clock::time_point said = Clock::now();
  for (size_t i = 0; i < plan.points.size(); ++i) {
    if (options.points && !options.points->contains(i)) continue;
    try {
      checked.emplace(i, check.point(i));
      if (Clock::now() - said >= kSilence && checked.size() < wanted) {
        log.info(fmt::format("{} of {} settings checked", checked.size(), wanted));
        said = Clock::now();
      }
    } catch (const UsageErrors& several) {
      std::vector<std::string> messages;
      for (const auto& message : several.messages()) messages.push_back(placed(plan, i, message));
      throw UsageErrors(std::move(messages));
    } catch (const Error& error) {
      throw Error(error.kind(), placed(plan, i, error.what()));
    }
  }
  return checked;
}

}  // namespace debias

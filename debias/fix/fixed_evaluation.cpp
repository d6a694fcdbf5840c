#include "debias/fix/fixed_evaluation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <utility>

#include "debias/core/philox.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/evaluate/table_input.h"
#include "debias/features/feature_table.h"
#include "debias/results/statistics.h"

namespace debias {
namespace {

using Classifier = std::function<at::Tensor(const at::Tensor&)>;

constexpr double kNotableCost = 0.005;

struct EvaluatedRows {
  std::vector<int64_t> train, valid, test;  // places of the table; train: those of the probe
  bool by_folds = false;
};

bool has_bias(const JointBias& bias, const std::vector<int64_t>& places) {
  return std::any_of(places.begin(), places.end(), [&](int64_t i) { return bias.values[static_cast<size_t>(i)] != kUnknown; });
}

std::vector<int64_t> probe_rows(const std::vector<int64_t>& train, uint64_t seed) {
  if (std::ssize(train) <= kProbeRows) return train;
  const std::vector<int64_t> order = permutation(std::ssize(train), {.domain = RngDomain::kEvaluate, .seed = seed});
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < kProbeRows; ++i) chosen.push_back(train[static_cast<size_t>(order[static_cast<size_t>(i)])]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

EvaluatedRows evaluated_rows(const FeatureTable& table, const FixResult& result, uint64_t seed, std::vector<std::string>& notes) {
  EvaluatedRows rows;
  rows.train = probe_rows(table.of_split(TableSplit::kTrain), seed);
  const auto evaluated_of = [&](TableSplit split) {
    std::vector<int64_t> places = table.of_split(split);
    if (places.empty() || has_bias(result.bias, places)) return places;
    notes.push_back(fmt::format("no {} row has a bias label: they are not evaluated", enum_name(split)));
    return std::vector<int64_t>();
  };
  rows.valid = evaluated_of(TableSplit::kValid);
  rows.test = evaluated_of(TableSplit::kTest);
  rows.by_folds = rows.valid.empty() && rows.test.empty();
  if (!rows.by_folds) return rows;
  rows.valid = result.folds.places;
  notes.push_back(
      "without valid or test rows, accuracies are those of the folds of the training rows, by heads that were not fitted to them");
  return rows;
}

EvaluationInput input_of(const FeatureTable& table, const FixResult& result, const EvaluatedRows& rows, const AffineErasure& layer,
                         uint64_t seed) {
  EvaluationInput input;
  input.seed = seed;
  input.training_temperature = kTableTemperature;
  const auto add = [&](const std::string& split, const std::vector<int64_t>& places, std::shared_ptr<const Dataset>& dataset) {
    if (places.empty()) return;
    dataset = table_dataset(table.rows, &result.bias, places, split);
    Features features = table_features(table, *dataset, places);
    features.values = layer.apply(features.values);
    input.stored[split] = std::move(features);
  };
  add("train", rows.train, input.train);
  add("valid", rows.valid, input.valid);
  add("test", rows.test, input.test);
  input.train = table_dataset(table.rows, &result.bias, table.of_split(TableSplit::kTrain), "train");  // all decide what is aligned
  return input;
}

// Predictions that are known, as the logits that a classifier would give for those rows.
Classifier remembered(const std::vector<int64_t>& predictions, int64_t classes) {
  return [predictions, classes](const at::Tensor&) { return at::one_hot(at::tensor(predictions, at::kLong), classes).to(at::kDouble); };
}

Classifier classifier_of(const LinearHead& head) {
  return [head](const at::Tensor& features) { return at::addmm(head.bias, features.to(at::kDouble), head.weight.t()); };
}

// The probe for the bias is not evaluated on the rows that it is fitted to.
FixedEvaluation evaluate_model(EvaluationInput input, Classifier classifier, bool probe, Progress& progress) {
  const at::NoGradGuard no_grad;
  input.classifier = std::move(classifier);
  EvaluationCache cache(input, progress);
  const Config of_geometry = Config::map({{"bias_probe", Config::boolean(probe)}});
  return {cache.evaluate("groups"), cache.evaluate(read_protocol(protocol_for(input.samples(), "geometry"), of_geometry))};
}

// A share of rows that come in units, with the number of independent rows of the same variance.
Proportion clustered(const std::vector<bool>& right, const std::vector<int32_t>& units) {
  const auto n = static_cast<double>(right.size());
  const double share = static_cast<double>(std::ranges::count(right, true)) / n;
  std::vector<double> residuals;
  for (const bool own : right) residuals.push_back(own - share);
  return {share, n / design_effect(residuals, units)};
}

// Intervals of accuracies that hold where rows of one unit are not independent.
void widen_intervals(const FeatureTable& table, const FixResult& result, const std::string& split, const std::vector<int64_t>& places,
                     const std::vector<int64_t>& predictions, EvaluationRecord& record) {
  struct Rows {
    std::vector<bool> right;
    std::vector<int32_t> units;
  };
  std::map<std::string, Rows> of_metric;
  std::map<int64_t, Rows> of_group;
  for (size_t p = 0; p < places.size(); ++p) {
    const auto i = static_cast<size_t>(places[p]);
    const int64_t group = result.groups.of_row[i];
    const auto add = [&](Rows& rows) {
      rows.right.push_back(predictions[p] == table.rows.labels[i]);
      rows.units.push_back(result.units.of_row[i]);
    };
    add(of_metric["acc1"]);
    if (group == kUnknown) continue;
    if (result.groups.has_side(group)) add(of_metric[result.groups.is_conflicting(group) ? "conflicting_acc" : "aligned_acc"]);
    add(of_group[group]);
  }
  const auto set = [&](const std::string& metric, const std::pair<double, double>& interval) {
    const auto found = record.intervals.find(split + "." + metric);
    if (found != record.intervals.end()) found->second = interval;
  };
  for (const auto& [metric, rows] : of_metric) set(metric, wilson_interval(clustered(rows.right, rows.units)));
  std::vector<Proportion> groups;
  for (const auto& [group, rows] : of_group) groups.push_back(clustered(rows.right, rows.units));
  if (!groups.empty()) set("worst_group_acc", smallest_interval(groups));
}

// A correction that the folds or the valid rows support, and that test rows speak against.
void note_contradiction(FixedEvaluations& all) {
  for (const char* metric : {"conflicting_acc", "worst_group_acc"}) {
    const std::string name = std::string("test.") + metric;
    const auto before = all.before.groups.metrics.find(name), after = all.after.groups.metrics.find(name);
    if (before == all.before.groups.metrics.end() || after == all.after.groups.metrics.end()) continue;
    if (!(after->second < before->second - kNotableCost)) continue;
    all.notes.push_back(
        fmt::format("the test rows contradict the choice: {} falls from {:.1f} to {:.1f} % there; fix.log says what it rests on", metric,
                    100 * before->second, 100 * after->second));
    return;
  }
}

// What an erasure of the label's part costs.
void note_cost(FixedEvaluations& all) {
  for (const char* split : {"test", "valid"}) {
    const std::string name = std::string(split) + ".acc1";
    const auto before = all.before.groups.metrics.find(name), after = all.after.groups.metrics.find(name);
    if (before == all.before.groups.metrics.end() || after == all.after.groups.metrics.end()) continue;
    if (after->second >= before->second - kNotableCost) return;
    all.notes.push_back(
        fmt::format("leace: accuracy on {} rows falls from {:.1f} to {:.1f} %", split, 100 * before->second, 100 * after->second));
    return;
  }
}

}  // namespace

FixedEvaluations evaluate_fixed(const FeatureTable& table, const FixResult& result, uint64_t seed, Progress& progress) {
  FixedEvaluations all;
  const EvaluatedRows rows = evaluated_rows(table, result, seed, all.notes);
  const int64_t classes = std::ssize(table.rows.classes);
  const auto evaluated = [&](const FixedModel& model, const std::vector<int64_t>& of_folds) {
    return evaluate_model(input_of(table, result, rows, model.layer, seed),
                          rows.by_folds ? remembered(of_folds, classes) : classifier_of(model.head), !rows.by_folds, progress);
  };
  all.before = evaluated(result.before, result.folds.before);
  all.after = result.changed ? evaluated(result.after, result.folds.after) : all.before;
  all.by_folds = rows.by_folds;
  if (result.method == FixMethod::kLeace) {
    note_cost(all);
  } else if (result.changed) {
    note_contradiction(all);
  }
  if (!result.units.joins_rows()) return all;
  all.notes.push_back(fmt::format("intervals are of {} groups ({}), not of rows", result.units.count, result.units.from));
  const auto widened = [&](const FixedModel& model, const std::vector<int64_t>& of_folds, EvaluationRecord& record) {
    for (const auto& [split, places] : {std::pair("valid", &rows.valid), std::pair("test", &rows.test)}) {
      if (places->empty()) continue;
      std::vector<int64_t> predictions = of_folds;
      if (!rows.by_folds) {
        at::Tensor x = at::empty({std::ssize(*places), table.vectors.dimensions()}, at::kFloat);
        table.vectors.read_places(*places, x.mutable_data_ptr<float>());
        predictions = predicted_classes(classifier_of(model.head)(x));
      }
      widen_intervals(table, result, split, *places, predictions, record);
    }
  };
  widened(result.before, result.folds.before, all.before.groups.record);
  widened(result.changed ? result.after : result.before, result.changed ? result.folds.after : result.folds.before,
          all.after.groups.record);
  return all;
}

}  // namespace debias

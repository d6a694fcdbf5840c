// The protocol `groups`: who is judged right, by class and bias value. Metrics and their sources: group_metrics.h.
//
// Judged are the predictions of the run's online classifier, of weighted kNN or of the linear probe (linear_dcl); kNN and probe run with
// the options they have in the same call, once. `auto`: the classifier where the run has one, else kNN.
//
// Which bias value is aligned with a class is known for glyphs, biased_mnist, corrupted_cifar10 and bffhq: the one with the label's number.
// `aligned: label` says so of another data set, `none` that there is no such correspondence; `auto` is `label` for the four and `none`
// elsewhere.
//
// The details hold, per split, the tables `count` and `accuracy` ([label][bias], null in a cell without samples), the 95 % intervals, and
// null for metrics that are undefined; `notes` says what was left out.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "debias/core/options.h"
#include "debias/evaluate/group_metrics.h"
#include "debias/evaluate/protocol.h"

namespace debias {

enum class PredictionSource { kAuto, kKnn, kLinear, kClassifier };
template <>
struct EnumNames<PredictionSource> {
  static constexpr std::array<std::pair<std::string_view, PredictionSource>, 4> values = {{{"auto", PredictionSource::kAuto},
                                                                                           {"knn", PredictionSource::kKnn},
                                                                                           {"linear", PredictionSource::kLinear},
                                                                                           {"classifier", PredictionSource::kClassifier}}};
};

enum class AlignedBias { kAuto, kLabel, kNone };
template <>
struct EnumNames<AlignedBias> {
  static constexpr std::array<std::pair<std::string_view, AlignedBias>, 3> values = {
      {{"auto", AlignedBias::kAuto}, {"label", AlignedBias::kLabel}, {"none", AlignedBias::kNone}}};
};

class GroupsOptions {
 public:
  GroupsOptions();
  DEBIAS_OPTION(GroupsOptions, PredictionSource, predictions, PredictionSource::kAuto)
  DEBIAS_OPTION(GroupsOptions, AlignedBias, aligned, AlignedBias::kAuto)
  DEBIAS_OPTION(GroupsOptions, int64_t, min_count, 1)
  DEBIAS_OPTION(GroupsOptions, EmptyRate, empty, EmptyRate::kSkip)
  DEBIAS_OPTION(GroupsOptions, int64_t, bootstrap, 1000)
  DEBIAS_OPTION(GroupsOptions, double, level, 0.95)
  DEBIAS_OPTION(GroupsOptions, Auto<int64_t>, seed, {})
  static const OptionTable<GroupsOptions>& table();
};

// Usage error: a judged set without bias values; `predictions: classifier` of a run that has none. Data errors as of count_classes and
// require_labels (accuracy.h).
EvaluationResult run_groups(const EvaluationInput& input, EvaluationCache& cache, const Config& options, Progress& progress);

}  // namespace debias

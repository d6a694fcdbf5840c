// The protocol `groups`: who is classified correctly, by class and bias label. Metrics and their sources: group_metrics.h.
//
// Evaluated are the predictions of the run's online classifier, of weighted kNN or of the linear probe (linear_dcl); kNN and probe run with
// the options they have in the same call, once. `auto`: the classifier where the run has one, else kNN.
//
// Which bias labels are aligned with a class: alignment.h.
//
// The record has whose predictions were evaluated (knn, linear or classifier), the aligned values (alignment.h), the intervals, null for
// metrics that are undefined and, per split, the tables of class_table() and group_table(); notes say what was left out. Of the last split it
// has eight images, four aligned and four conflicting ones, which depend on the data alone; the result has their pixels.
#pragma once

#include <string>
#include <vector>

#include "debias/core/options.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/alignment.h"
#include "debias/evaluate/protocol.h"
#include "debias/evaluate/protocols/group_metrics.h"
#include "debias/results/predictions.h"

namespace debias {

// Accuracy and rates by class and bias label, which the protocol `groups` leaves in its record for readers who want more than one number.
//
// The rates of a class c among the images of a bias label are fairlearn's, with c as the positive class: selection, the share of all that
// are predicted as c; true positive, of those of class c; false positive, of those of another class; false negative, one less true
// positive. A rate without images to count is NaN (fairlearn takes it for 0). Only images of known label and bias label count.

GroupTable group_table(const DatasetInfo& info, const PredictionCounts& counts);

enum class PredictionSource { kAuto, kKnn, kLinear, kClassifier };
constexpr auto enum_words(PredictionSource) { return named("auto", "knn", "linear", "classifier"); }

struct GroupsOptions {
  PredictionSource predictions = PredictionSource::kAuto;
  AlignedChoice aligned = {};
  int64_t min_count = 1;
  EmptyRate empty = EmptyRate::kSkip;
  int64_t bootstrap = 1000;
  double level = 0.95;
  Auto<int64_t> seed = {};
  void describe(OptionVisitor& o) {
    o("predictions", predictions, "predictions to evaluate; auto: the run's classifier, else kNN");
    o("aligned", aligned,
      "bias label aligned with each class: the most frequent in training (majority), that of the class number (label), or by "
      "name. With auto: label for data sets numbered so, else majority");
    o("min_count", min_count, Range::closed(1, 1e9),
      "minimum size of a group; smaller groups do not count for worst-group and unbiased accuracy");
    o("empty", empty, "rates without samples in the fairness differences: left out, or 0 as in fairlearn");
    o("bootstrap", bootstrap, Range::closed(0, 1e6), "number of bootstrap replicates for the intervals; 0: no intervals");
    o("level", level, Range{0, 1, true, true}, "confidence level of the intervals");
    o("seed", seed, Range::at_least(0), "seed of the bootstrap replicates; auto: the run's");
  }
};

// `auto` decided; a usage error that begins with `who` where the run has no classifier and one is requested.
PredictionSource chosen_predictions(const EvaluationInput& input, PredictionSource asked, const std::string& who);
// The predicted class of each image of a split, by a source that chosen_predictions() has given.
std::vector<int64_t> predictions_of(const EvaluationInput& input, EvaluationCache& cache, PredictionSource source,
                                    const std::string& split);

std::vector<Metric> groups_metrics();

// Usage error that begins with `who`, unless every evaluated set has an image of known bias label.
void require_bias_values(const EvaluationInput& input, const std::string& who);

// Usage error: an evaluated set without bias labels; a name in `aligned` that is not known; `predictions: classifier` of a run that has
// none. Data errors as of count_classes and require_labels (accuracy.h).
EvaluationResult run_groups(const EvaluationInput& input, EvaluationCache& cache, const GroupsOptions& options, Progress& progress);

}  // namespace debias

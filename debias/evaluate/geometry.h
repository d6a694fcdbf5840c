// The protocol `geometry`: alignment, uniformity, RankMe, spread, similarity distributions (geometry_metrics.h) and a probe for the bias.
//
// Features are the encoder's pooled output under the evaluation views; alignment takes two of the recipe's training views of each image (0
// under views that change nothing). At most `samples` images of each judged split are used, chosen by the seed.
//
// bias_probe_acc1: accuracy, on the judged split, of a linear classifier trained as linear_dcl's on stored training features to tell the
// bias value (Alain & Bengio 2016); bias_majority_rate: what always answering the training set's most frequent value gives. Where bias and
// label agree in training the probe may read the label: judge it on a split where they do not.
#pragma once

#include "debias/core/options.h"
#include "debias/evaluate/protocol.h"

namespace debias {

class GeometryOptions {
 public:
  GeometryOptions();
  DEBIAS_OPTION(GeometryOptions, int64_t, samples, 10000)
  DEBIAS_OPTION(GeometryOptions, int64_t, bins, 100)
  DEBIAS_OPTION(GeometryOptions, bool, bias_probe, true)
  DEBIAS_OPTION(GeometryOptions, int64_t, probe_epochs, 100)
  DEBIAS_OPTION(GeometryOptions, double, probe_learning_rate, 1e-3)
  DEBIAS_OPTION(GeometryOptions, Auto<int64_t>, seed, {})
  static const OptionTable<GeometryOptions>& table();
};

// Metrics alignment, uniformity, rankme, std_of_l2_normalized, and bias_probe_acc1 with bias_majority_rate where training and judged split
// have bias values (a note says where not). Details: per split `similarity`, by set: pairs, mean, std, histogram. Labels are not needed.
EvaluationResult run_geometry(const EvaluationInput& input, EvaluationCache& cache, const Config& options, Progress& progress);

}  // namespace debias

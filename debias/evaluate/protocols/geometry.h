// The protocol `geometry`: alignment, uniformity, RankMe, spread, similarity distributions (geometry_metrics.h) and a probe for the bias.
//
// Features are the encoder's pooled output under the evaluation views; alignment takes two of the recipe's training views of each image (0
// under views that change nothing); a feature table has one vector a row and no alignment. At most `samples` images of each evaluated split are used, chosen by the seed.
//
// bias_probe_acc1: accuracy, on the evaluated split, of a linear classifier of the bias label fitted to the stored training features
// (bias_probe.h), until it has converged; a note says where it has not. Chance beside it: bias_majority_rate, what always answering the
// training set's most frequent bias label gives, and bias_uniform_rate, 1 / their number. If bias and label agree in training the probe
// may read the label: evaluate it on a split where they do not.
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
  DEBIAS_OPTION(GeometryOptions, int64_t, probe_iterations, 1000)
  DEBIAS_OPTION(GeometryOptions, Auto<int64_t>, seed, {})
  static const OptionTable<GeometryOptions>& table();
};

std::vector<Metric> geometry_metrics();

// Metrics alignment, uniformity, rankme, std_of_l2_normalized, and bias_probe_acc1 with bias_majority_rate and bias_uniform_rate where
// training and evaluated split have bias labels (a note says where not). The record has the similarities of each split by set of pairs, and
// how the probe was fitted. Labels are not needed.
EvaluationResult run_geometry(const EvaluationInput& input, EvaluationCache& cache, const GeometryOptions& options, Progress& progress);

}  // namespace debias

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

struct GeometryOptions {
  int64_t samples = 10000;
  int64_t bins = 100;
  bool bias_probe = true;
  int64_t probe_iterations = 1000;
  Auto<int64_t> seed = {};
  void describe(OptionVisitor& o) {
    o("samples", samples, Range::closed(2, 1e6), "maximum number of images of a split; pairs are compared among them");
    o("bins", bins, Range::closed(1, 1e5), "number of bins of the cosine histograms, over [-1, 1]");
    o("bias_probe", bias_probe, "train a linear classifier for the bias label");
    o("probe_iterations", probe_iterations, Range::closed(1, 1e5), "maximum number of L-BFGS iterations");
    o("seed", seed, Range::at_least(0), "seed of the choice of images and their views; auto: the run's");
  }
};

std::vector<Metric> geometry_metrics();

// Metrics alignment, uniformity, rankme, std_of_l2_normalized, and bias_probe_acc1 with bias_majority_rate and bias_uniform_rate where
// training and evaluated split have bias labels (a note says where not). The record has the similarities of each split by set of pairs, and
// how the probe was fitted. Labels are not needed.
EvaluationResult run_geometry(const EvaluationInput& input, EvaluationCache& cache, const GeometryOptions& options, Progress& progress);

}  // namespace debias

// The protocol `geometry`: alignment, uniformity, RankMe, spread, similarity distributions and a probe for the bias.
//
// Features are the encoder's pooled output under the evaluation views; alignment takes two of the recipe's training views of each image (0
// under views that change nothing); a feature table has one vector a row and no alignment. At most `samples` images of each evaluated split are used, chosen by the seed.
//
// bias_probe_acc1: accuracy, on the evaluated split, of a linear classifier of the bias label fitted to the stored training features,
// until it has converged; a note says where it has not. Chance beside it: bias_majority_rate, what always answering the
// training set's most frequent bias label gives, and bias_uniform_rate, 1 / their number. If bias and label agree in training the probe
// may read the label: evaluate it on a split where they do not.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/options.h"
#include "debias/core/progress.h"
#include "debias/evaluate/features.h"
#include "debias/evaluate/protocol.h"
#include "debias/evaluate/protocols/logistic_regression.h"
#include "debias/results/evaluation_record.h"

namespace debias {

// Accuracy of a linear classifier of the bias label on frozen features (Alain & Bengio 2016): logistic regression on the training
// features (logistic_regression.h), and the chance level.

struct BiasProbe {
  LogisticFit fit;
  std::vector<int64_t> values;  // the bias labels that the training set has, ascending: the classes of the fit
  int64_t majority = 0;         // the most frequent of them; of equally frequent ones the lowest
};

struct BiasReading {
  int64_t known = 0;         // rows whose bias label is known; the rates are over these
  double accuracy = 0;       // of the probe
  double majority_rate = 0;  // of answering `majority` always
  double uniform_rate = 0;   // of answering each value of the training set equally often: 1 / their number
};

// Empty where the training features have fewer than two bias labels.
std::optional<BiasProbe> fit_bias_probe(const Features& train, int64_t iterations, Progress& progress);

BiasReading read_bias(const BiasProbe& probe, const Features& features);

// Geometry of features on the sphere, without a classifier. z are the rows L2-normalised, f the rows as given.
//
//   alignment             mean over images of |z - z'|^2, z and z' two views of the image; 0 is best
//                         (Wang & Isola 2020, eq. 3, alpha = 2)
//   uniformity            log mean over pairs i < j of exp(-2 |z_i - z_j|^2); lower is more uniform, -4 at D -> infinity is about the
//                         least for pairs at right angles (Wang & Isola 2020, eq. 5, t = 2)
//   rankme                exp(-sum_k p_k log p_k), p_k = s_k / sum_l s_l + 1e-7, s the singular values of f [N, D]; between 1 and
//                         min(N, D): the number of directions in use (Garrido et al. 2023, eq. 1 and 2)
//   std_of_l2_normalized  mean over dimensions of the standard deviation (N - 1) of z; 0 when collapsed, 1/sqrt(D) when spread evenly
//                         (lightly's std_of_l2_normalized; Chen & He 2021, section 4.1)
//
// Similarity distributions (Barbano et al. 2023, "Unbiased supervised contrastive learning", fig. 5): cosines of all pairs i < j in four
// sets: positive (same label) or negative, aligned (same bias label) or conflicting. A pair with an unknown label is in none; without bias
// values there are two sets, positive and negative. An image with itself is not a pair. The released code monitors batches of 256, counts
// the self-pairs as positive aligned, and takes a wrong mask for negative conflicting; here all pairs of the images given count.

// rows float32 [N, D]; N >= 2. Numeric errors on rows that are not finite; data errors on fewer rows than needed.
double alignment(const at::Tensor& first_views, const at::Tensor& second_views);  // [N, D] each
double rankme(const at::Tensor& rows);
double std_of_l2_normalized(const at::Tensor& rows);

struct PairGeometry {
  double uniformity = 0;
  // positive_aligned, ...; or positive, negative. Cosine 1 is in the last bin; std by the number of pairs.
  std::map<std::string, SimilarityHistogram> distributions;
};

// One pass over all pairs, in blocks. Data errors: lists and rows of different lengths.
PairGeometry pair_geometry(const at::Tensor& rows, const std::vector<int64_t>& labels, const std::vector<int64_t>& biases, int64_t bins);

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

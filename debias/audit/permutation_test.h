// Tests whether the best of many candidates predicts the class better than chance: the max-statistic permutation test of Westfall and
// Young.
//
// The labels are permuted P times, each permutation for all candidates at once. A candidate's adjusted p is
// (1 + |{b : max_j A_j(b) >= A}|) / (1 + P), with A its balanced accuracy and A_j(b) that of candidate j under permutation b. This is the
// probability that any candidate reaches A if none is associated with the class. It holds for any dependence between candidates.
// Source: Westfall and Young, "Resampling-based multiple testing" (1993), single-step maxT.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "debias/audit/balanced_accuracy.h"
#include "debias/core/progress.h"

namespace debias {

constexpr int kPermutations = 200;

struct PermutationTest {
  std::vector<double> accuracy;    // one per candidate
  std::vector<double> p_adjusted;  // one per candidate, in [1 / (P + 1), 1]
  std::vector<double> null_best;   // the largest accuracy under each permutation, ascending

  // The 95th percentile of the best candidate's accuracy under permutation.
  double chance_bound() const;
};

struct LabelledRows {
  std::vector<int32_t> labels;  // shuffled rows, see Folds
  int32_t classes = 0;
  Folds folds;
};

// `features(j)` makes the features of candidate j. It is called once per candidate, from several threads.
PermutationTest permutation_test(int64_t candidates, const std::function<CandidateFeatures(int64_t)>& features, const LabelledRows& rows,
                                 uint64_t seed, Progress& progress = Progress::silent());

// Bias labels: for each row, the class that the candidate alone predicts, by a classifier that was not fitted to the row.
struct HeldOutValue {
  int32_t value = 0;       // the class
  double confidence = 0;   // its posterior probability under equal priors
  bool confident = false;  // vectors: at least 0.9; categories: 0.75, because only their class is estimated
};

// Vectors: linear discriminant analysis with the covariance within classes. Categories: n(c, value) / n(c), normalised.
std::vector<HeldOutValue> held_out_values(const CandidateFeatures& features, const LabelledRows& rows);

// The values of the rows of `features` after the labelled ones, by the same classifier, fitted to all labelled rows.
std::vector<HeldOutValue> predicted_values(const CandidateFeatures& features, const LabelledRows& rows);

double confident_share(const std::vector<HeldOutValue>& values);

}  // namespace debias

// Cross-validated balanced accuracy of closed-form classifiers: the mean over classes of the share of a class's rows that are recognised.
//
// Chance is 1/C for classes of any size. A vector goes to the class with the nearest mean in whitened space. This is linear discriminant
// analysis with equal priors under the covariance of all rows. A category goes to the class c with the largest n(c, value) / n(c). Ties,
// and values that the training folds lack, go to the first class. No factorisation depends on the labels, so the test of a permutation
// costs only sums and products.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "debias/audit/candidate.h"

namespace debias {

// Rows are in the order of their folds.
struct Folds {
  static constexpr int kCount = 5;
  std::array<int64_t, kCount + 1> begin{};  // first row of each fold; the last entry is the number of rows
};

// Cuts rows 0 to n - 1 into kCount runs of nearly equal length. Rows must have been shuffled without regard to their labels.
Folds folds_of(int64_t rows);

// Requires `labels[i]` in [0, classes), and every class at least once.
double balanced_accuracy(const VectorFeatures& features, const Folds& folds, std::span<const int32_t> labels, int32_t classes);
double balanced_accuracy(const CategoryFeatures& features, const Folds& folds, std::span<const int32_t> labels, int32_t classes);
double balanced_accuracy(const CandidateFeatures& features, const Folds& folds, std::span<const int32_t> labels, int32_t classes);

}  // namespace debias

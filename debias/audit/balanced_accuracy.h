// Cross-validated balanced accuracy of closed-form classifiers: the mean over classes of the share of a class's rows that are recognised.
//
// Chance is 1/C whatever the sizes of the classes. Of vectors, a row goes to the class with the nearest mean, both in whitened space: with
// equal priors, linear discriminant analysis under the covariance of all rows. Of categories, it goes to the class c with the largest
// n(c, value) / n(c). Ties, and values that the training folds lack, go to the first class. No factorisation depends on the labels, so that
// the test of a permutation costs sums and products alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "debias/audit/candidate.h"

namespace debias {

// Rows are in the order of their folds.
struct Folds {
  static constexpr int kCount = 5;
  std::array<int64_t, kCount + 1> begin{};  // of each fold; the last is the number of rows
};

// As equal as can be: rows 0 to n - 1 cut into kCount runs. Rows must have been shuffled without regard to their labels.
Folds folds_of(int64_t rows);

// `labels[i]` in [0, classes), every class at least once.
double balanced_accuracy(const VectorFeatures& features, const Folds& folds, std::span<const int32_t> labels, int32_t classes);
double balanced_accuracy(const CategoryFeatures& features, const Folds& folds, std::span<const int32_t> labels, int32_t classes);
double balanced_accuracy(const CandidateFeatures& features, const Folds& folds, std::span<const int32_t> labels, int32_t classes);

}  // namespace debias

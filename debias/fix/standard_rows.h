// Training rows in memory, standardised: each dimension has mean 0 and deviation 1 over all of them.
//
// Rows are stored in float32, or in the 16 bits of their file if float32 would need more than kLargestFloatRows. A million rows of 768
// dimensions then need 1.5 GB.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/features/feature_vectors.h"

namespace debias {

constexpr int64_t kLargestFloatRows = int64_t{2} << 30;  // bytes

// x_s = (x - mean) / deviation, by dimension; a dimension that does not vary has deviation 1.
struct StandardScale {
  at::Tensor mean, deviation;  // double [D]
};

class StandardRows {
 public:
  // The rows `places` of the file, in that order. Throws a resource error if they do not fit into memory.
  StandardRows(const FeatureVectors& vectors, const std::vector<int64_t>& places);
  // Floating-point rows [n, D].
  explicit StandardRows(const at::Tensor& rows);

  int64_t size() const { return rows_.size(0); }
  int64_t dimensions() const { return rows_.size(1); }
  const StandardScale& scale() const { return scale_; }
  bool varies() const;                                              // false if all rows are equal
  at::Tensor block(int64_t begin, int64_t count) const;             // float32 [count, D], standardised
  StandardRows selected(const std::vector<int64_t>& places) const;  // with the same scale

 private:
  StandardRows() = default;
  void standardise();

  at::Tensor rows_;  // float32, standardised; or float16 as given
  StandardScale scale_;
};

// Weighted moments of features and bias labels by class, over some of the rows.
//
// Rows x [n, D] (standardised), bias columns z [n, K], labels y, weights w. Moments of disjoint rows add up: those of a fold's
// training part are the sum over the other folds.

struct WeightedRows {
  const StandardRows* x = nullptr;
  at::Tensor z;        // double [n, K]
  at::Tensor labels;   // int64 [n], in [0, classes)
  at::Tensor weights;  // double [n], 0: left out
  int64_t classes = 0;
};

struct ClassMoments {
  at::Tensor weight;   // double [C]: sums of w
  at::Tensor x;        // [C, D]: sums of w x
  at::Tensor z;        // [C, K]: sums of w z
  at::Tensor xx;       // [D, D]: sum of w x x' over all classes
  at::Tensor xz;       // [D, K]: sum of w x z'
  double squares = 0;  // sum of w^2
  int64_t count = 0;   // rows with w > 0

  ClassMoments& operator+=(const ClassMoments& other);
  double total() const;
  at::Tensor mean() const;              // [D], over all rows
  at::Tensor class_means() const;       // [C, D]; 0 for an empty class
  at::Tensor covariance() const;        // [D, D], within classes, divided by the sum of weights
  at::Tensor cross_covariance() const;  // [D, K], within classes, divided by the sum of weights
  double effective_count() const;       // (sum of w)^2 / sum of w^2
};

ClassMoments class_moments(const WeightedRows& rows, int64_t begin, int64_t count);

// sum of w |x - mean of its class|^4 / sum of w over rows begin ... begin + count - 1, times their sum of w, so that parts add up.
double fourth_moment(const WeightedRows& rows, int64_t begin, int64_t count, const at::Tensor& class_means);

}  // namespace debias

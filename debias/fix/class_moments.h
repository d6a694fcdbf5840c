// Weighted moments of features and bias labels by class, over some of the rows.
//
// Rows x [n, D] (standardised), bias columns z [n, K], labels y, weights w. Moments of disjoint rows add: the training part of a
// fold has the sum of the other folds' moments.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/fix/standard_rows.h"

namespace debias {

struct WeightedRows {
  const StandardRows* x = nullptr;
  at::Tensor z;        // double [n, K]
  at::Tensor labels;   // int64 [n], in [0, classes)
  at::Tensor weights;  // double [n], 0: left out
  int64_t classes = 0;
};

struct ClassMoments {
  at::Tensor weight;   // double [C]: sums of w
  at::Tensor x;        // [C, D]: of w x
  at::Tensor z;        // [C, K]: of w z
  at::Tensor xx;       // [D, D]: of w x x', all classes
  at::Tensor xz;       // [D, K]: of w x z'
  double squares = 0;  // of w^2
  int64_t count = 0;   // rows with w > 0

  ClassMoments& operator+=(const ClassMoments& other);
  double total() const;
  at::Tensor mean() const;              // [D], of all rows
  at::Tensor class_means() const;       // [C, D]; 0 of an empty class
  at::Tensor covariance() const;        // [D, D], within the classes, by the sum of weights
  at::Tensor cross_covariance() const;  // [D, K], likewise
  double effective_count() const;       // (sum of w)^2 / sum of w^2
};

ClassMoments class_moments(const WeightedRows& rows, int64_t begin, int64_t count);

// sum of w |x - mean of its class|^4 / sum of w over rows begin ... begin + count - 1, times their sum of w: parts add likewise.
double fourth_moment(const WeightedRows& rows, int64_t begin, int64_t count, const at::Tensor& class_means);

}  // namespace debias

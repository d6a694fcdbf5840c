// Errors of an estimator over many anchors: its mean, bias, variance and mean squared error, each repetition's and their spread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "debias/study/estimators.h"
#include "debias/study/sample_statistics.h"

namespace debias {

// Sums over the anchors of one repetition.
class ErrorSums {
 public:
  // Anchors whose estimate or target is NaN do not count.
  void add(Estimator estimator, double estimate, double target);

  struct Sums {
    int64_t count = 0;
    double estimates = 0, targets = 0, errors = 0, squares = 0;
  };
  const Sums& of(Estimator estimator) const { return sums_[static_cast<size_t>(estimator)]; }

 private:
  std::array<Sums, kEstimators> sums_{};
};

// mse = bias^2 + variance, of estimate - target over all anchors of all repetitions.
struct EstimatorFigures {
  int64_t count = 0;
  double mean = 0, target = 0, bias = 0, variance = 0;
  MeanWithError mse;  // over repetitions
};

// NaN throughout where nothing counted.
std::array<EstimatorFigures, kEstimators> figures(const std::vector<ErrorSums>& repetitions);

}  // namespace debias

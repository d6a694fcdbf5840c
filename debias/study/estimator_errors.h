// Errors of an estimator over many anchors: its mean, bias, variance and mean squared error, each repetition's and their spread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/study/estimators.h"

namespace debias {

// Means with their uncertainty, and the Kolmogorov-Smirnov test.

// The 95 % interval is Student's; with one value it has no width and standard_error is NaN.
struct MeanWithError {
  double mean = 0, standard_error = 0, low = 0, high = 0;
};

MeanWithError mean_with_error(std::span<const double> values);  // not empty

// The largest distance between distribution functions, and the chance of one at least as large were the two equal (Kolmogorov's limit
// with Stephens' small-sample factor; Numerical Recipes 14.3).
struct KolmogorovSmirnov {
  double distance = 0, p_value = 1;
};

KolmogorovSmirnov kolmogorov_smirnov(std::vector<double> a, std::vector<double> b);
KolmogorovSmirnov kolmogorov_smirnov(std::vector<double> values, const std::function<double(double)>& distribution);

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

// Work in fixed pieces on several threads. Results depend on the pieces and not on the threads, so they are the same for any
// number of threads.
struct StudyRun {
  int64_t repetitions = 20;  // >= 1, of every setting; intervals come from their spread
  int64_t threads = 2;       // >= 1
  uint64_t seed = 1;
  Progress* progress = &Progress::silent();  // of the long parts
};

// Calls work(0), ..., work(count - 1), each once, in any order, on `threads` threads. Each writes to a place of its own. The first
// exception is thrown again here, after all threads ended.
void for_each_piece(int64_t count, int64_t threads, const std::function<void(int64_t)>& work);

// The same on run.threads, telling run.progress of each piece that is done.
void for_each_piece(int64_t count, const StudyRun& run, const std::string& label, const std::function<void(int64_t)>& work);

}  // namespace debias

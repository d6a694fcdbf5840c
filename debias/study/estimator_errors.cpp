#include "debias/study/estimator_errors.h"

#include <cmath>
#include <limits>

namespace debias {

void ErrorSums::add(Estimator estimator, double estimate, double target) {
  if (std::isnan(estimate) || std::isnan(target)) return;
  Sums& sums = sums_[static_cast<size_t>(estimator)];
  const double error = estimate - target;
  ++sums.count;
  sums.estimates += estimate;
  sums.targets += target;
  sums.errors += error;
  sums.squares += error * error;
}

std::array<EstimatorFigures, kEstimators> figures(const std::vector<ErrorSums>& repetitions) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::array<EstimatorFigures, kEstimators> out;
  for (size_t i = 0; i < kEstimators; ++i) {
    ErrorSums::Sums all;
    std::vector<double> mse;
    for (const auto& repetition : repetitions) {
      const auto& sums = repetition.of(static_cast<Estimator>(i));
      if (sums.count == 0) continue;
      all.count += sums.count;
      all.estimates += sums.estimates;
      all.targets += sums.targets;
      all.errors += sums.errors;
      all.squares += sums.squares;
      mse.push_back(sums.squares / static_cast<double>(sums.count));
    }
    if (all.count == 0) {
      out[i] = {0, nan, nan, nan, nan, {nan, nan, nan, nan}};
      continue;
    }
    const double n = static_cast<double>(all.count), bias = all.errors / n;
    out[i] = {all.count, all.estimates / n, all.targets / n, bias, all.squares / n - bias * bias, mean_with_error(mse)};
  }
  return out;
}

}  // namespace debias

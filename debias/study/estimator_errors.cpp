#include "debias/study/estimator_errors.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

#include "debias/results/statistics.h"

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

namespace {

double kolmogorov_tail(double lambda) {
  if (lambda < 0.2) return 1;  // 1 - 1e-13
  double sum = 0;
  for (int k = 1; k <= 100; ++k) sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * lambda * lambda);
  return std::clamp(sum, 0.0, 1.0);
}

KolmogorovSmirnov tested(double distance, double effective_count) {
  const double root = std::sqrt(effective_count);
  return {distance, kolmogorov_tail((root + 0.12 + 0.11 / root) * distance)};
}

}  // namespace

MeanWithError mean_with_error(std::span<const double> values) {
  const double n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / n;
  if (values.size() < 2) return {mean, std::numeric_limits<double>::quiet_NaN(), mean, mean};
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double error = std::sqrt(squares / (n - 1) / n), half = student_t_quantile(0.975, n - 1) * error;
  return {mean, error, mean - half, mean + half};
}

KolmogorovSmirnov kolmogorov_smirnov(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const double m = static_cast<double>(a.size()), n = static_cast<double>(b.size());
  double distance = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double x = std::min(a[i], b[j]);
    while (i < a.size() && a[i] <= x) ++i;
    while (j < b.size() && b[j] <= x) ++j;
    distance = std::max(distance, std::abs(static_cast<double>(i) / m - static_cast<double>(j) / n));
  }
  return tested(distance, m * n / (m + n));
}

KolmogorovSmirnov kolmogorov_smirnov(std::vector<double> values, const std::function<double(double)>& distribution) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = distribution(values[i]);
    distance = std::max({distance, expected - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - expected});
  }
  return tested(distance, n);
}

void for_each_piece(int64_t count, int64_t threads, const std::function<void(int64_t)>& work) {
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  const auto take = [&] {
    try {
      for (int64_t piece = next++; piece < count; piece = next++) work(piece);
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (int64_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(take);
    } catch (const std::system_error&) {  // those that could be started share the work
    }
    take();
  }
  if (failure) std::rethrow_exception(failure);
}

void for_each_piece(int64_t count, const StudyRun& run, const std::string& label, const std::function<void(int64_t)>& work) {
  std::mutex telling;
  int64_t done = 0;
  run.progress->begin(label, count);
  for_each_piece(count, run.threads, [&](int64_t piece) {
    work(piece);
    const std::lock_guard lock(telling);
    run.progress->advance(++done, "");
  });
  run.progress->end();
}

}  // namespace debias

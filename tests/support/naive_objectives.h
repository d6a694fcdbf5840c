// The papers' formulas as loops over rows, in double with raw exponentials: slow, fit for moderate temperatures only, and obviously right.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "debias/losses/debiased.h"
#include "debias/losses/label_free.h"

namespace debias::naive {

struct Anchor {
  double loss = 0;
  bool used = true, clamped = false;
  double estimate = std::numeric_limits<double>::infinity();
};

// All of e^s around one anchor.
struct Exponentials {
  double n = 0;       // 2B - 2
  double p = 0;       // the partner
  double mean_p = 0;  // the mean over all positives
  double self = 0;
  double all = 0;   // sum over the negatives
  double kept = 0;  // of other classes
  double kept_count = 0;
  bool labelled = false;
};

struct Batch {
  at::Tensor z;  // [B, V, D] double
  std::vector<int64_t> labels;
};

inline double exponential(const Batch& batch, int64_t i, int64_t v, int64_t j, int64_t w, double t) {
  const auto z = batch.z.accessor<double, 3>();
  double dot = 0;
  for (int64_t d = 0; d < z.size(2); ++d) dot += z[i][v][d] * z[j][w][d];
  return std::exp(dot / t);
}

// The anchor is view v of sample i, its partner view w; the negatives are views v and w of the other samples.
inline Exponentials around(const Batch& batch, int64_t i, int64_t v, int64_t w, double t) {
  const int64_t samples = batch.z.size(0), views = batch.z.size(1);
  Exponentials e;
  e.n = static_cast<double>(2 * samples - 2);
  e.labelled = !batch.labels.empty() && batch.labels[i] >= 0;
  e.p = exponential(batch, i, v, i, w, t);
  e.self = exponential(batch, i, v, i, v, t);
  for (int64_t x = 0; x < views; ++x) {
    if (x != v) e.mean_p += exponential(batch, i, v, i, x, t) / static_cast<double>(views - 1);
  }
  for (int64_t j = 0; j < samples; ++j) {
    for (int64_t x : {v, w}) {
      if (j == i) continue;
      const double value = exponential(batch, i, v, j, x, t);
      e.all += value;
      const bool same_class = !batch.labels.empty() && batch.labels[i] >= 0 && batch.labels[i] == batch.labels[j];
      if (!same_class) e.kept += value, e.kept_count += 1;
    }
  }
  return e;
}

inline Anchor infonce(const Exponentials& e, const InfoNceOptions& options) {
  return {.loss = std::log((e.p + (options.drop_false_negatives ? e.kept : e.all)) / e.p)};
}

inline Anchor unbiased(const Exponentials& e, const UnbiasedOptions& options) {
  if (e.kept_count == 0) return {.loss = 0, .used = false};
  const double weight = options.negatives == TrueNegatives::kRescale ? e.n / e.kept_count : 1;
  return {.loss = std::log((e.p + weight * e.kept) / e.p)};
}

inline Anchor debiased_negatives(const Exponentials& e, const DebiasedNegativesOptions& options) {
  const double sum = options.drop_false_negatives ? e.kept : e.all;
  const double positive = options.aggregation == Aggregation::kGrouping ? e.mean_p : e.p;
  const double g = (sum / e.n - options.tau_plus * positive) / (1 - options.tau_plus);
  const double floor = std::exp(-1 / options.temperature);
  Anchor anchor = {.loss = 0, .used = true, .clamped = false, .estimate = g};
  double ng = e.n * g;
  if (options.clamp == Clamp::kFloor && g < floor) ng = e.n * floor, anchor.clamped = true;
  if (options.clamp == Clamp::kFallback && g < floor) ng = sum, anchor.clamped = true;
  if (options.clamp == Clamp::kPositive && g <= 0) ng = 0, anchor.clamped = true;
  anchor.used = e.p + ng > 0;
  if (anchor.used) anchor.loss = -std::log(e.p / (e.p + ng));
  return anchor;
}

inline Anchor debiased_positives(const Exponentials& e, const DebiasedPositivesOptions& options) {
  const double tau = options.tau_plus, floor = tau * std::exp(-1 / options.temperature);
  const double positive = options.aggregation == Aggregation::kGrouping ? e.mean_p : e.p;
  const double kept = options.drop_false_negatives ? e.kept : e.all, count = options.drop_false_negatives ? e.kept_count : e.n;
  const bool means = options.form != PositiveForm::kSum, as_published = options.form == PositiveForm::kFinal;
  const double self = as_published && options.drop_false_negatives && e.labelled ? 0 : e.self;
  const double p_all = ((as_published ? kept : e.all) + positive + self) / (means ? e.n + 2 : 1);
  const double p_negative = count == 0 ? 0 : kept / (as_published ? e.n : means ? count : 1);
  double numerator = p_all - (1 - tau) * p_negative;
  Anchor anchor = {.loss = 0, .used = true, .clamped = false, .estimate = numerator};
  if (options.guard != Guard::kNone) anchor.clamped = numerator < floor;
  if (options.guard == Guard::kNone) anchor.used = numerator > 0;
  if (options.guard == Guard::kFallback && anchor.clamped) {
    anchor.loss = -std::log(e.p / (e.p + kept));
    return anchor;
  }
  if (anchor.clamped) numerator = floor;
  if (anchor.used) anchor.loss = -std::log(numerator / (numerator + e.n * tau * p_negative));
  return anchor;
}

// Value and diagnostics of a two-view loss over the pairs of views that are asked for.
struct Result {
  double value = 0;
  std::vector<double> per_anchor;  // view-major, NaN where dropped
  int64_t used = 0, clamped = 0;
  double min_estimate = std::numeric_limits<double>::infinity();
};

inline Result evaluate(const Batch& batch, double t, bool pairs, const std::function<Anchor(const Exponentials&)>& anchor_loss) {
  const int64_t samples = batch.z.size(0), views = batch.z.size(1), anchor_views = pairs ? views : 2;
  std::vector<double> sums(anchor_views * samples), counts(anchor_views * samples);
  Result result;
  double pairs_used = 0;
  for (int64_t first = 0; first < anchor_views; ++first) {
    for (int64_t second = first + 1; second < anchor_views; ++second) {
      double sum = 0, used = 0;
      for (auto [v, w] : {std::pair{first, second}, std::pair{second, first}}) {
        for (int64_t i = 0; i < samples; ++i) {
          const Anchor anchor = anchor_loss(around(batch, i, v, w, t));
          result.clamped += anchor.clamped;
          result.min_estimate = std::min(result.min_estimate, anchor.estimate);
          if (!anchor.used) continue;
          sum += anchor.loss, used += 1;
          sums[v * samples + i] += anchor.loss, counts[v * samples + i] += 1;
        }
      }
      if (used > 0) result.value += sum / used, pairs_used += 1;
    }
  }
  if (pairs_used > 0) result.value /= pairs_used;
  for (size_t row = 0; row < sums.size(); ++row) {
    result.per_anchor.push_back(sums[row] / counts[row]);
    result.used += counts[row] > 0;
  }
  return result;
}

}  // namespace debias::naive

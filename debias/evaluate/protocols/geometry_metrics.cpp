#include "debias/evaluate/protocols/geometry_metrics.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "debias/core/error.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/features.h"

namespace debias {
namespace {

constexpr int64_t kBlock = 256;
constexpr double kRankmeEpsilon = 1e-7;

enum Set { kPositiveAligned, kPositiveConflicting, kNegativeAligned, kNegativeConflicting, kSets };
constexpr std::array<const char*, kSets> kNames = {"positive_aligned", "positive_conflicting", "negative_aligned", "negative_conflicting"};

struct PairSums {
  std::array<std::vector<int64_t>, kSets> histogram;
  std::array<double, kSets> sum{}, squares{};
  double potential = 0;

  explicit PairSums(int64_t bins) {
    for (auto& h : histogram) h.assign(static_cast<size_t>(bins), 0);
  }
  void add(const PairSums& other) {
    for (int s = 0; s < kSets; ++s) {
      for (size_t b = 0; b < histogram[s].size(); ++b) histogram[s][b] += other.histogram[s][b];
      sum[s] += other.sum[s];
      squares[s] += other.squares[s];
    }
    potential += other.potential;
  }
};

void require_rows(const at::Tensor& rows, const char* who) {
  if (rows.dim() != 2 || rows.size(0) < 2) throw data_error("{}: {} rows; it needs at least two", who, rows.dim() == 2 ? rows.size(0) : 0);
}

}  // namespace

double alignment(const at::Tensor& first_views, const at::Tensor& second_views) {
  if (first_views.sizes() != second_views.sizes()) {
    throw data_error("alignment: {} first and {} second views; give two of each image", first_views.size(0), second_views.size(0));
  }
  const at::Tensor difference = (unit_rows(first_views, "alignment") - unit_rows(second_views, "alignment")).to(at::kDouble);
  return difference.square().sum(1).mean().item<double>();
}

double rankme(const at::Tensor& rows) {
  require_rows(rows, "rankme");
  if (!at::isfinite(rows).all().item<bool>()) throw numeric_error("rankme: a row is not finite; check the encoder's weights");
  const at::Tensor f = rows.to(at::kDouble);
  const at::Tensor gram = f.size(0) < f.size(1) ? at::mm(f, f.t()) : at::mm(f.t(), f);
  const at::Tensor s = at::linalg_eigvalsh(gram).clamp_min(0).sqrt();
  const at::Tensor p = s / s.sum().clamp_min(std::numeric_limits<double>::min()) + kRankmeEpsilon;
  return std::exp(-(p * p.log()).sum().item<double>());
}

double std_of_l2_normalized(const at::Tensor& rows) {
  require_rows(rows, "std_of_l2_normalized");
  return unit_rows(rows, "std_of_l2_normalized").to(at::kDouble).std(0).mean().item<double>();
}

PairGeometry pair_geometry(const at::Tensor& rows, const std::vector<int64_t>& labels, const std::vector<int64_t>& biases, int64_t bins) {
  require_rows(rows, "geometry");
  const at::Tensor z = unit_rows(rows, labels, "geometry");
  const int64_t N = z.size(0), blocks = (N + kBlock - 1) / kBlock;
  if (static_cast<int64_t>(biases.size()) != N)
    throw data_error("geometry: {} rows and {} bias labels; give one per row", N, biases.size());
  const bool biased = std::any_of(biases.begin(), biases.end(), [](int64_t bias) { return bias != kUnknown; });
  std::vector<PairSums> of_block(static_cast<size_t>(blocks), PairSums(bins));
  at::parallel_for(0, blocks, 1, [&](int64_t low, int64_t high) {
    for (int64_t block = low; block < high; ++block) {
      PairSums& sums = of_block[block];
      const int64_t begin = block * kBlock, count = std::min(kBlock, N - begin), width = N - begin;
      const at::Tensor cosines = at::mm(z.narrow(0, begin, count), z.narrow(0, begin, width).t()).contiguous();
      const float* row = cosines.const_data_ptr<float>();
      for (int64_t i = 0; i < count; ++i, row += width) {
        const int64_t label = labels[begin + i], bias = biases[begin + i];
        for (int64_t j = i + 1; j < width; ++j) {
          const double cosine = std::clamp(static_cast<double>(row[j]), -1.0, 1.0);
          sums.potential += std::exp(4 * cosine - 4);  // -2 |z - z'|^2 = -4 (1 - cos)
          const int64_t other = labels[begin + j], other_bias = biases[begin + j];
          if (label == kUnknown || other == kUnknown || (biased && (bias == kUnknown || other_bias == kUnknown))) continue;
          const int set = (label == other ? 0 : 2) + (bias == other_bias ? 0 : 1);
          const auto bin = static_cast<int64_t>((cosine + 1) / 2 * static_cast<double>(bins));
          ++sums.histogram[set][std::min(bin, bins - 1)];
          sums.sum[set] += cosine;
          sums.squares[set] += cosine * cosine;
        }
      }
    }
  });
  PairSums total(bins);
  for (const PairSums& sums : of_block) total.add(sums);
  PairGeometry result;
  const double pairs = static_cast<double>(N) * static_cast<double>(N - 1) / 2;
  result.uniformity = std::log(total.potential / pairs);
  for (int s = 0; s < kSets; ++s) {
    if (!biased && s % 2 == 1) continue;  // unknown bias labels are all alike
    SimilarityHistogram distribution{0, kNotKnown, kNotKnown, total.histogram[s]};
    for (const int64_t count : distribution.histogram) distribution.pairs += count;
    if (distribution.pairs > 0) {
      const auto n = static_cast<double>(distribution.pairs);
      distribution.mean = total.sum[s] / n;
      distribution.std = std::sqrt(std::max(0.0, total.squares[s] / n - distribution.mean * distribution.mean));
    }
    result.distributions[biased ? kNames[s] : s == kPositiveAligned ? "positive" : "negative"] = std::move(distribution);
  }
  return result;
}

}  // namespace debias

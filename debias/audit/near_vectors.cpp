#include "debias/audit/near_vectors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "debias/core/philox.h"
#include "debias/data/parallel_blocks.h"

namespace debias {
namespace {

constexpr int64_t kLeastDimensions = 8, kMostDimensions = 256;
constexpr float kLeastCosine = 0.65F;
constexpr size_t kMostPairsOfRow = 500;

struct NearPair {
  uint32_t a, b;
  float cosine;
};

// [n, d] with columns of mean 0 and deviation 1; of more than kMostDimensions, random directions, which keep cosines to a few hundredths.
std::vector<float> standard_vectors(std::span<const float> rows, int64_t n, int64_t& dimensions) {
  std::vector<double> sum(static_cast<size_t>(dimensions)), square(sum.size());
  for (size_t i = 0; i < rows.size(); ++i) sum[i % sum.size()] += rows[i];
  for (double& s : sum) s /= static_cast<double>(n);
  for (size_t i = 0; i < rows.size(); ++i) square[i % sum.size()] += (rows[i] - sum[i % sum.size()]) * (rows[i] - sum[i % sum.size()]);
  std::vector<float> x(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const double deviation = std::sqrt(square[i % sum.size()] / static_cast<double>(n));
    x[i] = deviation > 0 ? static_cast<float>((rows[i] - sum[i % sum.size()]) / deviation) : 0;
  }
  if (dimensions <= kMostDimensions) return x;
  Random random({.domain = RngDomain::kEvaluate, .seed = 0, .step = 6});
  std::vector<float> directions(static_cast<size_t>(dimensions * kMostDimensions));
  for (float& value : directions) value = static_cast<float>(random.normal());
  std::vector<float> projected(static_cast<size_t>(n * kMostDimensions));
  for_each_block(
      n, 16,
      [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          float* own = projected.data() + i * kMostDimensions;
          for (int64_t d = 0; d < dimensions; ++d) {
            const float value = x[static_cast<size_t>(i * dimensions + d)];
            for (int64_t k = 0; k < kMostDimensions; ++k) own[k] += value * directions[static_cast<size_t>(d * kMostDimensions + k)];
          }
        }
      },
      [](int64_t) {});
  dimensions = kMostDimensions;
  return projected;
}

void scale_to_length_one(std::vector<float>& x, int64_t dimensions) {
  for (auto row = x.begin(); row != x.end(); row += dimensions) {
    double square = 0;
    for (auto value = row; value != row + dimensions; ++value) square += static_cast<double>(*value) * *value;
    const auto scale = static_cast<float>(1 / std::max(std::sqrt(square), 1e-12));
    for (auto value = row; value != row + dimensions; ++value) *value *= scale;
  }
}

float vector_cosine(const float* a, const float* b, int64_t dimensions) {
  constexpr int64_t kLanes = 8;
  std::array<float, kLanes> sums{};
  int64_t i = 0;
  for (; i + kLanes <= dimensions; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[static_cast<size_t>(lane)] += a[i + lane] * b[i + lane];
  }
  float sum = 0;
  for (const float own : sums) sum += own;
  for (; i < dimensions; ++i) sum += a[i] * b[i];
  return sum;
}

// Nothing if there are more than kMostPairsOfRow a row.
std::vector<NearPair> near_pairs(const std::vector<float>& x, int64_t n, int64_t dimensions) {
  std::vector<NearPair> all;
  std::mutex guard;
  const size_t most = kMostPairsOfRow * static_cast<size_t>(n);
  for_each_block(
      n, 16,
      [&](int64_t first, int64_t last) {
        std::vector<NearPair> found;
        for (int64_t j = first + 1; j < n; ++j) {
          for (int64_t i = first; i < std::min(last, j); ++i) {
            const float cosine = vector_cosine(x.data() + i * dimensions, x.data() + j * dimensions, dimensions);
            if (cosine >= kLeastCosine) found.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(j), cosine});
          }
        }
        const std::lock_guard lock(guard);
        if (all.size() <= most) all.insert(all.end(), found.begin(), found.end());
      },
      [](int64_t) {});
  if (all.size() > most) all.clear();
  return all;
}

bool are_plausible(const RowGroups& groups, std::span<const int32_t> labels) {
  constexpr double kLargest = 0.2;
  constexpr size_t kLeastOfClass = 8;
  const std::vector<int64_t> sizes = sizes_of(groups);
  if (static_cast<double>(std::ranges::max(sizes)) > kLargest * static_cast<double>(labels.size())) return false;
  std::vector<std::set<int32_t>> of_class(static_cast<size_t>(std::ranges::max(labels)) + 1);
  for (size_t row = 0; row < labels.size(); ++row) of_class[static_cast<size_t>(labels[row])].insert(groups.of_row[row]);
  return std::ranges::all_of(of_class, [](const auto& own) { return own.empty() || own.size() >= kLeastOfClass; });
}

}  // namespace

std::optional<RowGroups> groups_of_near_vectors(std::span<const float> rows, int64_t dimensions, std::span<const int32_t> labels) {
  constexpr std::array kThresholds = {0.95F, 0.9F, 0.85F, 0.8F, 0.75F};
  constexpr float kGap = 0.1F;
  constexpr double kAbove = 0.8, kOtherClasses = 0.05;
  if (dimensions < kLeastDimensions) return std::nullopt;
  const auto n = std::ssize(labels);
  std::vector<float> x = standard_vectors(rows, n, dimensions);
  scale_to_length_one(x, dimensions);
  const std::vector<NearPair> near = near_pairs(x, n, dimensions);
  for (const float threshold : kThresholds) {
    std::vector<std::pair<size_t, size_t>> pairs;
    double below = 0, of_others = 0;
    for (const NearPair& pair : near) {
      below += pair.cosine < threshold && pair.cosine >= threshold - kGap ? 1 : 0;
      if (pair.cosine < threshold) continue;
      pairs.emplace_back(pair.a, pair.b);
      of_others += labels[pair.a] == labels[pair.b] ? 0 : 1;
    }
    const auto count = static_cast<double>(pairs.size());
    if (pairs.empty() || count < kAbove * (count + below) || of_others > kOtherClasses * count) continue;
    RowGroups groups = with_joined(single_rows(n), pairs);
    groups.from = "near-copies";
    if (are_plausible(groups, labels)) return groups;
  }
  return std::nullopt;
}

}  // namespace debias

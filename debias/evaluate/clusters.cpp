#include "debias/evaluate/clusters.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/data/name_table.h"
#include "debias/data/sample_table.h"

namespace debias {
namespace {

constexpr int64_t kStarts = 10, kMostRounds = 200;
constexpr int64_t kClusteredBlock = 8192;  // distances of so many rows are in memory together

// Squared distances [n, K] of some rows to the centres, without those that rounding makes negative.
at::Tensor squared_distances(const at::Tensor& rows, const at::Tensor& centres) {
  const at::Tensor products = at::matmul(rows, centres.t());
  return (rows.square().sum(1, true) + centres.square().sum(1).unsqueeze(0) - 2 * products).clamp_min(0);
}

template <class Take>
void for_blocks(const at::Tensor& rows, const Take& take) {
  for (int64_t begin = 0; begin < rows.size(0); begin += kClusteredBlock) {
    take(begin, rows.narrow(0, begin, std::min(kClusteredBlock, rows.size(0) - begin)));
  }
}

// The place where the running sum of the weights passes `share` of the whole.
int64_t drawn(const at::Tensor& weights, double share) {
  const auto* weight = weights.const_data_ptr<double>();
  const int64_t N = weights.size(0);
  double sum = 0;
  for (int64_t i = 0; i < N; ++i) sum += weight[i];
  double left = share * sum;
  for (int64_t i = 0; i < N; ++i) {
    left -= weight[i];
    if (left < 0) return i;
  }
  return N - 1;
}

at::Tensor first_centres(const at::Tensor& rows, int64_t K, Random& random) {
  std::vector<at::Tensor> centres = {rows[random.below(rows.size(0))]};
  at::Tensor nearest;
  while (std::ssize(centres) < K) {
    at::Tensor to_last = (rows - centres.back()).square().sum(1);
    nearest = nearest.defined() ? at::minimum(nearest, to_last) : to_last;
    centres.push_back(rows[drawn(nearest, random.uniform())]);
  }
  return at::stack(centres);
}

struct Assigned {
  at::Tensor of_row;  // int64 [N]
  double spread = 0;
};

Assigned assigned(const at::Tensor& rows, const at::Tensor& centres) {
  Assigned result{at::empty({rows.size(0)}, at::kLong), 0};
  for_blocks(rows, [&](int64_t begin, const at::Tensor& block) {
    const auto [distance, centre] = squared_distances(block, centres).min(1);
    result.of_row.narrow(0, begin, block.size(0)).copy_(centre);
    result.spread += distance.sum().item<double>();
  });
  return result;
}

// Means of the clusters; an empty one keeps its centre.
at::Tensor moved(const at::Tensor& rows, const at::Tensor& of_row, const at::Tensor& centres) {
  const int64_t K = centres.size(0);
  const at::Tensor sums = at::zeros_like(centres).index_add_(0, of_row, rows);
  const at::Tensor counts = at::bincount(of_row, {}, K).to(at::kDouble).unsqueeze(1);
  return at::where(counts > 0, sums / counts.clamp_min(1), centres);
}

Clusters clusters_of_start(const at::Tensor& rows, int64_t K, Random& random) {
  at::Tensor centres = first_centres(rows, K, random);
  Assigned now = assigned(rows, centres);
  for (int64_t round = 0; round < kMostRounds; ++round) {
    centres = moved(rows, now.of_row, centres);
    Assigned next = assigned(rows, centres);
    const bool same = next.of_row.equal(now.of_row);
    now = std::move(next);
    if (same) break;
  }
  const auto* first = now.of_row.const_data_ptr<int64_t>();
  return {centres, std::vector<int64_t>(first, first + rows.size(0)), now.spread};
}

}  // namespace

Clusters k_means(const at::Tensor& given, int64_t K, uint64_t seed, const char* who) {
  if (K < 1 || K > given.size(0)) {
    throw usage_error("{}: {} clusters of {} images: give a number from 1 to {}", who, K, given.size(0), given.size(0));
  }
  const at::Tensor rows = given.to(at::kCPU, at::kDouble).contiguous();
  Clusters best;
  for (int64_t start = 0; start < kStarts; ++start) {
    Random random({.domain = RngDomain::kEvaluate, .seed = seed, .sample = static_cast<uint64_t>(start)});
    Clusters found = clusters_of_start(rows, K, random);
    if (start == 0 || found.spread < best.spread) best = std::move(found);
  }
  return best;
}

std::vector<NearestCentre> nearest_centres(const at::Tensor& rows, const at::Tensor& centres) {
  std::vector<NearestCentre> nearest;
  const int64_t two = std::min<int64_t>(2, centres.size(0));
  for_blocks(rows, [&](int64_t, const at::Tensor& block) {
    const auto [squared, order] = squared_distances(block.to(at::kCPU, at::kDouble), centres).topk(two, 1, /*largest=*/false);
    const auto* distance = squared.const_data_ptr<double>();
    const auto* centre = order.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < block.size(0); ++i) {
      const double first = std::sqrt(distance[i * two]), second = two < 2 ? INFINITY : std::sqrt(distance[i * two + 1]);
      nearest.push_back({centre[i * two], second > 0 ? 1 - first / second : 0});
    }
  });
  return nearest;
}

namespace {

std::string stem_of(const std::map<int64_t, int64_t>& images_of_class, const std::vector<std::string>& class_names) {
  int64_t most = kUnknown, images = 0;
  for (const auto& [label, count] : images_of_class) {
    if (count <= images) continue;
    most = label;
    images = count;
  }
  return most == kUnknown ? "value" : "like_" + value_name(class_names, most);
}

}  // namespace

std::vector<std::string> cluster_names(const std::vector<int64_t>& of_row, const std::vector<int64_t>& labels,
                                       const std::vector<std::string>& class_names, int64_t clusters) {
  std::vector<int64_t> sizes(static_cast<size_t>(clusters)), order(sizes.size());
  std::vector<std::map<int64_t, int64_t>> images(sizes.size());
  for (size_t i = 0; i < of_row.size(); ++i) {
    const auto cluster = static_cast<size_t>(of_row[i]);
    ++sizes[cluster];
    if (labels[i] != kUnknown) ++images[cluster][labels[i]];
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return sizes[static_cast<size_t>(a)] > sizes[static_cast<size_t>(b)]; });
  std::vector<std::string> names(sizes.size());
  std::set<std::string> taken;
  for (const int64_t cluster : order) {
    const std::string stem = stem_of(images[static_cast<size_t>(cluster)], class_names);
    std::string name = stem == "value" ? "value_1" : stem;
    for (int64_t number = 2; !taken.insert(name).second; ++number) name = fmt::format("{}_{}", stem, number);
    names[static_cast<size_t>(cluster)] = name;
  }
  return names;
}

}  // namespace debias

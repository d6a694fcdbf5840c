#include "debias/mining/mined_pairs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/evaluate/neighbours/nearest_rows.h"
#include "debias/mining/false_negative_posterior.h"
#include "debias/runtime/unit_rows.h"

namespace debias {
namespace {

constexpr int64_t kNeighbours = 32;
constexpr int64_t kMostOfAGroup = 223;  // rows that a row is searched beyond

// Rows of norm 1 need no scale.
UnitRows as_unit_rows(const at::Tensor& unit) {
  UnitRows rows{unit.const_data_ptr<float>(), unit.size(1), std::vector<int64_t>(static_cast<size_t>(unit.size(0))), {}};
  std::iota(rows.rows.begin(), rows.rows.end(), 0);
  rows.scale.assign(rows.rows.size(), 1.0f);
  return rows;
}

bool by_rows(const MinedPair& x, const MinedPair& y) { return std::pair(x.a, x.b) < std::pair(y.a, y.b); }

bool nearer_first(const MinedPair& x, const MinedPair& y) { return x.cosine != y.cosine ? x.cosine > y.cosine : by_rows(x, y); }

bool wrongs_more(const MinedPair& x, const MinedPair& y) {
  if (x.expected_gradient() != y.expected_gradient()) return x.expected_gradient() > y.expected_gradient();
  return nearer_first(x, y);
}

int64_t largest_group(const std::vector<int32_t>& groups) {
  std::map<int32_t, int64_t> sizes;
  int64_t largest = 1;
  for (const int32_t group : groups) largest = std::max(largest, ++sizes[group]);
  return largest;
}

// Each pair of rows of two groups once, of which one is among the nearest of the other.
std::vector<MinedPair> nearest_pairs(const at::Tensor& unit, const std::vector<int32_t>& groups) {
  const UnitRows rows = as_unit_rows(unit);
  // The row itself is one of them, and so may be the rows of its group.
  const int64_t n = rows.count(), k = std::min(kNeighbours + std::min(largest_group(groups), kMostOfAGroup + 1), n);
  const auto in_one = [&](int64_t a, int64_t b) {
    return a == b || (!groups.empty() && groups[static_cast<size_t>(a)] == groups[static_cast<size_t>(b)]);
  };
  std::vector<MinedPair> pairs;
  pairs.reserve(static_cast<size_t>(n * std::min(kNeighbours, n - 1)));
  std::mutex mutex;
  nearest_rows(rows, rows, k, {}, [&](int64_t a, const std::vector<Neighbour>& nearest) {
    std::vector<Neighbour> others = nearest;
    std::erase_if(others, [&](const Neighbour& b) { return in_one(a, b.row); });
    std::ranges::sort(others, nearer);
    others.resize(std::min(others.size(), static_cast<size_t>(kNeighbours)));
    const std::lock_guard lock(mutex);
    for (const Neighbour& b : others) pairs.push_back({.a = std::min(a, b.row), .b = std::max(a, b.row), .cosine = b.cosine});
  });
  std::ranges::sort(pairs, by_rows);
  const auto same = std::ranges::unique(pairs, [](const MinedPair& x, const MinedPair& y) { return x.a == y.a && x.b == y.b; });
  pairs.erase(same.begin(), same.end());
  return pairs;
}

float cosine_of(const at::Tensor& unit, int64_t a, int64_t b) {
  const float *x = unit.const_data_ptr<float>() + a * unit.size(1), *y = unit.const_data_ptr<float>() + b * unit.size(1);
  return static_cast<float>(std::inner_product(x, x + unit.size(1), y, 0.0));
}

const at::Tensor& with_two_rows(const at::Tensor& unit) {
  if (unit.size(0) < 2) throw data_error("pairs: {} row has no pair; give two rows or more", unit.size(0));
  return unit;
}

}  // namespace

void MiningOptions::check() const {
  if (!(temperature >= 1e-3 && temperature <= 100))
    throw usage_error("pairs: temperature: {} is out of range; give a value in [0.001, 100]", temperature);
  if (!(tau_plus > 0 && tau_plus < 1)) throw usage_error("pairs: tau_plus: {} is out of range; give a value in (0, 1)", tau_plus);
  if (batch_size < 2) throw usage_error("pairs: batch_size: {} is out of range; give 2 or more", batch_size);
}

ViewCosines view_cosines(const at::Tensor& views) {
  const at::Tensor unit = unit_rows(views.to(at::kFloat), "pairs: two views");
  const at::Tensor cosines = (unit.select(1, 0) * unit.select(1, 1)).sum(1).contiguous();
  ViewCosines found;
  for (int64_t i = 0; i < cosines.size(0); ++i) found.cosines.add(cosines.const_data_ptr<float>()[i]);
  found.mean = cosines.mean().item<double>();
  return found;
}

PairRanking::PairRanking(const at::Tensor& unit, const ViewCosines& views, const MiningOptions& options, Progress& progress,
                         const std::vector<int32_t>& groups)
    : options_((options.check(), options)),
      positive_(views.mean),
      random_(random_pairs(with_two_rows(unit), options.temperature, options.seed)) {
  const int64_t n = unit.size(0);
  const FalseNegativePosterior posterior = views.known()
                                               ? FalseNegativePosterior::from_views(random_.cosines, n, views.cosines, options.tau_plus)
                                               : FalseNegativePosterior::from_mixture(random_.cosines, n, options.tau_plus);
  for (int64_t bin = 0; bin < CosineCounts::kBins; ++bin) posterior_.push_back(posterior(CosineCounts::middle_of(bin)));
  progress.begin("nearest pairs", 1);
  pairs_ = nearest_pairs(unit, groups);
  progress.end();
  for (MinedPair& pair : pairs_) pair = scored(pair.a, pair.b, pair.cosine, PairKind::kFalseNegative);
  std::ranges::sort(pairs_, options_.rank == PairRank::kGradient ? wrongs_more : nearer_first);
}

double PairRanking::false_negative(float cosine) const { return posterior_[static_cast<size_t>(CosineCounts::bin_of(cosine))]; }

double PairRanking::weight(int64_t anchor, float cosine) const {
  const double t = options_.temperature, negatives = 2 * static_cast<double>(options_.batch_size) - 2;
  const double log_mean = random_.log_mean_exp[static_cast<size_t>(anchor)];  // all in units of e^{s_ab/t}, so that nothing overflows
  return 1 / (std::exp((positive_ - cosine) / t) + negatives * std::exp(log_mean - cosine / t));
}

// In an average batch; a pair that weighs more than all of it together has all of the weight.
double PairRanking::gradient(int64_t a, int64_t b, float cosine) const {
  return (std::min(1.0, weight(a, cosine)) + std::min(1.0, weight(b, cosine))) / 2;
}

MinedPair PairRanking::scored(int64_t a, int64_t b, float cosine, PairKind kind) const {
  cosine = std::clamp(cosine, -1.0f, 1.0f);  // of rows whose norm is 1 up to rounding
  const double spent = kind == PairKind::kLeak ? std::numeric_limits<double>::quiet_NaN() : gradient(a, b, cosine);
  return {.a = a, .b = b, .cosine = cosine, .false_negative = false_negative(cosine), .gradient = spent, .kind = kind};
}

std::vector<MinedPair> sampled_pairs(const at::Tensor& unit, const PairRanking& ranking, int64_t count, uint64_t seed) {
  const int64_t n = unit.size(0), all = n * (n - 1) / 2;
  Random random({.domain = RngDomain::kEvaluate, .seed = seed, .step = 37});
  std::set<std::pair<int64_t, int64_t>> drawn;
  std::vector<MinedPair> pairs;
  while (std::ssize(pairs) < std::min(count, all)) {
    const int64_t x = random.below(n), other = random.below(n - 1), y = other < x ? other : other + 1;
    if (!drawn.emplace(std::min(x, y), std::max(x, y)).second) continue;
    pairs.push_back(ranking.scored(std::min(x, y), std::max(x, y), cosine_of(unit, x, y), PairKind::kRandom));
  }
  return pairs;
}

}  // namespace debias

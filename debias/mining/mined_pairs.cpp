#include "debias/mining/mined_pairs.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numbers>
#include <numeric>
#include <set>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/evaluate/neighbours/nearest_rows.h"
#include "debias/evaluate/protocols/chosen_images.h"
#include "debias/runtime/unit_rows.h"

namespace debias {
namespace {

constexpr int64_t kLeastViews = 50;
constexpr double kOneDeviationBelow = 0.158655;  // of a normal distribution's mass

struct Pool {
  double sum = 0, weight = 0;
  size_t end = 0;
  double mean() const { return weight > 0 ? sum / weight : 0; }
};

void check_prior(double tau) {
  if (!(tau > 0 && tau < 1)) throw usage_error("pairs: tau_plus: {} is out of range; give a value in (0, 1)", tau);
}

std::vector<double> monotone(std::vector<double> posterior, const CosineCounts& random) {
  std::vector<double> weights;
  for (int64_t bin = 0; bin < CosineCounts::kBins; ++bin) weights.push_back(static_cast<double>(random.count(bin)));
  for (double& p : posterior) p = std::clamp(p, 0.0, 1.0);
  return isotonic(posterior, weights);
}

}  // namespace

std::vector<double> isotonic(const std::vector<double>& values, const std::vector<double>& weights) {
  std::vector<Pool> pools;
  for (size_t i = 0; i < values.size(); ++i) {
    Pool pool{values[i] * weights[i], weights[i], i + 1};
    if (pool.weight == 0 && !pools.empty()) {  // says nothing: as what is below it
      pools.back().end = pool.end;
      continue;
    }
    while (!pools.empty() && (pools.back().weight == 0 || pools.back().mean() >= pool.mean())) {
      pool.sum += pools.back().sum;
      pool.weight += pools.back().weight;
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  std::vector<double> result(values.size());
  size_t begin = 0;
  for (const Pool& pool : pools) {
    std::fill(result.begin() + static_cast<ptrdiff_t>(begin), result.begin() + static_cast<ptrdiff_t>(pool.end), pool.mean());
    begin = pool.end;
  }
  return result;
}

FalseNegativePosterior FalseNegativePosterior::from_views(const CosineCounts& random, int64_t rows, const CosineCounts& views, double tau) {
  check_prior(tau);
  if (views.total() < kLeastViews)
    throw data_error("pairs: {} pairs of views; the posterior needs at least {}", views.total(), kLeastViews);
  const std::vector<double> f = random.density(static_cast<double>(rows)), positive = views.density(static_cast<double>(views.total()));
  std::vector<double> posterior(f.size());
  for (size_t i = 0; i < f.size(); ++i) posterior[i] = f[i] > 0 ? tau * positive[i] / f[i] : 0;
  return FalseNegativePosterior(monotone(std::move(posterior), random));
}

FalseNegativePosterior FalseNegativePosterior::from_mixture(const CosineCounts& random, int64_t rows, double tau) {
  check_prior(tau);
  const std::vector<double> f = random.density(static_cast<double>(rows));
  const double mean = random.quantile(0.5 * (1 - tau)), width = 2.0 / CosineCounts::kBins;
  const double deviation = std::max(width, mean - random.quantile(kOneDeviationBelow * (1 - tau)));
  std::vector<double> posterior(f.size());
  for (size_t i = 0; i < f.size(); ++i) {
    const double z = (CosineCounts::middle_of(static_cast<int64_t>(i)) - mean) / deviation;
    const double null = std::exp(-z * z / 2) / (deviation * std::sqrt(2 * std::numbers::pi)) * width;
    posterior[i] = f[i] > 0 ? 1 - (1 - tau) * null / f[i] : 0;
  }
  return FalseNegativePosterior(monotone(std::move(posterior), random));
}

namespace {

constexpr int64_t kReferences = 2048, kRowsOfABlock = 2048;

// Counts a block's cosines; the row's own place among the references is left out.
std::vector<int64_t> counts_of(const float* cosine, const std::vector<int64_t>& own, int64_t begin, int64_t end, int64_t width) {
  std::vector<int64_t> counts(CosineCounts::kBins);
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      if (j != own[static_cast<size_t>(i)]) ++counts[static_cast<size_t>(CosineCounts::bin_of(cosine[i * width + j]))];
    }
  }
  return counts;
}

// Of each row its place among the references; -1 where it is none.
std::vector<int64_t> places_among(const std::vector<int64_t>& references, int64_t begin, int64_t count) {
  std::vector<int64_t> own(static_cast<size_t>(count), -1);
  auto at = std::ranges::lower_bound(references, begin);
  for (; at != references.end() && *at < begin + count; ++at) own[static_cast<size_t>(*at - begin)] = at - references.begin();
  return own;
}

}  // namespace

int64_t CosineCounts::bin_of(double cosine) {
  return std::clamp(static_cast<int64_t>(std::floor((cosine + 1) * (kBins / 2))), int64_t{0}, kBins - 1);
}

void CosineCounts::add(const std::vector<int64_t>& counts) {
  for (size_t i = 0; i < count_.size(); ++i) count_[i] += counts[i];
}

int64_t CosineCounts::total() const { return std::accumulate(count_.begin(), count_.end(), int64_t{0}); }

double CosineCounts::quantile(double share) const {
  const double wanted = share * static_cast<double>(total());
  double below = 0;
  for (int64_t bin = 0; bin < kBins; ++bin) {
    const auto here = static_cast<double>(count(bin));
    if (here > 0 && below + here >= wanted) return middle_of(bin) + ((wanted - below) / here - 0.5) * 2 / kBins;
    below += here;
  }
  return 1;
}

double CosineCounts::standard_deviation() const {
  double sum = 0, squares = 0;
  const auto n = static_cast<double>(total());
  for (int64_t bin = 0; bin < kBins; ++bin) {
    sum += static_cast<double>(count(bin)) * middle_of(bin);
    squares += static_cast<double>(count(bin)) * middle_of(bin) * middle_of(bin);
  }
  return n == 0 ? 0 : std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)));
}

std::vector<double> CosineCounts::density(double draws) const {
  const double width = std::max(1.0, 0.9 * standard_deviation() * std::pow(std::max(2.0, draws), -0.2) * kBins / 2);  // in bins
  const auto reach = static_cast<int64_t>(std::ceil(4 * width));
  std::vector<double> kernel;
  for (int64_t k = -reach; k <= reach; ++k) kernel.push_back(std::exp(-0.5 * static_cast<double>(k * k) / (width * width)));
  std::vector<double> density(kBins);
  for (int64_t bin = 0; bin < kBins; ++bin) {
    if (count(bin) == 0) continue;
    for (int64_t k = -reach; k <= reach; ++k) {  // what passes an end is mirrored, so that no mass is lost
      int64_t at = bin + k;
      if (at < 0) at = -1 - at;
      if (at >= kBins) at = 2 * kBins - 1 - at;
      density[static_cast<size_t>(std::clamp(at, int64_t{0}, kBins - 1))] +=
          static_cast<double>(count(bin)) * kernel[static_cast<size_t>(k + reach)];
    }
  }
  const double sum = std::accumulate(density.begin(), density.end(), 0.0);
  for (double& value : density) value /= sum;
  return density;
}

RandomPairs random_pairs(const at::Tensor& unit, double temperature, uint64_t seed) {
  const int64_t n = unit.size(0);
  const std::vector<int64_t> references = chosen_images(n, kReferences, seed);
  const at::Tensor columns = unit.index_select(0, at::tensor(references, at::kLong)).t().contiguous();
  const auto width = static_cast<int64_t>(references.size());
  RandomPairs random;
  random.log_mean_exp.resize(static_cast<size_t>(n));
  std::mutex mutex;
  for (int64_t first = 0; first < n; first += kRowsOfABlock) {
    const int64_t count = std::min(kRowsOfABlock, n - first);
    at::Tensor cosines = at::mm(unit.narrow(0, first, count), columns);
    float* cosine = cosines.mutable_data_ptr<float>();
    const std::vector<int64_t> own = places_among(references, first, count);
    at::parallel_for(0, count, 64, [&](int64_t begin, int64_t end) {
      const std::vector<int64_t> counts = counts_of(cosine, own, begin, end, width);
      const std::lock_guard lock(mutex);
      random.cosines.add(counts);
    });
    for (int64_t i = 0; i < count; ++i) {
      if (own[static_cast<size_t>(i)] >= 0) cosine[i * width + own[static_cast<size_t>(i)]] = -std::numeric_limits<float>::infinity();
    }
    const at::Tensor sums = at::logsumexp(cosines.div_(temperature), 1);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t others = width - (own[static_cast<size_t>(i)] >= 0 ? 1 : 0);
      random.log_mean_exp[static_cast<size_t>(first + i)] = sums.const_data_ptr<float>()[i] - std::log(static_cast<double>(others));
    }
  }
  return random;
}

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

#include "debias/mining/similarity_density.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "debias/evaluate/protocols/chosen_images.h"

namespace debias {
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

}  // namespace debias

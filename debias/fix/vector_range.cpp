#include "debias/fix/vector_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <sstream>

namespace debias {
namespace {

constexpr double kSlack = 0.1, kLeastSlack = 1e-3;  // of the quantiles' distance; of the larger of them
constexpr double kMostOutside = 0.1;
constexpr size_t kRowsRead = 4096;

struct RowSizes {
  std::vector<double> norms, means;
};

RowSizes sizes_of_rows(const FeatureVectors& vectors, std::span<const int64_t> places) {
  RowSizes sizes;
  const auto D = static_cast<size_t>(vectors.dimensions());
  std::vector<float> values(D * std::min(kRowsRead, places.size()));
  for (size_t begin = 0; begin < places.size(); begin += kRowsRead) {
    const std::span<const int64_t> own = places.subspan(begin, std::min(kRowsRead, places.size() - begin));
    vectors.read_places(own, values.data());
    for (size_t row = 0; row < own.size(); ++row) {
      double sum = 0, squares = 0;
      for (size_t d = 0; d < D; ++d) {
        const double value = values[row * D + d];
        sum += value;
        squares += value * value;
      }
      sizes.norms.push_back(std::sqrt(squares));
      sizes.means.push_back(sum / static_cast<double>(D));
    }
  }
  return sizes;
}

std::array<double, 3> quantiles(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) { return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)]; };
  return {at(0.01), at(0.5), at(0.99)};
}

std::optional<std::array<double, 3>> three_numbers(const std::map<std::string, std::string>& metadata, const char* key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return std::nullopt;
  std::istringstream text(found->second);
  std::array<double, 3> numbers{};
  for (double& number : numbers) text >> number;
  return text.fail() ? std::nullopt : std::optional(numbers);
}

void compare(const char* what, const std::array<double, 3>& trained, const std::vector<double>& values, std::vector<std::string>& notes) {
  const auto [low, median, high] = trained;
  const double slack = std::max(kSlack * (high - low), kLeastSlack * std::max(std::abs(low), std::abs(high)));
  const auto is_outside = [&](double value) { return value < low - slack || value > high + slack; };
  const auto outside = std::ranges::count_if(values, is_outside);
  if (static_cast<double>(outside) <= kMostOutside * static_cast<double>(values.size())) return;
  const auto first = std::ranges::find_if(values, is_outside) - values.begin();
  notes.push_back(fmt::format(
      "{} of {} vectors have a {} outside of that of the training rows ({:.3g} to {:.3g}), the first {:.3g} in row {}, the median {:.3g} "
      "instead of {:.3g}: use the same encoder, layer, preprocessing and normalisation",
      outside, values.size(), what, low, high, values[static_cast<size_t>(first)], first, quantiles(values)[1], median));
}

}  // namespace

VectorRange vector_range(const FeatureVectors& vectors, const std::vector<int64_t>& places) {
  RowSizes sizes = sizes_of_rows(vectors, places);
  return {quantiles(std::move(sizes.norms)), quantiles(std::move(sizes.means))};
}

std::map<std::string, std::string> to_metadata(const VectorRange& range) {
  const auto text = [](const std::array<double, 3>& numbers) { return fmt::format("{} {} {}", numbers[0], numbers[1], numbers[2]); };
  return {{"norm_quantiles", text(range.norm)}, {"mean_quantiles", text(range.mean)}};
}

std::optional<VectorRange> range_from(const std::map<std::string, std::string>& metadata) {
  const auto norm = three_numbers(metadata, "norm_quantiles"), mean = three_numbers(metadata, "mean_quantiles");
  return norm && mean ? std::optional(VectorRange{*norm, *mean}) : std::nullopt;
}

std::vector<std::string> range_notes(const VectorRange& trained, const FeatureVectors& vectors) {
  std::vector<int64_t> places(static_cast<size_t>(vectors.rows()));
  std::iota(places.begin(), places.end(), int64_t{0});
  const RowSizes sizes = sizes_of_rows(vectors, places);
  std::vector<std::string> notes;
  compare("norm", trained.norm, sizes.norms, notes);
  compare("mean", trained.mean, sizes.means, notes);
  return notes;
}

}  // namespace debias

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "debias/audit/picture_properties.h"
#include "debias/core/philox.h"

namespace debias {
namespace {

// The directions in which a table of features varies most.
constexpr int64_t kDirections = 16;

struct PrincipalDirections {
  std::vector<double> mean;                     // [D]
  std::vector<std::vector<double>> directions;  // orthonormal, each [D]

  std::vector<float> project(std::span<const float> row) const;  // of the centred row, a value for each direction
};

constexpr int kIterations = 12;

using Directions = std::vector<std::vector<double>>;  // each [D]

std::vector<double> column_means(std::span<const float> values, int64_t rows, int64_t dimensions) {
  std::vector<double> mean(static_cast<size_t>(dimensions));
  for (size_t i = 0; i < values.size(); ++i) mean[i % mean.size()] += values[i];
  for (double& m : mean) m /= static_cast<double>(rows);
  return mean;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

// Gram and Schmidt; a direction that vanishes stays zero.
void orthonormalise(Directions& directions) {
  for (size_t i = 0; i < directions.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double along = dot(directions[i], directions[j]);
      for (size_t k = 0; k < directions[i].size(); ++k) directions[i][k] -= along * directions[j][k];
    }
    const double length = std::sqrt(dot(directions[i], directions[i]));
    for (double& value : directions[i]) value = length > 1e-12 ? value / length : 0;
  }
}

std::vector<double> centred_row(std::span<const float> values, const std::vector<double>& mean, int64_t row) {
  std::vector<double> x(mean.size());
  for (size_t k = 0; k < x.size(); ++k) x[k] = values[static_cast<size_t>(row) * x.size() + k] - mean[k];
  return x;
}

std::vector<float> PrincipalDirections::project(std::span<const float> row) const {
  const std::vector<double> x = centred_row(row, mean, 0);
  std::vector<float> projections;
  for (const auto& direction : directions) projections.push_back(static_cast<float>(dot(x, direction)));
  return projections;
}

// `values` [rows, D]. The first min(kDirections, D) principal components of the centred rows, by subspace iteration. Labels are not used, so
// permuting them does not change the directions.
PrincipalDirections principal_directions(std::span<const float> values, int64_t rows, int64_t dimensions, uint64_t seed) {
  const std::vector<double> mean = column_means(values, rows, dimensions);
  Directions directions(static_cast<size_t>(std::min(kDirections, dimensions)), std::vector<double>(static_cast<size_t>(dimensions)));
  Random random({.domain = RngDomain::kEvaluate, .seed = seed, .step = 3});
  for (auto& direction : directions) std::ranges::generate(direction, [&] { return random.normal(); });
  orthonormalise(directions);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    Directions next(directions.size(), std::vector<double>(static_cast<size_t>(dimensions)));
    for (int64_t row = 0; row < rows; ++row) {
      const std::vector<double> x = centred_row(values, mean, row);
      for (size_t d = 0; d < directions.size(); ++d) {
        const double along = dot(x, directions[d]);
        for (size_t k = 0; k < x.size(); ++k) next[d][k] += along * x[k];
      }
    }
    orthonormalise(next);
    directions = std::move(next);
  }
  return {mean, std::move(directions)};
}

// k-means clusters of points of a few dimensions, from k-means++ seeds (Arthur and Vassilvitskii, 2007).
template <size_t kDimensions>
using SmallPoint = std::array<float, kDimensions>;

template <size_t kDimensions>
float squared_distance(const SmallPoint<kDimensions>& a, const SmallPoint<kDimensions>& b) {
  float sum = 0;
  for (size_t k = 0; k < kDimensions; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

// Of equally near ones the first.
template <size_t kDimensions>
size_t nearest_point(const std::vector<SmallPoint<kDimensions>>& centres, const SmallPoint<kDimensions>& x) {
  size_t nearest = 0;
  float least = std::numeric_limits<float>::infinity();
  for (size_t c = 0; c < centres.size(); ++c) {
    const float d = squared_distance(centres[c], x);
    if (d >= least) continue;
    least = d;
    nearest = c;
  }
  return nearest;
}

// Rare points far from all others become centres of their own.
template <size_t kDimensions>
std::vector<SmallPoint<kDimensions>> first_centres(const std::vector<SmallPoint<kDimensions>>& points, int64_t count, Random& random) {
  std::vector<SmallPoint<kDimensions>> centres = {points[static_cast<size_t>(random.below(std::ssize(points)))]};
  std::vector<double> far(points.size(), std::numeric_limits<double>::infinity());
  while (std::ssize(centres) < count) {
    double sum = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      far[i] = std::min<double>(far[i], squared_distance(points[i], centres.back()));
      sum += far[i];
    }
    double left = random.uniform() * sum;
    size_t chosen = 0;
    while (chosen + 1 < points.size() && (left -= far[chosen]) > 0) ++chosen;
    centres.push_back(points[chosen]);
  }
  return centres;
}

// One of Lloyd's iterations; a centre without points stays.
template <size_t kDimensions>
void improve_centres(std::vector<SmallPoint<kDimensions>>& centres, const std::vector<SmallPoint<kDimensions>>& points) {
  std::vector<std::array<double, kDimensions>> sums(centres.size());
  std::vector<int64_t> counts(centres.size());
  for (const auto& point : points) {
    const size_t c = nearest_point(centres, point);
    for (size_t k = 0; k < kDimensions; ++k) sums[c][k] += point[k];
    ++counts[c];
  }
  for (size_t c = 0; c < centres.size(); ++c) {
    if (counts[c] == 0) continue;
    for (size_t k = 0; k < kDimensions; ++k) centres[c][k] = static_cast<float>(sums[c][k] / static_cast<double>(counts[c]));
  }
}

// The centres of `count` clusters after `iterations` of Lloyd's algorithm. Requires at least one point.
template <size_t kDimensions>
std::vector<SmallPoint<kDimensions>> cluster_centres(const std::vector<SmallPoint<kDimensions>>& points, int64_t count, int iterations,
                                                     Random& random) {
  std::vector<SmallPoint<kDimensions>> centres = first_centres(points, count, random);
  for (int i = 0; i < iterations; ++i) improve_centres(centres, points);
  return centres;
}

constexpr double kNever = 2;

// Effect from which it is a shortcut. Content affects these little: in clean folders of photographs, products and X-rays their effects stayed
// a tenth below.
double least_effect_of(GlobalProperty property) {
  if (property == GlobalProperty::kNoise) return 0.6;
  return property == GlobalProperty::kSharpness || property == GlobalProperty::kBlockiness ? 0.5 : kNever;
}

double least_effect_of(TextureProperty property) {
  switch (property) {
    case TextureProperty::kStripes:
      return 0.3;
    case TextureProperty::kShading:
      return 0.5;
    case TextureProperty::kLevelUse:
    case TextureProperty::kFringes:
      return 0.6;
    default:
      return kNever;
  }
}

// [rows, dimensions]: mean 0, deviation 1; constant ones 0.
std::vector<float> standardised(std::vector<float> values, size_t dimensions) {
  const double rows = static_cast<double>(values.size() / dimensions);
  std::vector<double> mean(dimensions), square(dimensions);
  for (size_t i = 0; i < values.size(); ++i) mean[i % dimensions] += values[i] / rows;
  for (size_t i = 0; i < values.size(); ++i) {
    const double off = values[i] - mean[i % dimensions];
    square[i % dimensions] += off * off / rows;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const double deviation = std::sqrt(square[i % dimensions]);
    values[i] =
        deviation > 1e-6 * (1 + std::abs(mean[i % dimensions])) ? static_cast<float>((values[i] - mean[i % dimensions]) / deviation) : 0;
  }
  return values;
}

MeasuredProperty described(MeasuredProperty measured, double least_effect) {
  measured.property.exact = false;
  measured.property.may_be_shortcut = least_effect < kNever;
  measured.property.least_effect = least_effect;
  if (measured.property.kind == PropertyKind::kDescription) measured.value_of_vector = {};
  return measured;
}

void add_numbers(const PictureRows& rows, std::vector<MeasuredProperty>& found) {
  for (int g = 0; g < kGlobalProperties; ++g) {
    std::vector<double> numbers;
    for (const Picture& picture : rows.pictures) numbers.push_back(picture.features.global[static_cast<size_t>(g)]);
    const auto property = static_cast<GlobalProperty>(g);
    found.push_back(
        described({number_property(std::string(name_of(property)), PropertyKind::kDescription, numbers)}, least_effect_of(property)));
  }
}

void add_clusters(const PictureRows& rows, uint64_t seed, std::vector<MeasuredProperty>& found) {
  constexpr int64_t kClusters = 8;
  for (int t = 0; t < kTextureProperties; ++t) {
    const auto texture = static_cast<TextureProperty>(t);
    std::vector<float> values;
    for (const Picture& picture : rows.pictures) {
      const auto own = picture.features.texture.values(texture);
      values.insert(values.end(), own.begin(), own.end());
    }
    const size_t dimensions = rows.pictures.front().features.texture.values(texture).size();
    found.push_back(described(cluster_property(std::string(name_of(texture)), PropertyKind::kDescription,
                                               standardised(std::move(values), dimensions), std::ssize(rows.pictures), kClusters, seed),
                              least_effect_of(texture)));
  }
}

// How much of an image patches of one colour and contrast cover.
void add_patches(const PictureRows& rows, uint64_t seed, std::vector<MeasuredProperty>& found) {
  constexpr int kPatchCells = 2, kPlaces = kFineGrid - kPatchCells + 1;
  constexpr int64_t kWords = 32, kSampledPatches = 20'000;
  constexpr int kRounds = 10;
  const auto patch_at = [&](const Picture& picture, int place) {
    return picture.features.colour(place % kPlaces, place / kPlaces, kPatchCells, kPatchCells);
  };
  Random random({.domain = RngDomain::kEvaluate, .seed = seed, .step = 1});
  std::vector<CellColour> sample;
  for (int64_t i = 0; i < kSampledPatches; ++i) {
    const Picture& picture = rows.pictures[static_cast<size_t>(random.below(std::ssize(rows.pictures)))];
    sample.push_back(patch_at(picture, static_cast<int>(random.below(kPlaces * kPlaces))));
  }
  const auto words = cluster_centres(sample, kWords, kRounds, random);
  std::vector<std::vector<double>> shares(words.size(), std::vector<double>(rows.pictures.size()));
  for (size_t row = 0; row < rows.pictures.size(); ++row) {
    for (int place = 0; place < kPlaces * kPlaces; ++place) {
      shares[nearest_point(words, patch_at(rows.pictures[row], place))][row] += 1.0 / (kPlaces * kPlaces);
    }
  }
  for (size_t w = 0; w < words.size(); ++w) {
    const std::string name = fmt::format("patches of colour {:.0f},{:.0f},{:.0f}", 255 * words[w][0], 255 * words[w][1], 255 * words[w][2]);
    found.push_back(described({number_property(name, PropertyKind::kDetail, shares[w])}, kNever));
  }
}

}  // namespace

MeasuredProperty cluster_property(std::string name, PropertyKind kind, const std::vector<float>& values, int64_t rows, int64_t clusters,
                                  uint64_t seed) {
  constexpr int kRounds = 20;
  const auto dimensions = static_cast<size_t>(std::ssize(values) / rows);
  const auto row_of = [&](size_t row) { return std::span(values).subspan(row * dimensions, dimensions); };
  const PrincipalDirections principal = principal_directions(values, rows, static_cast<int64_t>(dimensions), seed);
  const auto point_of = [principal](std::span<const float> row) {
    SmallPoint<kDirections> point{};
    std::ranges::copy(principal.project(row), point.begin());
    return point;
  };
  std::vector<SmallPoint<kDirections>> points;
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row) points.push_back(point_of(row_of(row)));
  Random random({.domain = RngDomain::kEvaluate, .seed = seed, .step = 4});
  const auto centres = cluster_centres(points, clusters, kRounds, random);
  Property property{.name = std::move(name), .kind = kind};
  for (size_t c = 0; c < centres.size(); ++c) property.value_names.push_back(fmt::format("cluster {}", c + 1));
  property.absent.assign(centres.size(), false);
  for (const auto& point : points) property.values.push_back(static_cast<int32_t>(nearest_point(centres, point)));
  return {std::move(property), {}, [point_of, centres](std::span<const float> row) {
            return fmt::format("cluster {}", nearest_point(centres, point_of(row)) + 1);
          }};
}

std::vector<MeasuredProperty> direction_properties(const std::vector<float>& values, int64_t rows, int64_t dimensions, int64_t clusters,
                                                   uint64_t seed) {
  std::vector<MeasuredProperty> found;
  const PrincipalDirections principal = principal_directions(values, rows, dimensions, seed);
  std::vector<std::vector<double>> numbers(principal.directions.size());
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<float> own =
        principal.project(std::span(values).subspan(static_cast<size_t>(row * dimensions), static_cast<size_t>(dimensions)));
    for (size_t d = 0; d < own.size(); ++d) numbers[d].push_back(own[d]);
  }
  for (size_t d = 0; d < numbers.size(); ++d) {
    found.push_back(described({number_property(fmt::format("direction {}", d + 1), PropertyKind::kDirection, numbers[d])}, kNever));
  }
  found.push_back(described(cluster_property("clusters", PropertyKind::kDirection, values, rows, clusters, seed), kNever));
  return found;
}

std::vector<MeasuredProperty> description_properties(const PictureRows& rows, uint64_t seed) {
  std::vector<MeasuredProperty> found;
  add_numbers(rows, found);
  add_clusters(rows, seed, found);
  add_patches(rows, seed, found);
  return found;
}

}  // namespace debias

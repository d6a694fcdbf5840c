// What the features of all images have in common: their clusters, the words of their patches, and the directions in which they vary.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "debias/audit/picture_features.h"
#include "debias/core/philox.h"

namespace debias {

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

// A bag of visual words: the content of an image's patches, regardless of their place.
//
// A patch is a square of an eighth of the image's width, at 15 x 15 places that overlap by half. Its features are the mean and the standard
// deviation of its colours. k-means makes kWords words of a sample of patches. The features of an image are the square roots of its words'
// shares.
constexpr int64_t kWords = 128;

class PatchWords {
 public:
  PatchWords(const std::vector<PictureFeatures>& pictures, uint64_t seed);

  std::vector<float> histogram(const PictureFeatures& picture) const;  // [kWords]

 private:
  std::vector<CellColour> words_;
};

// The directions in which a table of features varies most.
constexpr int64_t kDirections = 16;

// `values` [rows, D]. Returns the projections of the centred rows on the first min(kDirections, D) principal components, [rows,
// directions], by subspace iteration. Labels are not used, so permuting them does not change the directions.
std::vector<float> principal_projections(const std::vector<float>& values, int64_t rows, int64_t dimensions, uint64_t seed);

}  // namespace debias

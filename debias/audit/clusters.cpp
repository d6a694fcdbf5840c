#include "debias/audit/clusters.h"

#include <cmath>
#include <utility>

namespace debias {
namespace {

constexpr int kPatch = 2;  // cells
constexpr int kPlaces = kFineGrid - kPatch + 1;
constexpr int64_t kSampled = 20'000;
constexpr int kRounds = 10;

CellColour patch_at(const PictureFeatures& picture, int place) { return picture.colour(place % kPlaces, place / kPlaces, kPatch, kPatch); }

std::vector<CellColour> sampled_patches(const std::vector<PictureFeatures>& pictures, Random& random) {
  std::vector<CellColour> patches;
  for (int64_t i = 0; i < kSampled; ++i) {
    const PictureFeatures& picture = pictures[static_cast<size_t>(random.below(std::ssize(pictures)))];
    patches.push_back(patch_at(picture, static_cast<int>(random.below(kPlaces * kPlaces))));
  }
  return patches;
}

}  // namespace

PatchWords::PatchWords(const std::vector<PictureFeatures>& pictures, uint64_t seed) {
  Random random({.domain = RngDomain::kEvaluate, .seed = seed, .step = 1});
  const std::vector<CellColour> patches = sampled_patches(pictures, random);
  words_ = cluster_centres(patches, kWords, kRounds, random);
}

std::vector<float> PatchWords::histogram(const PictureFeatures& picture) const {
  std::vector<float> shares(words_.size());
  for (int place = 0; place < kPlaces * kPlaces; ++place) shares[nearest_point(words_, patch_at(picture, place))] += 1;
  for (float& share : shares) share = std::sqrt(share / (kPlaces * kPlaces));
  return shares;
}

namespace {

constexpr int kIterations = 12;

using Directions = std::vector<std::vector<double>>;  // each [D]

std::vector<double> column_means(const std::vector<float>& values, int64_t rows, int64_t dimensions) {
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

std::vector<double> centred_row(const std::vector<float>& values, const std::vector<double>& mean, int64_t row) {
  std::vector<double> x(mean.size());
  for (size_t k = 0; k < x.size(); ++k) x[k] = values[static_cast<size_t>(row) * x.size() + k] - mean[k];
  return x;
}

}  // namespace

std::vector<float> principal_projections(const std::vector<float>& values, int64_t rows, int64_t dimensions, uint64_t seed) {
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
  std::vector<float> projections;
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<double> x = centred_row(values, mean, row);
    for (const auto& direction : directions) projections.push_back(static_cast<float>(dot(x, direction)));
  }
  return projections;
}

}  // namespace debias

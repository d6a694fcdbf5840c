#include "debias/audit/patch_words.h"

#include <cmath>

#include "debias/audit/small_k_means.h"
#include "debias/core/philox.h"

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

}  // namespace debias

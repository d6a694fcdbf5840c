#include "debias/audit/patch_words.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "debias/core/philox.h"

namespace debias {
namespace {

constexpr int kPatch = 2;  // cells
constexpr int kPlaces = kFineGrid - kPatch + 1;
constexpr int64_t kSampled = 20'000;
constexpr int kRounds = 10;

CellColour patch_at(const PictureFeatures& picture, int place) { return picture.colour(place % kPlaces, place / kPlaces, kPatch, kPatch); }

float distance(const CellColour& a, const CellColour& b) {
  float sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

size_t nearest_word(const std::vector<CellColour>& words, const CellColour& patch) {
  size_t nearest = 0;
  float least = std::numeric_limits<float>::infinity();
  for (size_t w = 0; w < words.size(); ++w) {
    const float d = distance(words[w], patch);
    if (d >= least) continue;
    least = d;
    nearest = w;
  }
  return nearest;
}

std::vector<CellColour> sampled_patches(const std::vector<PictureFeatures>& pictures, Random& random) {
  std::vector<CellColour> patches;
  for (int64_t i = 0; i < kSampled; ++i) {
    const PictureFeatures& picture = pictures[static_cast<size_t>(random.below(std::ssize(pictures)))];
    patches.push_back(patch_at(picture, static_cast<int>(random.below(kPlaces * kPlaces))));
  }
  return patches;
}

// k-means++ (Arthur and Vassilvitskii, 2007): rare colours far from all others become words of their own.
std::vector<CellColour> first_words(const std::vector<CellColour>& patches, Random& random) {
  std::vector<CellColour> words = {patches[static_cast<size_t>(random.below(std::ssize(patches)))]};
  std::vector<double> far(patches.size(), std::numeric_limits<double>::infinity());
  while (std::ssize(words) < kWords) {
    double sum = 0;
    for (size_t i = 0; i < patches.size(); ++i) {
      far[i] = std::min<double>(far[i], distance(patches[i], words.back()));
      sum += far[i];
    }
    double left = random.uniform() * sum;
    size_t chosen = 0;
    while (chosen + 1 < patches.size() && (left -= far[chosen]) > 0) ++chosen;
    words.push_back(patches[chosen]);
  }
  return words;
}

void improve(std::vector<CellColour>& words, const std::vector<CellColour>& patches) {
  std::vector<std::array<double, kColourValues>> sums(words.size());
  std::vector<int64_t> counts(words.size());
  for (const CellColour& patch : patches) {
    const size_t w = nearest_word(words, patch);
    for (size_t k = 0; k < patch.size(); ++k) sums[w][k] += patch[k];
    ++counts[w];
  }
  for (size_t w = 0; w < words.size(); ++w) {
    if (counts[w] == 0) continue;
    for (size_t k = 0; k < words[w].size(); ++k) words[w][k] = static_cast<float>(sums[w][k] / static_cast<double>(counts[w]));
  }
}

}  // namespace

PatchWords::PatchWords(const std::vector<PictureFeatures>& pictures, uint64_t seed) {
  Random random({.domain = RngDomain::kEvaluate, .seed = seed, .step = 1});
  const std::vector<CellColour> patches = sampled_patches(pictures, random);
  words_ = first_words(patches, random);
  for (int round = 0; round < kRounds; ++round) improve(words_, patches);
}

std::vector<float> PatchWords::histogram(const PictureFeatures& picture) const {
  std::vector<float> shares(words_.size());
  for (int place = 0; place < kPlaces * kPlaces; ++place) shares[nearest_word(words_, patch_at(picture, place))] += 1;
  for (float& share : shares) share = std::sqrt(share / (kPlaces * kPlaces));
  return shares;
}

}  // namespace debias

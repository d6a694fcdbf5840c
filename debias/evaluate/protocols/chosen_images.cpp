#include "debias/evaluate/protocols/chosen_images.h"

#include <algorithm>

#include "debias/core/philox.h"

namespace debias {
namespace {

constexpr uint16_t kSampleStep = 9;  // its own stream among those of evaluation

}  // namespace

std::vector<int64_t> chosen_images(int64_t images, int64_t count, uint64_t seed) {
  std::vector<int64_t> chosen = permutation(images, {RngDomain::kEvaluate, seed, 0, 0, 0, 0, kSampleStep});
  chosen.resize(static_cast<size_t>(std::min(images, count)));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<int64_t> at_places(const std::vector<int64_t>& values, const std::vector<int64_t>& places) {
  std::vector<int64_t> result;
  for (const int64_t place : places) result.push_back(values[place]);
  return result;
}

}  // namespace debias

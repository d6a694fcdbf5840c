#include "debias/data/builders/bias_assignment.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "debias/data/data_stream.h"

namespace debias {
namespace {

// The other classes in random order.
std::vector<int64_t> others_of(int64_t own, int64_t classes, RngKey key) {
  key.view = 1;
  std::vector<int64_t> others;
  for (int64_t k : permutation(classes - 1, key)) others.push_back(k < own ? k : k + 1);
  return others;
}

}  // namespace

std::vector<int64_t> assign_biases(const std::vector<int64_t>& labels, int64_t classes, double correlation, RngKey key) {
  key.domain = RngDomain::kData;
  key.step = static_cast<uint16_t>(DataStream::kBias);
  std::vector<std::vector<size_t>> members(static_cast<size_t>(classes));
  for (size_t i = 0; i < labels.size(); ++i) {
    assert(labels[i] >= 0 && labels[i] < classes);
    members[static_cast<size_t>(labels[i])].push_back(i);
  }
  std::vector<int64_t> biases(labels.size());
  for (int64_t own = 0; own < classes; ++own) {
    const auto& images = members[static_cast<size_t>(own)];
    const auto count = static_cast<int64_t>(images.size());
    key.sample = static_cast<uint64_t>(own);
    const std::vector<int64_t> order = permutation(count, key);
    const std::vector<int64_t> others = others_of(own, classes, key);
    const auto aligned = static_cast<int64_t>(std::floor(static_cast<double>(count) * correlation));
    const int64_t chunk = std::max<int64_t>(1, (count - aligned + classes - 2) / (classes - 1));
    for (int64_t k = 0; k < count; ++k) {
      const int64_t bias = k < aligned ? own : others[static_cast<size_t>((k - aligned) / chunk)];
      biases[images[static_cast<size_t>(order[static_cast<size_t>(k)])]] = bias;
    }
  }
  return biases;
}

}  // namespace debias

#include "debias/image/triangle_taps.h"

#include <algorithm>
#include <cmath>

namespace debias {
namespace {

void compute(int input, int output, std::vector<double>& weights, Taps& taps) {
  const double scale = static_cast<double>(input) / output;
  const double filter_scale = std::max(scale, 1.0);
  const double support = filter_scale;
  taps.stride = static_cast<int>(std::ceil(support)) * 2 + 1;
  taps.first.resize(output);
  taps.count.resize(output);
  taps.weights.resize(static_cast<size_t>(output) * taps.stride);
  weights.resize(taps.stride);
  const double inverse = 1.0 / filter_scale;
  for (int i = 0; i < output; ++i) {
    const double centre = (i + 0.5) * scale;
    const int begin = std::max(0, static_cast<int>(centre - support + 0.5));
    const int count = std::min(input, static_cast<int>(centre + support + 0.5)) - begin;
    double total = 0;
    for (int k = 0; k < count; ++k) {
      weights[k] = std::max(0.0, 1.0 - std::abs((k + begin - centre + 0.5) * inverse));
      total += weights[k];
    }
    for (int k = 0; k < count; ++k) {
      const double weight = total != 0 ? weights[k] / total : weights[k];
      taps.weights[static_cast<size_t>(i) * taps.stride + k] = static_cast<int32_t>(0.5 + weight * (1 << kTapPrecisionBits));
    }
    taps.first[i] = begin;
    taps.count[i] = count;
  }
}

}  // namespace

const Taps& TriangleTaps::of(int input, int output) {
  Entry& entry = entries_[input <= kKept ? input - 1 : kKept];
  if (entry.input != input || entry.output != output) {
    compute(input, output, weights_, entry.taps);
    entry.input = input;
    entry.output = output;
  }
  return entry.taps;
}

}  // namespace debias

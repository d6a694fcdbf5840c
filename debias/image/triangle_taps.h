// Weights of Pillow's BILINEAR filter, kept for the sizes that small images have.
#pragma once

#include <array>
#include <vector>

#include "debias/image/resize_kernels.h"

namespace debias {

// A triangle as wide as the scale input / output, at least 1, so that shrinking averages; weights in double, normalised, then rounded to
// fixed point. Source: Pillow, src/libImaging/Resample.c (precompute_coeffs, normalize_coeffs_8bpc).
class TriangleTaps {
 public:
  // Valid until the next call.
  const Taps& of(int input, int output);

 private:
  static constexpr int kKept = 64;  // inputs up to this size have a place of their own
  struct Entry {
    int input = 0, output = 0;
    Taps taps;
  };
  std::array<Entry, kKept + 1> entries_;
  std::vector<double> weights_;
};

}  // namespace debias

// Colour operations on planes of 8-bit pixels, several in one pass. Each rounds as if it were alone (colour.h), so that the passes do not
// show in the result; every instruction set gives the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace debias {

struct ColourOperation {
  enum class Kind { kBlend, kBlendWithMean, kSaturation, kHue, kGrayscale };
  Kind kind = Kind::kBlend;
  float amount = 0;    // the factor of a blend; how far the hue byte moves; unused for grayscale
  float constant = 0;  // what kBlend blends with; kBlendWithMean is a blend whose constant is not known yet, and no kernel takes it
};

constexpr size_t kPlaneSlack = 64;  // bytes after the last pixel of a plane that kernels may read and overwrite

// The operations in order, on n pixels of three planes; on a grey plane, where there are only blends.
void colour_pass(uint8_t* r, uint8_t* g, uint8_t* b, size_t n, std::span<const ColourOperation> operations);
void grey_pass(uint8_t* pixels, size_t n, std::span<const ColourOperation> operations);

// Sums over n pixels.
uint64_t luma_sum(const uint8_t* r, const uint8_t* g, const uint8_t* b, size_t n);
uint64_t byte_sum(const uint8_t* pixels, size_t n);

}  // namespace debias

// The two passes of a resize: weighted sums of 8-bit pixels along rows and along columns, in Pillow's fixed point. Sums are exact, so that
// every instruction set gives the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace debias {

constexpr int kTapPrecisionBits = 32 - 8 - 2;  // Pillow's PRECISION_BITS: 8 for the pixel, 2 for sums beyond it

// Output i is the sum over k < count[i] of input[first[i] + k] * weights[i * stride + k], shifted down and clipped to 8 bits.
struct Taps {
  int stride = 0;
  std::vector<int> first, count;
  std::vector<int32_t> weights;
};

constexpr int kStripe = 16;  // rows that resize_stripe() makes at a time

// Bytes of memory that resize_stripe() works in, for input rows of `input_bytes`.
size_t stripe_memory(size_t input_bytes, size_t row_stride, int channels);

// Along rows: `rows` <= kStripe rows of `input` interleaved pixels (1 or 3 channels), `stride` bytes apart, to kStripe rows (those beyond
// `rows` are undefined) of `output` pixels in each of `channels` planes. Row y of plane c begins at out + c * plane_stride + y *
// row_stride; row_stride is a multiple of kStripe, and the bytes from `output` up to it are undefined.
void resize_stripe(const uint8_t* in, size_t stride, int rows, int input, int channels, const Taps& taps, int output, uint8_t* memory,
                   uint8_t* out, size_t row_stride, size_t plane_stride);

// Along columns: rows of `width` bytes, `stride` (>= width rounded up to kStripe) apart, to `output` rows without gaps. Up to kStripe - 1
// bytes after the last row are overwritten.
void resize_columns(const uint8_t* in, size_t stride, int width, const Taps& taps, int output, uint8_t* out);

}  // namespace debias

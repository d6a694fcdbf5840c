// Loops over pixels in the processor's widest vectors, each in a source of its own (Highway compiles it once for every instruction set). The
// results are the same bytes at any width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace debias {

// The two passes of a symmetric blur in fixed point: 16-bit weights, 8.8 bits between the passes. Every instruction set gives the same
// bytes. weights[0] is the centre's, weights[k] that of both neighbours at distance k. Rows are without gaps where no stride is given;
// results may spill over by fewer than kBlurSlack values beyond the last, and as many are read beyond it.
constexpr size_t kBlurSlack = 16;

// Along rows; pixel x of row y is in[y * stride + x], and the radius pixels before and after each row are there as well.
void blur_rows(const uint8_t* in, size_t stride, int height, int width, const uint32_t* weights, int radius, uint16_t* out);

// Along columns: row y of the output is made of rows[y], ..., rows[y + 2 radius].
void blur_columns(const uint16_t* const* rows, int height, int width, const uint32_t* weights, int radius, uint8_t* out);

// Colour operations on planes of 8-bit pixels, several in one pass. Each rounds as if it were alone (colour.h), so that the passes do not
// show in the result; every instruction set gives the same bytes.
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

// Moving 8-bit pixels between interleaved and planar order, and mirroring rows.

// n pixels of three channels to one row in each plane. Nothing beyond them is read or written.
void split_channels(const uint8_t* pixels, size_t n, uint8_t* r, uint8_t* g, uint8_t* b);
void join_channels(const uint8_t* r, const uint8_t* g, const uint8_t* b, size_t n, uint8_t* pixels);

// Rows without gaps, each the other way round; `in` and `out` do not overlap. Nothing beyond them is read or written.
void mirror_rows(const uint8_t* in, int height, int width, uint8_t* out);

// The two passes of a resize: weighted sums of 8-bit pixels along rows and along columns, in Pillow's fixed point. Sums are exact, so that
// every instruction set gives the same bytes.
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

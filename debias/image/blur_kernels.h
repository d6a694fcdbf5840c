// The two passes of a symmetric blur in fixed point: 16-bit weights, 8.8 bits between the passes. Every instruction set gives the same
// bytes. weights[0] is the centre's, weights[k] that of both neighbours at distance k. Rows are without gaps where no stride is given;
// results may spill over by fewer than kBlurSlack values beyond the last, and as many are read beyond it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace debias {

constexpr size_t kBlurSlack = 16;

// Along rows; pixel x of row y is in[y * stride + x], and the radius pixels before and after each row are there as well.
void blur_rows(const uint8_t* in, size_t stride, int height, int width, const uint32_t* weights, int radius, uint16_t* out);

// Along columns: row y of the output is made of rows[y], ..., rows[y + 2 radius].
void blur_columns(const uint16_t* const* rows, int height, int width, const uint32_t* weights, int radius, uint8_t* out);

}  // namespace debias

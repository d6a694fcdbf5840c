// Moving 8-bit pixels between interleaved and planar order, and mirroring rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace debias {

// n pixels of three channels to one row in each plane. Nothing beyond them is read or written.
void split_channels(const uint8_t* pixels, size_t n, uint8_t* r, uint8_t* g, uint8_t* b);
void join_channels(const uint8_t* r, const uint8_t* g, const uint8_t* b, size_t n, uint8_t* pixels);

// Rows without gaps, each the other way round; `in` and `out` do not overlap. Nothing beyond them is read or written.
void mirror_rows(const uint8_t* in, int height, int width, uint8_t* out);

}  // namespace debias

#include "debias/image/pixel_kernels.h"

#include <algorithm>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "debias/image/resize_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace debias::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<int32_t, 16>;
using DByte = hn::Rebind<uint8_t, D>;
using V = hn::Vec<D>;

HWY_INLINE V load(const uint8_t* from) { return hn::PromoteTo(D(), hn::LoadU(DByte(), from)); }
HWY_INLINE void store(V sum, uint8_t* to) { hn::StoreU(hn::DemoteTo(DByte(), hn::ShiftRight<kTapPrecisionBits>(sum)), DByte(), to); }
HWY_INLINE V half() { return hn::Set(D(), 1 << (kTapPrecisionBits - 1)); }

#if HWY_TARGET == HWY_SCALAR

void transpose(const uint8_t* in, size_t in_stride, int rows, uint8_t* out, size_t out_stride) {
  for (int i = 0; i < kStripe; ++i) {
    for (int k = 0; k < kStripe; ++k) out[k * out_stride + i] = in[std::min(i, rows - 1) * in_stride + k];
  }
}

#else

using Row = hn::FixedTag<uint8_t, kStripe>;

struct Square {  // 16 rows of 16 bytes
  hn::Vec<Row> row[kStripe];
};

// Rotates the 8 bits of a byte's place (row, column) by one; four times swaps row and column.
template <size_t... i>
HWY_INLINE void rotate(Square& square, std::index_sequence<i...>) {
  const Square from = square;
  ((square.row[2 * i] = hn::InterleaveLower(Row(), from.row[i], from.row[i + 8]),
    square.row[2 * i + 1] = hn::InterleaveUpper(Row(), from.row[i], from.row[i + 8])),
   ...);
}

template <size_t... i>
HWY_INLINE void transpose(const uint8_t* const* in, uint8_t* const* out, std::index_sequence<i...>) {
  Square square{{hn::LoadU(Row(), in[i])...}};
  for (int round = 0; round < 4; ++round) rotate(square, std::make_index_sequence<8>());
  (hn::StoreU(square.row[i], Row(), out[i]), ...);
}

// A square whose rows begin at in, in + in_stride, ... (those from `rows` on are taken to be like the last) to one at out.
HWY_INLINE void transpose(const uint8_t* in, size_t in_stride, int rows, uint8_t* out, size_t out_stride) {
  const uint8_t* from[kStripe];
  uint8_t* to[kStripe];
  for (int i = 0; i < kStripe; ++i) {
    from[i] = in + std::min(i, rows - 1) * in_stride;
    to[i] = out + i * out_stride;
  }
  transpose(from, to, std::make_index_sequence<kStripe>());
}

#endif

// Byte b of all rows to out + kStripe * b.
void stand_up(const uint8_t* in, size_t stride, int rows, size_t bytes, uint8_t* out) {
  if (bytes < kStripe) {
    uint8_t padded[kStripe * kStripe] = {};
    for (int y = 0; y < rows; ++y) std::memcpy(padded + y * kStripe, in + y * stride, bytes);
    return transpose(padded, kStripe, rows, out, kStripe);
  }
  size_t b = 0;
  for (; b + kStripe <= bytes; b += kStripe) transpose(in + b, stride, rows, out + kStripe * b, kStripe);
  if (b < bytes) transpose(in + bytes - kStripe, stride, rows, out + kStripe * (bytes - kStripe), kStripe);
}

template <int C>
void weigh(const uint8_t* in, const Taps& taps, int output, uint8_t* out, size_t plane_stride) {
  const size_t lanes = hn::Lanes(D());
  for (int x = 0; x < output; ++x, out += kStripe) {
    const int32_t* weights = taps.weights.data() + static_cast<size_t>(x) * taps.stride;
    const uint8_t* first = in + static_cast<size_t>(taps.first[x]) * C * kStripe;
    for (size_t y = 0; y < kStripe; y += lanes) {
      V sum[C];
      for (int c = 0; c < C; ++c) sum[c] = half();
      const uint8_t* from = first + y;
      for (int k = 0; k < taps.count[x]; ++k, from += C * kStripe) {
        const V weight = hn::Set(D(), weights[k]);
        for (int c = 0; c < C; ++c) sum[c] = hn::Add(sum[c], hn::Mul(load(from + c * kStripe), weight));
      }
      for (int c = 0; c < C; ++c) store(sum[c], out + c * plane_stride + y);
    }
  }
}

void make_stripe(const uint8_t* in, size_t stride, int rows, int input, int channels, const Taps& taps, int output, uint8_t* memory,
                 uint8_t* out, size_t row_stride, size_t plane_stride) {
  const size_t bytes = static_cast<size_t>(input) * channels, standing_plane = row_stride * kStripe;
  uint8_t* standing = memory;
  uint8_t* weighed = memory + (bytes + kStripe) * kStripe;
  stand_up(in, stride, rows, bytes, standing);
  channels == 1 ? weigh<1>(standing, taps, output, weighed, standing_plane) : weigh<3>(standing, taps, output, weighed, standing_plane);
  for (int c = 0; c < channels; ++c) {
    for (size_t x = 0; x < row_stride; x += kStripe) {
      transpose(weighed + c * standing_plane + x * kStripe, kStripe, kStripe, out + c * plane_stride + x, row_stride);
    }
  }
}

template <int N>
HWY_INLINE void weigh_rows(const uint8_t* in, size_t stride, const int32_t* weights, int count, uint8_t* out) {
  const size_t lanes = hn::Lanes(D());
  V sum[N];
  for (int i = 0; i < N; ++i) sum[i] = half();
  for (int k = 0; k < count; ++k, in += stride) {
    const V weight = hn::Set(D(), weights[k]);
    for (int i = 0; i < N; ++i) sum[i] = hn::Add(sum[i], hn::Mul(load(in + i * lanes), weight));
  }
  for (int i = 0; i < N; ++i) store(sum[i], out + i * lanes);
}

void make_columns(const uint8_t* in, size_t stride, int width, const Taps& taps, int output, uint8_t* out) {
  const auto lanes = static_cast<int>(hn::Lanes(D()));
  for (int y = 0; y < output; ++y, out += width) {
    const uint8_t* from = in + taps.first[y] * stride;
    const int32_t* weights = taps.weights.data() + static_cast<size_t>(y) * taps.stride;
    int x = 0;
    for (; x + 3 * lanes < width; x += 4 * lanes) weigh_rows<4>(from + x, stride, weights, taps.count[y], out + x);
    for (; x + lanes < width; x += 2 * lanes) weigh_rows<2>(from + x, stride, weights, taps.count[y], out + x);
    for (; x < width; x += lanes) weigh_rows<1>(from + x, stride, weights, taps.count[y], out + x);
  }
}

}  // namespace
}  // namespace debias::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace debias {

HWY_EXPORT(make_stripe);
HWY_EXPORT(make_columns);

size_t stripe_memory(size_t input_bytes, size_t row_stride, int channels) {
  return (input_bytes + kStripe + row_stride * channels) * kStripe;
}
void resize_stripe(const uint8_t* in, size_t stride, int rows, int input, int channels, const Taps& taps, int output, uint8_t* memory,
                   uint8_t* out, size_t row_stride, size_t plane_stride) {
  HWY_DYNAMIC_DISPATCH(make_stripe)(in, stride, rows, input, channels, taps, output, memory, out, row_stride, plane_stride);
}
void resize_columns(const uint8_t* in, size_t stride, int width, const Taps& taps, int output, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(make_columns)(in, stride, width, taps, output, out);
}

}  // namespace debias
#endif

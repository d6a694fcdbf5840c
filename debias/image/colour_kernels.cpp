#include "debias/image/pixel_kernels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "debias/image/colour_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace debias::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using DInt = hn::RebindToSigned<D>;
using DByte = hn::Rebind<uint8_t, DInt>;
using V = hn::Vec<D>;  // whole numbers in [0, 255]

constexpr size_t kTile = 256;               // pixels that go through all operations before the next ones do, in the first-level cache
constexpr size_t kBlock = size_t{1} << 16;  // pixels whose sum is a whole number in float

struct Tile {
  HWY_ALIGN_MAX float r[kTile], g[kTile], b[kTile];
};

HWY_INLINE V set(float value) { return hn::Set(D(), value); }
HWY_INLINE V load(const uint8_t* from) { return hn::ConvertTo(D(), hn::PromoteTo(DInt(), hn::LoadU(DByte(), from))); }
HWY_INLINE void store(V v, uint8_t* to) {  // 2^23 + v has v in its lowest bits
  const hn::RebindToUnsigned<D> d;
  hn::StoreU(hn::TruncateTo(DByte(), hn::BitCast(d, hn::Add(v, set(1 << 23)))), DByte(), to);
}

template <class Body>
HWY_INLINE void each_vector(size_t n, const Body& body) {
  for (size_t i = 0; i < n; i += hn::Lanes(D())) body(i);
}

HWY_INLINE V blended(V from, V to, V factor) {
  const V value = hn::Add(from, hn::Mul(factor, hn::Sub(to, from)));
  return hn::Trunc(hn::Min(hn::Max(value, set(0)), set(255)));
}

// Products and sum stay below 2^24: nothing is rounded before the division.
HWY_INLINE V luma_of(V r, V g, V b) {
  const V sum = hn::Add(hn::Add(hn::Mul(r, set(19595)), hn::Mul(g, set(38470))), hn::Add(hn::Mul(b, set(7471)), set(32768)));
  return hn::Trunc(hn::Mul(sum, set(1.0f / 65536)));
}

// Pillow's way there and back through HSV bytes. Its mixture of float and double is not repeated: for each of the 2^24 colours these
// operations in float give the same bytes (tests/image/kernels_test.cpp goes through all of them).
HWY_INLINE void turn_hue(V& r, V& g, V& b, V shift) {
  const V one = set(1), half = set(0.5f), turn = set(256), unit = set(1.0f / 255);
  const V high = hn::Max(r, hn::Max(g, b)), low = hn::Min(r, hn::Min(g, b)), range = hn::Sub(high, low);
  const V below_high = hn::Sub(hn::Add(hn::Add(high, high), low), hn::Add(r, hn::Add(g, b)));  // of the channel in the middle
  const V fraction = hn::Div(below_high, range);
  const auto red = hn::Eq(r, high), green = hn::Eq(g, high);
  const V before = hn::IfThenElse(red, b, hn::IfThenElse(green, r, g));
  const V corner = hn::IfThenElse(red, set(0), hn::IfThenElse(green, set(2), set(4)));
  const V sixths = hn::IfThenElse(hn::Eq(before, low), hn::Sub(hn::Add(corner, one), fraction), hn::Add(hn::Sub(corner, one), fraction));
  const V turns = hn::Div(sixths, set(6));
  const V positive = hn::IfThenElse(hn::Lt(turns, set(0)), hn::Add(one, turns), turns);
  const V saturation = hn::Trunc(hn::Mul(hn::Div(range, high), set(255)));  // not a number where all is black

  V hue = hn::Add(hn::Trunc(hn::Mul(positive, set(255))), shift);
  hue = hn::IfThenElse(hn::Lt(hue, set(0)), hn::Add(hue, turn), hn::IfThenElse(hn::Ge(hue, turn), hn::Sub(hue, turn), hue));
  const V scaled = hn::Mul(hue, set(6)), sector = hn::Trunc(hn::Mul(hn::Add(scaled, half), unit));  // 6, like 0, has no fraction
  const V into = hn::Mul(hn::Sub(scaled, hn::Mul(sector, set(255))), unit);
  const auto odd = hn::Eq(hn::Sub(sector, hn::Mul(set(2), hn::Trunc(hn::Mul(sector, half)))), one);
  const V share = hn::Mul(saturation, unit);
  const V least = hn::Trunc(hn::Add(hn::Mul(high, hn::Sub(one, share)), half));
  const V middle = hn::Trunc(hn::Add(hn::Mul(high, hn::Sub(one, hn::Mul(share, hn::IfThenElse(odd, into, hn::Sub(one, into))))), half));

  const auto coloured = hn::Gt(saturation, set(0));
  const V from_red = hn::Abs(hn::Sub(sector, set(2.5f))), from_green = hn::Abs(hn::Sub(sector, set(1.5f))),
          from_blue = hn::Abs(hn::Sub(sector, set(3.5f)));
  const auto placed = [&](V near, V far, V distance) {
    return hn::IfThenElse(hn::Lt(distance, one), near, hn::IfThenElse(hn::Lt(distance, set(2)), middle, far));
  };
  r = hn::IfThenElse(coloured, placed(least, high, from_red), high);
  g = hn::IfThenElse(coloured, placed(high, least, from_green), high);
  b = hn::IfThenElse(coloured, placed(high, least, from_blue), high);
}

void act(const ColourOperation& operation, size_t n, Tile& tile) {
  const D d;
  const V amount = set(operation.amount), constant = set(operation.constant);
  switch (operation.kind) {
    case ColourOperation::Kind::kSaturation:
      return each_vector(n, [&](size_t i) HWY_ATTR {
        const V r = hn::Load(d, tile.r + i), g = hn::Load(d, tile.g + i), b = hn::Load(d, tile.b + i), grey = luma_of(r, g, b);
        hn::Store(blended(grey, r, amount), d, tile.r + i);
        hn::Store(blended(grey, g, amount), d, tile.g + i);
        hn::Store(blended(grey, b, amount), d, tile.b + i);
      });
    case ColourOperation::Kind::kHue:
      return each_vector(n, [&](size_t i) HWY_ATTR {
        V r = hn::Load(d, tile.r + i), g = hn::Load(d, tile.g + i), b = hn::Load(d, tile.b + i);
        turn_hue(r, g, b, amount);
        hn::Store(r, d, tile.r + i);
        hn::Store(g, d, tile.g + i);
        hn::Store(b, d, tile.b + i);
      });
    case ColourOperation::Kind::kGrayscale:
      return each_vector(n, [&](size_t i) HWY_ATTR {
        const V grey = luma_of(hn::Load(d, tile.r + i), hn::Load(d, tile.g + i), hn::Load(d, tile.b + i));
        hn::Store(grey, d, tile.r + i);
        hn::Store(grey, d, tile.g + i);
        hn::Store(grey, d, tile.b + i);
      });
    default:
      return each_vector(n, [&](size_t i) HWY_ATTR {
        for (float* plane : {tile.r, tile.g, tile.b}) hn::Store(blended(constant, hn::Load(d, plane + i), amount), d, plane + i);
      });
  }
}

void pass_colours(uint8_t* red, uint8_t* green, uint8_t* blue, size_t count, const ColourOperation* operations, size_t operation_count) {
  const D d;
  Tile tile;
  for (size_t begin = 0; begin < count; begin += kTile) {
    const size_t n = std::min(kTile, count - begin);
    uint8_t *r = red + begin, *g = green + begin, *b = blue + begin;
    each_vector(n, [&](size_t i) HWY_ATTR {
      hn::Store(load(r + i), d, tile.r + i);
      hn::Store(load(g + i), d, tile.g + i);
      hn::Store(load(b + i), d, tile.b + i);
    });
    for (size_t k = 0; k < operation_count; ++k) act(operations[k], n, tile);
    each_vector(n, [&](size_t i) HWY_ATTR {
      store(hn::Load(d, tile.r + i), r + i);
      store(hn::Load(d, tile.g + i), g + i);
      store(hn::Load(d, tile.b + i), b + i);
    });
  }
}

void pass_grey(uint8_t* pixels, size_t count, const ColourOperation* operations, size_t operation_count) {
  each_vector(count, [=](size_t i) HWY_ATTR {
    V v = load(pixels + i);
    for (size_t k = 0; k < operation_count; ++k) v = blended(set(operations[k].constant), v, set(operations[k].amount));
    store(v, pixels + i);
  });
}

// The sum of what body(i) returns for the vectors of pixels i, ..., those from n on left out.
template <class Body>
HWY_INLINE uint64_t sum_of(size_t n, const Body& body) {
  const D d;
  uint64_t total = 0;
  for (size_t begin = 0; begin < n; begin += kBlock) {
    const size_t count = std::min(kBlock, n - begin);
    V sum = hn::Zero(d);
    each_vector(count, [&](size_t i) HWY_ATTR { sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, count - i), body(begin + i))); });
    total += static_cast<uint64_t>(hn::GetLane(hn::SumOfLanes(d, sum)));
  }
  return total;
}

uint64_t sum_luma(const uint8_t* r, const uint8_t* g, const uint8_t* b, size_t n) {
  return sum_of(n, [=](size_t i) HWY_ATTR { return luma_of(load(r + i), load(g + i), load(b + i)); });
}

uint64_t sum_bytes(const uint8_t* pixels, size_t n) {
  return sum_of(n, [=](size_t i) HWY_ATTR { return load(pixels + i); });
}

}  // namespace
}  // namespace debias::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace debias {

HWY_EXPORT(pass_colours);
HWY_EXPORT(pass_grey);
HWY_EXPORT(sum_luma);
HWY_EXPORT(sum_bytes);

void colour_pass(uint8_t* r, uint8_t* g, uint8_t* b, size_t n, std::span<const ColourOperation> operations) {
  HWY_DYNAMIC_DISPATCH(pass_colours)(r, g, b, n, operations.data(), operations.size());
}
void grey_pass(uint8_t* pixels, size_t n, std::span<const ColourOperation> operations) {
  HWY_DYNAMIC_DISPATCH(pass_grey)(pixels, n, operations.data(), operations.size());
}
uint64_t luma_sum(const uint8_t* r, const uint8_t* g, const uint8_t* b, size_t n) { return HWY_DYNAMIC_DISPATCH(sum_luma)(r, g, b, n); }
uint64_t byte_sum(const uint8_t* pixels, size_t n) { return HWY_DYNAMIC_DISPATCH(sum_bytes)(pixels, n); }

}  // namespace debias
#endif

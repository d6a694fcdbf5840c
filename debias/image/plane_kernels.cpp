#include "debias/image/pixel_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "debias/image/plane_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace debias::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<uint8_t, 16>;
using V = hn::Vec<D>;

// Calls vector(i) for stretches of as many pixels as a vector has, which together are 0..n-1; the last may overlap the one before it.
// Where n is less than one vector, calls single(i) for each instead.
template <class Vector, class Single>
HWY_INLINE void each_stretch(size_t n, const Vector& vector, const Single& single) {
  const size_t lanes = hn::Lanes(D());
  if (n < lanes) {
    for (size_t i = 0; i < n; ++i) single(i);
    return;
  }
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) vector(i);
  if (i < n) vector(n - lanes);
}

void split(const uint8_t* pixels, size_t n, uint8_t* r, uint8_t* g, uint8_t* b) {
  const auto vector = [=](size_t i) HWY_ATTR {
    V red, green, blue;
    hn::LoadInterleaved3(D(), pixels + 3 * i, red, green, blue);
    hn::StoreU(red, D(), r + i);
    hn::StoreU(green, D(), g + i);
    hn::StoreU(blue, D(), b + i);
  };
  each_stretch(n, vector, [=](size_t i) {
    r[i] = pixels[3 * i];
    g[i] = pixels[3 * i + 1];
    b[i] = pixels[3 * i + 2];
  });
}

void join(const uint8_t* r, const uint8_t* g, const uint8_t* b, size_t n, uint8_t* pixels) {
  const auto vector = [=](size_t i) HWY_ATTR {
    hn::StoreInterleaved3(hn::LoadU(D(), r + i), hn::LoadU(D(), g + i), hn::LoadU(D(), b + i), D(), pixels + 3 * i);
  };
  each_stretch(n, vector, [=](size_t i) {
    pixels[3 * i] = r[i];
    pixels[3 * i + 1] = g[i];
    pixels[3 * i + 2] = b[i];
  });
}

HWY_INLINE V backwards(V v) {
#if HWY_TARGET == HWY_SCALAR
  return v;
#else
  HWY_ALIGN static constexpr uint8_t kOrder[16] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  return hn::TableLookupBytes(v, hn::Load(D(), kOrder));
#endif
}

void mirror(const uint8_t* in, int height, int width, uint8_t* out) {
  const size_t n = width, lanes = hn::Lanes(D());
  for (int y = 0; y < height; ++y, in += n, out += n) {
    const auto vector = [=](size_t i) HWY_ATTR { hn::StoreU(backwards(hn::LoadU(D(), in + n - lanes - i)), D(), out + i); };
    each_stretch(n, vector, [=](size_t i) { out[i] = in[n - 1 - i]; });
  }
}

}  // namespace
}  // namespace debias::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace debias {

HWY_EXPORT(split);
HWY_EXPORT(join);
HWY_EXPORT(mirror);

void split_channels(const uint8_t* pixels, size_t n, uint8_t* r, uint8_t* g, uint8_t* b) {
  HWY_DYNAMIC_DISPATCH(split)(pixels, n, r, g, b);
}
void join_channels(const uint8_t* r, const uint8_t* g, const uint8_t* b, size_t n, uint8_t* pixels) {
  HWY_DYNAMIC_DISPATCH(join)(r, g, b, n, pixels);
}
void mirror_rows(const uint8_t* in, int height, int width, uint8_t* out) { HWY_DYNAMIC_DISPATCH(mirror)(in, height, width, out); }

}  // namespace debias
#endif

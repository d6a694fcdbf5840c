#include "debias/image/pixel_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "debias/image/blur_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace debias::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<uint32_t, 16>;
using DInt = hn::RebindToSigned<D>;
using V = hn::Vec<D>;

template <class T>
HWY_INLINE V load(const T* from) {
  return hn::PromoteTo(D(), hn::LoadU(hn::Rebind<T, D>(), from));
}

template <int kShift, class T>
HWY_INLINE void store(V sum, T* to) {
  const hn::Rebind<T, D> d;
  hn::StoreU(hn::DemoteTo(d, hn::BitCast(DInt(), hn::ShiftRight<kShift>(sum))), d, to);
}

void make_rows(const uint8_t* in, size_t stride, int height, int width, const uint32_t* weights, int radius, uint16_t* out) {
  const auto lanes = static_cast<int>(hn::Lanes(D()));
  for (int y = 0; y < height; ++y, in += stride, out += width) {
    for (int x = 0; x < width; x += lanes) {
      V sum = hn::Add(hn::Mul(load(in + x), hn::Set(D(), weights[0])), hn::Set(D(), 128));
      for (int k = 1; k <= radius; ++k) {
        sum = hn::Add(sum, hn::Mul(hn::Add(load(in + x + k), load(in + x - k)), hn::Set(D(), weights[k])));
      }
      store<8>(sum, out + x);
    }
  }
}

// Sums of 8.24 bits: at most 255 * 2^24 + 2^23, below 2^32.
void make_columns(const uint16_t* const* rows, int height, int width, const uint32_t* weights, int radius, uint8_t* out) {
  const auto lanes = static_cast<int>(hn::Lanes(D()));
  for (int y = 0; y < height; ++y, ++rows, out += width) {
    for (int x = 0; x < width; x += lanes) {
      V sum = hn::Add(hn::Mul(load(rows[radius] + x), hn::Set(D(), weights[0])), hn::Set(D(), 1u << 23));
      for (int k = 1; k <= radius; ++k) {
        sum = hn::Add(sum, hn::Mul(hn::Add(load(rows[radius - k] + x), load(rows[radius + k] + x)), hn::Set(D(), weights[k])));
      }
      store<24>(sum, out + x);
    }
  }
}

}  // namespace
}  // namespace debias::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace debias {

HWY_EXPORT(make_rows);
HWY_EXPORT(make_columns);

void blur_rows(const uint8_t* in, size_t stride, int height, int width, const uint32_t* weights, int radius, uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(make_rows)(in, stride, height, width, weights, radius, out);
}
void blur_columns(const uint16_t* const* rows, int height, int width, const uint32_t* weights, int radius, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(make_columns)(rows, height, width, weights, radius, out);
}

}  // namespace debias
#endif

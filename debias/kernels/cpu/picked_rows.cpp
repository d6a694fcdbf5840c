#include "debias/kernels/cpu/picked_rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "debias/kernels/cpu/picked_rows.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h, as Highway asks.
#include <hwy/cache_control.h>

HWY_BEFORE_NAMESPACE();
namespace debias::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kTogether = 4;  // rows: each vector of f, or of the sum, is loaded once for them
constexpr int64_t kAhead = 8;     // rows from the first look at one to its use
constexpr int64_t kLine = 16;     // floats of a cache line

HWY_INLINE const float* row(const PickedRows& picked, int64_t e) {
  return picked.rows + int64_t{picked.ids[picked.places[e]]} * picked.dim;
}

HWY_INLINE void look_ahead(const PickedRows& picked, int64_t e) {
  for (int64_t ahead = e + kAhead; ahead < std::min(e + kAhead + kTogether, picked.count); ++ahead) {
    const float* next = row(picked, ahead);
    for (int64_t i = 0; i < picked.dim; i += kLine) hwy::Prefetch(next + i);
  }
}

HWY_INLINE float dot(const float* a, const float* f, int64_t dim) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= dim; i += lanes) sum = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, f + i), sum);
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < dim; ++i) total += a[i] * f[i];
  return total;
}

void DotPickedRows(const PickedRows& picked, const float* f, float scale, float* out) {
  const D d;
  const int64_t dim = picked.dim;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t e = 0;
  for (; e + kTogether <= picked.count; e += kTogether) {
    look_ahead(picked, e);
    const float *a0 = row(picked, e), *a1 = row(picked, e + 1), *a2 = row(picked, e + 2), *a3 = row(picked, e + 3);
    V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    int64_t i = 0;
    for (; i + lanes <= dim; i += lanes) {
      const V v = hn::LoadU(d, f + i);
      s0 = hn::MulAdd(hn::LoadU(d, a0 + i), v, s0);
      s1 = hn::MulAdd(hn::LoadU(d, a1 + i), v, s1);
      s2 = hn::MulAdd(hn::LoadU(d, a2 + i), v, s2);
      s3 = hn::MulAdd(hn::LoadU(d, a3 + i), v, s3);
    }
    float sums[kTogether] = {hn::GetLane(hn::SumOfLanes(d, s0)), hn::GetLane(hn::SumOfLanes(d, s1)), hn::GetLane(hn::SumOfLanes(d, s2)),
                             hn::GetLane(hn::SumOfLanes(d, s3))};
    for (; i < dim; ++i) {
      sums[0] += a0[i] * f[i];
      sums[1] += a1[i] * f[i];
      sums[2] += a2[i] * f[i];
      sums[3] += a3[i] * f[i];
    }
    for (int64_t r = 0; r < kTogether; ++r) out[picked.places[e + r]] = scale * sums[r];
  }
  for (; e < picked.count; ++e) out[picked.places[e]] = scale * dot(row(picked, e), f, dim);
}

void AddPickedRows(const PickedRows& picked, const float* weights, float* sum) {
  const D d;
  const int64_t dim = picked.dim;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t e = 0;
  for (; e + kTogether <= picked.count; e += kTogether) {
    look_ahead(picked, e);
    const int32_t* place = picked.places + e;
    const float *a0 = row(picked, e), *a1 = row(picked, e + 1), *a2 = row(picked, e + 2), *a3 = row(picked, e + 3);
    const float w0 = weights[place[0]], w1 = weights[place[1]], w2 = weights[place[2]], w3 = weights[place[3]];
    const V v0 = hn::Set(d, w0), v1 = hn::Set(d, w1), v2 = hn::Set(d, w2), v3 = hn::Set(d, w3);
    int64_t i = 0;
    for (; i + lanes <= dim; i += lanes) {
      V own = hn::MulAdd(v0, hn::LoadU(d, a0 + i), hn::LoadU(d, sum + i));
      V other = hn::Mul(v1, hn::LoadU(d, a1 + i));
      own = hn::MulAdd(v2, hn::LoadU(d, a2 + i), own);
      other = hn::MulAdd(v3, hn::LoadU(d, a3 + i), other);
      hn::StoreU(hn::Add(own, other), d, sum + i);
    }
    for (; i < dim; ++i) sum[i] += w0 * a0[i] + w1 * a1[i] + (w2 * a2[i] + w3 * a3[i]);
  }
  for (; e < picked.count; ++e) {
    const float* a = row(picked, e);
    const float w = weights[picked.places[e]];
    for (int64_t i = 0; i < dim; ++i) sum[i] += w * a[i];
  }
}

}  // namespace
}  // namespace debias::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace debias::kernels::cpu {

HWY_EXPORT(DotPickedRows);
HWY_EXPORT(AddPickedRows);

void dot_picked_rows(const PickedRows& picked, const float* f, float scale, float* out) {
  HWY_DYNAMIC_DISPATCH(DotPickedRows)(picked, f, scale, out);
}
void add_picked_rows(const PickedRows& picked, const float* weights, float* sum) {
  HWY_DYNAMIC_DISPATCH(AddPickedRows)(picked, weights, sum);
}

}  // namespace debias::kernels::cpu
#endif

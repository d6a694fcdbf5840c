#include "debias/kernels/softmax_residuals.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "debias/kernels/cpu/softmax_residuals.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h, as Highway asks.
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace debias::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using Labels = hn::Rebind<int32_t, D>;

template <class Tag>
HWY_INLINE hn::Vec<Tag> loaded(Tag tag, const hn::TFromD<Tag>* from, int64_t count) {
  if (count == static_cast<int64_t>(hn::Lanes(tag))) return hn::LoadU(tag, from);
  HWY_ALIGN hn::TFromD<Tag> filled[hn::MaxLanes(Tag())] = {};
  std::copy(from, from + count, filled);
  return hn::Load(tag, filled);
}

HWY_INLINE void store(V v, float* to, int64_t count) {
  if (count == static_cast<int64_t>(hn::Lanes(D()))) return hn::StoreU(v, D(), to);
  HWY_ALIGN float filled[hn::MaxLanes(D())];
  hn::Store(v, D(), filled);
  std::copy(filled, filled + count, to);
}

double sum_of(const float* terms, int64_t count) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  auto sum = hn::Zero(wide);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) sum = hn::Add(sum, hn::PromoteTo(wide, hn::LoadU(half, terms + i)));
  double total = hn::GetLane(hn::SumOfLanes(wide, sum));
  for (; i < count; ++i) total += terms[i];
  return total;
}

// The losses of `count` rows of one head, from row `first` on, whose logits become residuals.
HWY_INLINE V losses_of(const HeadLogits& logits, int64_t head, int64_t first, int64_t count) {
  const D d;
  const Labels l;
  float* x = logits.x + head * logits.classes * logits.rows + first;
  const auto own = loaded(l, logits.labels + first, count);
  const V w = loaded(d, logits.weights + head * logits.rows + first, count);
  V largest = loaded(d, x, count);
  for (int64_t c = 1; c < logits.classes; ++c) largest = hn::Max(largest, loaded(d, x + c * logits.rows, count));
  V sum = hn::Zero(d), target = hn::Zero(d);
  for (int64_t c = 0; c < logits.classes; ++c) {
    const V shifted = hn::Sub(loaded(d, x + c * logits.rows, count), largest);
    const V e = hn::IfThenElse(hn::Eq(shifted, shifted), hn::Exp(d, shifted), shifted);  // Exp of NaN is 0
    target = hn::IfThenElse(hn::RebindMask(d, hn::Eq(own, hn::Set(l, static_cast<int32_t>(c)))), shifted, target);
    sum = hn::Add(sum, e);
    store(e, x + c * logits.rows, count);
  }
  const V scale = hn::Div(w, sum);
  for (int64_t c = 0; c < logits.classes; ++c) {
    const auto is_own = hn::RebindMask(d, hn::Eq(own, hn::Set(l, static_cast<int32_t>(c))));
    const V share = hn::Mul(loaded(d, x + c * logits.rows, count), scale);
    store(hn::Sub(share, hn::IfThenElseZero(is_own, w)), x + c * logits.rows, count);
  }
  return hn::Mul(w, hn::Sub(hn::Log(d, sum), target));
}

void AddSoftmaxResiduals(const HeadLogits& logits, double* losses, double* residuals) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  HWY_ALIGN float terms[hn::MaxLanes(D())];
  for (int64_t head = 0; head < logits.heads; ++head) {
    for (int64_t first = 0; first < logits.rows; first += lanes) {
      const int64_t count = std::min(lanes, logits.rows - first);
      hn::Store(losses_of(logits, head, first, count), D(), terms);
      losses[head] += sum_of(terms, count);
    }
    for (int64_t c = 0; c < logits.classes; ++c) {
      const int64_t place = head * logits.classes + c;
      residuals[place] += sum_of(logits.x + place * logits.rows, logits.rows);
    }
  }
}

}  // namespace
}  // namespace debias::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace debias::kernels {

HWY_EXPORT(AddSoftmaxResiduals);

void add_softmax_residuals(const HeadLogits& logits, double* losses, double* residuals) {
  HWY_DYNAMIC_DISPATCH(AddSoftmaxResiduals)(logits, losses, residuals);
}

}  // namespace debias::kernels
#endif

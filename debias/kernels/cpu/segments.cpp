#include "debias/kernels/cpu/segments.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "debias/kernels/cpu/segments.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h, as Highway asks.
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace debias::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;

// Calls body(index, mask, count) for all vectors of a stretch; the last may be partly filled.
template <class Body>
HWY_INLINE void each_vector(int64_t n, const Body& body) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, hn::FirstN(d, static_cast<size_t>(lanes)), lanes);
  if (i < n) body(i, hn::FirstN(d, static_cast<size_t>(n - i)), n - i);
}

HWY_INLINE V load(const float* from, int64_t lanes_used) {
  const D d;
  if (lanes_used == static_cast<int64_t>(hn::Lanes(d))) return hn::LoadU(d, from);
  HWY_ALIGN float filled[hn::MaxLanes(D())] = {};
  std::copy(from, from + lanes_used, filled);
  return hn::Load(d, filled);
}

HWY_INLINE void store(V v, float* to, int64_t lanes_used) {
  const D d;
  if (lanes_used == static_cast<int64_t>(hn::Lanes(d))) return hn::StoreU(v, d, to);
  HWY_ALIGN float filled[hn::MaxLanes(D())];
  hn::Store(v, d, filled);
  std::copy(filled, filled + lanes_used, to);
}

HWY_INLINE float total(V v) { return hn::GetLane(hn::SumOfLanes(D(), v)); }
HWY_INLINE V exp_of(V x) { return hn::Exp(D(), x); }

float ExpSum(const float* s, int64_t n, float k, float shift, float* columns) {
  const D d;
  const V vk = hn::Set(d, k), vshift = hn::Set(d, shift);
  V sum = hn::Zero(d);
  each_vector(n, [&](int64_t i, M mask, int64_t count) {
    const V e = hn::IfThenElseZero(mask, exp_of(hn::MulSub(vk, load(s + i, count), vshift)));
    sum = hn::Add(sum, e);
    if (columns != nullptr) store(hn::Add(load(columns + i, count), e), columns + i, count);
  });
  return total(sum);
}

float ExpSumShifted(const float* s, int64_t n, float k, float shift, const float* shifts, float* columns) {
  const D d;
  const V vk = hn::Set(d, k), vshift = hn::Set(d, shift);
  V sum = hn::Zero(d);
  each_vector(n, [&](int64_t i, M mask, int64_t count) {
    const V score = load(s + i, count);
    sum = hn::Add(sum, hn::IfThenElseZero(mask, exp_of(hn::MulSub(vk, score, vshift))));
    if (columns == nullptr) return;
    const V e = exp_of(hn::MulSub(vk, score, load(shifts + i, count)));
    store(hn::Add(load(columns + i, count), e), columns + i, count);
  });
  return total(sum);
}

void Exponentials(float* s, int64_t n, float k, float shift) {
  const D d;
  const V vk = hn::Set(d, k), vshift = hn::Set(d, shift);
  each_vector(n, [&](int64_t i, M, int64_t count) { store(exp_of(hn::MulSub(vk, load(s + i, count), vshift)), s + i, count); });
}

float Sum(const float* terms, int64_t n, float* columns) {
  V sum = hn::Zero(D());
  each_vector(n, [&](int64_t i, M, int64_t count) {
    const V term = load(terms + i, count);  // zero beyond the last
    sum = hn::Add(sum, term);
    if (columns != nullptr) store(hn::Add(load(columns + i, count), term), columns + i, count);
  });
  return total(sum);
}

float Largest(const float* s, int64_t n, float k, float* columns) {
  const D d;
  const V vk = hn::Set(d, k), none = hn::Set(d, -std::numeric_limits<float>::infinity());
  V most = none;
  each_vector(n, [&](int64_t i, M mask, int64_t count) {
    const V x = hn::Mul(vk, load(s + i, count));
    most = hn::Max(most, hn::IfThenElse(mask, x, none));
    if (columns != nullptr) store(hn::Max(load(columns + i, count), x), columns + i, count);
  });
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

void AddExpWeights(const float* s, int64_t n, float k, float shift, float a, const float* as, float* w) {
  const D d;
  const V vk = hn::Set(d, k), vshift = hn::Set(d, shift), va = hn::Set(d, a);
  each_vector(n, [&](int64_t i, M, int64_t count) {
    const V e = exp_of(hn::MulSub(vk, load(s + i, count), vshift));
    store(hn::MulAdd(e, hn::Add(va, load(as + i, count)), load(w + i, count)), w + i, count);
  });
}

void AddWeights(const float* e, int64_t n, float a, const float* as, float* w) {
  const V va = hn::Set(D(), a);
  each_vector(n, [&](int64_t i, M, int64_t count) {
    store(hn::MulAdd(load(e + i, count), hn::Add(va, load(as + i, count)), load(w + i, count)), w + i, count);
  });
}

void AddExpWeightsShifted(const float* s, int64_t n, float k, float shift, const float* shifts, float a, const float* as, float* w) {
  const D d;
  const V vk = hn::Set(d, k), vshift = hn::Set(d, shift), va = hn::Set(d, a);
  each_vector(n, [&](int64_t i, M, int64_t count) {
    const V score = load(s + i, count);
    const V own = hn::MulAdd(va, exp_of(hn::MulSub(vk, score, vshift)), load(w + i, count));
    const V e = exp_of(hn::MulSub(vk, score, load(shifts + i, count)));
    store(hn::MulAdd(e, load(as + i, count), own), w + i, count);
  });
}

float WeightedExpSum(const float* s, int64_t n, float k, float shift, const float* weights) {
  const D d;
  const V vk = hn::Set(d, k), vshift = hn::Set(d, shift);
  V sum = hn::Zero(d);
  each_vector(n, [&](int64_t i, M mask, int64_t count) {
    const V e = hn::IfThenElseZero(mask, exp_of(hn::MulSub(vk, load(s + i, count), vshift)));
    sum = hn::MulAdd(load(weights + i, count), e, sum);
  });
  return total(sum);
}

void AddWeightedExps(const float* s, int64_t n, float k, float shift, float a, const float* weights, float* out) {
  const D d;
  const V vk = hn::Set(d, k), vshift = hn::Set(d, shift), va = hn::Set(d, a);
  each_vector(n, [&](int64_t i, M, int64_t count) {
    const V e = exp_of(hn::MulSub(vk, load(s + i, count), vshift));
    store(hn::MulAdd(hn::Mul(va, load(weights + i, count)), e, load(out + i, count)), out + i, count);
  });
}

struct Pair {
  V value, slope;
};

// y = x + epsilon: log(e^{-epsilon} + e^x) = max(x, -epsilon) + log(1 + e^{-|y|}), exact for large epsilon too.
HWY_INLINE Pair log_add(V x, V epsilon) {
  const D d;
  const V y = hn::Add(x, epsilon), one = hn::Set(d, 1.0f);
  const V e = exp_of(hn::Neg(hn::Abs(y))), inverse = hn::Div(one, hn::Add(one, e));
  const V value = hn::Add(hn::Max(x, hn::Neg(epsilon)), hn::Log1p(d, e));
  return {value, hn::IfThenElse(hn::Ge(y, hn::Zero(d)), inverse, hn::Mul(e, inverse))};
}

HWY_INLINE V log_add_slope(V x, V epsilon) {
  const D d;
  const V y = hn::Add(x, epsilon), one = hn::Set(d, 1.0f);
  const V e = exp_of(hn::Neg(hn::Abs(y))), inverse = hn::Div(one, hn::Add(one, e));
  return hn::IfThenElse(hn::Ge(y, hn::Zero(d)), inverse, hn::Mul(e, inverse));
}

LogAddSum LogAddRow(const float* s, int64_t n, LogAdd term, float c) {
  const D d;
  const V sign = hn::Set(d, term.sign), epsilon = hn::Set(d, term.epsilon), vc = hn::Set(d, c);
  V sum = hn::Zero(d), slope = hn::Zero(d);
  each_vector(n, [&](int64_t i, M mask, int64_t count) {
    const Pair pair = log_add(hn::MulAdd(sign, load(s + i, count), vc), epsilon);
    sum = hn::Add(sum, hn::IfThenElseZero(mask, pair.value));
    slope = hn::Add(slope, hn::IfThenElseZero(mask, pair.slope));
  });
  return {total(sum), total(slope)};
}

void AddLogAddWeights(const float* s, int64_t n, LogAdd term, float factor, float c, const float* cs, float u, const float* us, float* w) {
  const D d;
  const V sign = hn::Set(d, term.sign), epsilon = hn::Set(d, term.epsilon), vc = hn::Set(d, c), vu = hn::Set(d, u);
  const V vfactor = hn::Set(d, factor);
  each_vector(n, [&](int64_t i, M, int64_t count) {
    const V score = load(s + i, count);
    const V own = hn::Mul(vu, log_add_slope(hn::MulAdd(sign, score, vc), epsilon));
    const V other = hn::Mul(load(us + i, count), log_add_slope(hn::MulAdd(sign, score, load(cs + i, count)), epsilon));
    store(hn::MulAdd(vfactor, hn::Add(own, other), load(w + i, count)), w + i, count);
  });
}

void LogAddColumns(const float* s, int64_t n, LogAdd term, const float* cs, float* sums, float* slopes) {
  const D d;
  const V sign = hn::Set(d, term.sign), epsilon = hn::Set(d, term.epsilon);
  each_vector(n, [&](int64_t i, M, int64_t count) {
    const Pair pair = log_add(hn::MulAdd(sign, load(s + i, count), load(cs + i, count)), epsilon);
    store(hn::Add(load(sums + i, count), pair.value), sums + i, count);
    store(hn::Add(load(slopes + i, count), pair.slope), slopes + i, count);
  });
}

}  // namespace
}  // namespace debias::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace debias::kernels::cpu {

HWY_EXPORT(ExpSum);
HWY_EXPORT(ExpSumShifted);
HWY_EXPORT(Exponentials);
HWY_EXPORT(Sum);
HWY_EXPORT(Largest);
HWY_EXPORT(AddExpWeights);
HWY_EXPORT(AddWeights);
HWY_EXPORT(AddExpWeightsShifted);
HWY_EXPORT(WeightedExpSum);
HWY_EXPORT(AddWeightedExps);
HWY_EXPORT(LogAddRow);
HWY_EXPORT(AddLogAddWeights);
HWY_EXPORT(LogAddColumns);

float exp_sum(const float* s, int64_t n, float k, float shift, float* columns) {
  return HWY_DYNAMIC_DISPATCH(ExpSum)(s, n, k, shift, columns);
}
float exp_sum_shifted(const float* s, int64_t n, float k, float shift, const float* shifts, float* columns) {
  return HWY_DYNAMIC_DISPATCH(ExpSumShifted)(s, n, k, shift, shifts, columns);
}
void exponentials(float* s, int64_t n, float k, float shift) { HWY_DYNAMIC_DISPATCH(Exponentials)(s, n, k, shift); }
float sum(const float* terms, int64_t n, float* columns) { return HWY_DYNAMIC_DISPATCH(Sum)(terms, n, columns); }
float largest(const float* s, int64_t n, float k, float* columns) { return HWY_DYNAMIC_DISPATCH(Largest)(s, n, k, columns); }
float weighted_exp_sum(const float* s, int64_t n, float k, float shift, const float* weights) {
  return HWY_DYNAMIC_DISPATCH(WeightedExpSum)(s, n, k, shift, weights);
}
void add_weighted_exps(const float* s, int64_t n, float k, float shift, float a, const float* weights, float* out) {
  HWY_DYNAMIC_DISPATCH(AddWeightedExps)(s, n, k, shift, a, weights, out);
}
void add_exp_weights(const float* s, int64_t n, float k, float shift, float a, const float* as, float* w) {
  HWY_DYNAMIC_DISPATCH(AddExpWeights)(s, n, k, shift, a, as, w);
}
void add_weights(const float* e, int64_t n, float a, const float* as, float* w) { HWY_DYNAMIC_DISPATCH(AddWeights)(e, n, a, as, w); }
void add_exp_weights_shifted(const float* s, int64_t n, float k, float shift, const float* shifts, float a, const float* as, float* w) {
  HWY_DYNAMIC_DISPATCH(AddExpWeightsShifted)(s, n, k, shift, shifts, a, as, w);
}
LogAddSum log_add_sum(const float* s, int64_t n, LogAdd term, float c) { return HWY_DYNAMIC_DISPATCH(LogAddRow)(s, n, term, c); }
void add_log_add_weights(const float* s, int64_t n, LogAdd term, float factor, float c, const float* cs, float u, const float* us,
                         float* w) {
  HWY_DYNAMIC_DISPATCH(AddLogAddWeights)(s, n, term, factor, c, cs, u, us, w);
}
void log_add_columns(const float* s, int64_t n, LogAdd term, const float* cs, float* sums, float* slopes) {
  HWY_DYNAMIC_DISPATCH(LogAddColumns)(s, n, term, cs, sums, slopes);
}

}  // namespace debias::kernels::cpu
#endif

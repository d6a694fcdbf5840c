#include "debias/kernels/cpu/norm_rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "debias/kernels/cpu/norm_rows.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace debias::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int kTogether = 4;  // vectors of channels: sums that do not wait for each other

HWY_INLINE V load_all(const float* from) { return hn::LoadU(D(), from); }
HWY_INLINE void store_all(V v, float* to) { hn::StoreU(v, D(), to); }

HWY_INLINE V load_all(const uint16_t* from) {
  const hn::Rebind<uint16_t, D> half;
  const hn::RebindToUnsigned<D> whole;
  return hn::BitCast(D(), hn::ShiftLeft<16>(hn::PromoteTo(whole, hn::LoadU(half, from))));
}

// To nearest, ties to even.
HWY_INLINE void store_all(V v, uint16_t* to) {
  const hn::Rebind<uint16_t, D> half;
  const hn::RebindToSigned<D> whole;
  const hn::RebindToUnsigned<D> positive;
  const auto bits = hn::BitCast(positive, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(positive, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(positive, 0x7fff))));
  const auto nan = hn::RebindMask(positive, hn::Ne(v, v));
  hn::StoreU(hn::DemoteTo(half, hn::BitCast(whole, hn::IfThenElse(nan, hn::Set(positive, 0x7fc0), rounded))), half, to);
}

template <class T>
HWY_INLINE V load(const T* from, int64_t count) {
  if (count == static_cast<int64_t>(hn::Lanes(D()))) return load_all(from);
  HWY_ALIGN T filled[hn::MaxLanes(D())] = {};
  std::copy(from, from + count, filled);
  return load_all(filled);
}

template <class T>
HWY_INLINE void store(V v, T* to, int64_t count) {
  if (count == static_cast<int64_t>(hn::Lanes(D()))) return store_all(v, to);
  HWY_ALIGN T filled[hn::MaxLanes(D())];
  store_all(v, filled);
  std::copy(filled, filled + count, to);
}

// N vectors from channel `begin` on, the last of them with `count` values.
template <int N>
struct Channels {
  int64_t begin, count;

  static int64_t at(int v) { return v * static_cast<int64_t>(hn::Lanes(D())); }
  HWY_INLINE void read(const float* values, V (&out)[N]) const {
    for (int v = 0; v < N; ++v) out[v] = load(values + begin + at(v), count);
  }
  HWY_INLINE void write(const V (&in)[N], float* values) const {
    for (int v = 0; v < N; ++v) store(in[v], values + begin + at(v), count);
  }
  HWY_INLINE static void zero(V (&out)[N]) {
    for (int v = 0; v < N; ++v) out[v] = hn::Zero(D());
  }
};

template <class Work>
HWY_INLINE void each_channels(int64_t channels, const Work& work) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  int64_t c = 0;
  for (; c + kTogether * lanes <= channels; c += kTogether * lanes) work.run(Channels<kTogether>{c, lanes});
  for (; c < channels; c += lanes) work.run(Channels<1>{c, std::min(lanes, channels - c)});
}

template <class T>
struct Moments {
  int64_t rows, stride;
  const T* x;
  float *mean, *m2;

  template <int N>
  HWY_INLINE void run(const Channels<N>& channels) const {
    V sums[N], squares[N];
    channels.zero(sums);
    channels.zero(squares);
    const T* row = x + channels.begin;
    for (int64_t r = 0; r < rows; ++r, row += stride) {
      for (int v = 0; v < N; ++v) sums[v] = hn::Add(sums[v], load(row + channels.at(v), channels.count));
    }
    for (int v = 0; v < N; ++v) sums[v] = hn::Mul(sums[v], hn::Set(D(), 1.0f / static_cast<float>(rows)));
    row = x + channels.begin;
    for (int64_t r = 0; r < rows; ++r, row += stride) {
      for (int v = 0; v < N; ++v) {
        const V deviation = hn::Sub(load(row + channels.at(v), channels.count), sums[v]);
        squares[v] = hn::MulAdd(deviation, deviation, squares[v]);
      }
    }
    channels.write(sums, mean);
    channels.write(squares, m2);
  }
};

template <class T, bool kAdds, bool kRelu>
struct Normalise {
  int64_t rows, stride;
  const T* x;
  NormFactors factors;
  const T* residual;
  T* y;

  template <int N>
  HWY_INLINE void run(const Channels<N>& channels) const {
    V mean[N], scale[N], shift[N];
    channels.read(factors.mean, mean);
    channels.read(factors.scale, scale);
    channels.read(factors.shift, shift);
    for (int64_t r = 0, row = channels.begin; r < rows; ++r, row += stride) {
      for (int v = 0; v < N; ++v) {
        const int64_t at = row + channels.at(v);
        V value = hn::MulAdd(hn::Sub(load(x + at, channels.count), mean[v]), scale[v], shift[v]);
        if (kAdds) value = hn::Add(value, load(residual + at, channels.count));
        if (kRelu) value = hn::IfThenZeroElse(hn::Lt(value, hn::Zero(D())), value);
        store(value, y + at, channels.count);
      }
    }
  }
};

// The gradient of what passed, of `count` values at `at`, where x is `deviation` from its mean.
template <class T, Passed kPassed, bool kJoins = false>
HWY_INLINE V passed_gradient(const T* dy, const T* other, const T* y, int64_t at, int64_t count, V deviation, V scale, V shift) {
  V gradient = load(dy + at, count);
  if (kJoins) gradient = hn::Add(gradient, load(other + at, count));
  if (kPassed == Passed::kAll) return gradient;
  const V output = kPassed == Passed::kByOutput ? load(y + at, count) : hn::MulAdd(deviation, scale, shift);
  return hn::IfThenZeroElse(hn::Le(output, hn::Zero(D())), gradient);
}

template <class T, Passed kPassed, bool kKeeps, bool kJoins>
struct GradientSums {
  int64_t rows, stride;
  const T *dy, *other, *y, *x;
  NormFactors factors;
  T* kept;
  float *sum, *dot;

  template <int N>
  HWY_INLINE void run(const Channels<N>& channels) const {
    V mean[N], scale[N], shift[N], sums[N], dots[N];
    channels.read(factors.mean, mean);
    channels.read(factors.scale, scale);
    channels.read(factors.shift, shift);
    channels.zero(sums);
    channels.zero(dots);
    for (int64_t r = 0, row = channels.begin; r < rows; ++r, row += stride) {
      for (int v = 0; v < N; ++v) {
        const int64_t at = row + channels.at(v);
        const V deviation = hn::Sub(load(x + at, channels.count), mean[v]);
        const V gradient = passed_gradient<T, kPassed, kJoins>(dy, other, y, at, channels.count, deviation, scale[v], shift[v]);
        sums[v] = hn::Add(sums[v], gradient);
        dots[v] = hn::MulAdd(gradient, deviation, dots[v]);
        if (kKeeps) store(gradient, kept + at, channels.count);
      }
    }
    channels.write(sums, sum);
    channels.write(dots, dot);
  }
};

template <class T, Passed kPassed>
struct Gradient {
  int64_t rows, stride;
  const T *dy, *y, *x;
  NormFactors factors;
  GradientFactors gradient;
  T* dx;

  template <int N>
  HWY_INLINE void run(const Channels<N>& channels) const {
    V mean[N], scale[N], shift[N], a[N], b[N], c[N];
    channels.read(factors.mean, mean);
    channels.read(factors.scale, scale);
    channels.read(factors.shift, shift);
    channels.read(gradient.a, a);
    channels.read(gradient.b, b);
    channels.read(gradient.c, c);
    for (int64_t r = 0, row = channels.begin; r < rows; ++r, row += stride) {
      for (int v = 0; v < N; ++v) {
        const int64_t at = row + channels.at(v);
        const V deviation = hn::Sub(load(x + at, channels.count), mean[v]);
        const V g = passed_gradient<T, kPassed>(dy, dy, y, at, channels.count, deviation, scale[v], shift[v]);
        store(hn::MulAdd(a[v], g, hn::MulAdd(b[v], deviation, c[v])), dx + at, channels.count);
      }
    }
  }
};

template <class T>
void moments_as(const MapShape& shape, const void* x, float* mean, float* m2) {
  each_channels(shape.channels, Moments<T>{shape.rows, shape.channels, static_cast<const T*>(x), mean, m2});
}

void MomentsOfRows(const MapShape& shape, const void* x, float* mean, float* m2) {
  shape.bfloat16 ? moments_as<uint16_t>(shape, x, mean, m2) : moments_as<float>(shape, x, mean, m2);
}

template <class T, bool kAdds, bool kRelu>
void normalise_as(const MapShape& shape, const void* x, const NormFactors& factors, const void* residual, void* y) {
  each_channels(shape.channels, Normalise<T, kAdds, kRelu>{shape.rows, shape.channels, static_cast<const T*>(x), factors,
                                                           static_cast<const T*>(residual), static_cast<T*>(y)});
}

template <class T>
void normalise_typed(const MapShape& shape, const void* x, const NormFactors& factors, const void* residual, bool relu, void* y) {
  if (residual != nullptr) {
    relu ? normalise_as<T, true, true>(shape, x, factors, residual, y) : normalise_as<T, true, false>(shape, x, factors, residual, y);
  } else {
    relu ? normalise_as<T, false, true>(shape, x, factors, residual, y) : normalise_as<T, false, false>(shape, x, factors, residual, y);
  }
}

void NormaliseRows(const MapShape& shape, const void* x, const NormFactors& factors, const void* residual, bool relu, void* y) {
  shape.bfloat16 ? normalise_typed<uint16_t>(shape, x, factors, residual, relu, y)
                 : normalise_typed<float>(shape, x, factors, residual, relu, y);
}

template <class T, Passed kPassed>
void sums_as(const MapShape& shape, const GradientMaps& maps, const NormFactors& factors, void* kept, float* sum, float* dot) {
  const auto *dy = static_cast<const T*>(maps.dy), *other = static_cast<const T*>(maps.other), *y = static_cast<const T*>(maps.y);
  const auto* x = static_cast<const T*>(maps.x);
  auto* to = static_cast<T*>(kept);
  const int64_t rows = shape.rows, C = shape.channels;
  if (other != nullptr) {
    each_channels(C, GradientSums<T, kPassed, true, true>{rows, C, dy, other, y, x, factors, to, sum, dot});
  } else if (to != nullptr) {
    each_channels(C, GradientSums<T, kPassed, true, false>{rows, C, dy, other, y, x, factors, to, sum, dot});
  } else {
    each_channels(C, GradientSums<T, kPassed, false, false>{rows, C, dy, other, y, x, factors, to, sum, dot});
  }
}

template <class T>
void sums_typed(const MapShape& shape, Passed passed, const GradientMaps& maps, const NormFactors& factors, void* kept, float* sum,
                float* dot) {
  switch (passed) {
    case Passed::kAll:
      return sums_as<T, Passed::kAll>(shape, maps, factors, kept, sum, dot);
    case Passed::kByOutput:
      return sums_as<T, Passed::kByOutput>(shape, maps, factors, kept, sum, dot);
    case Passed::kByInput:
      return sums_as<T, Passed::kByInput>(shape, maps, factors, kept, sum, dot);
  }
}

void GradientSumsOfRows(const MapShape& shape, Passed passed, const GradientMaps& maps, const NormFactors& factors, void* kept, float* sum,
                        float* dot) {
  shape.bfloat16 ? sums_typed<uint16_t>(shape, passed, maps, factors, kept, sum, dot)
                 : sums_typed<float>(shape, passed, maps, factors, kept, sum, dot);
}

template <class T, Passed kPassed>
void gradient_as(const MapShape& shape, const GradientMaps& maps, const NormFactors& factors, const GradientFactors& gradient, void* dx) {
  each_channels(shape.channels,
                Gradient<T, kPassed>{shape.rows, shape.channels, static_cast<const T*>(maps.dy), static_cast<const T*>(maps.y),
                                     static_cast<const T*>(maps.x), factors, gradient, static_cast<T*>(dx)});
}

template <class T>
void gradient_typed(const MapShape& shape, Passed passed, const GradientMaps& maps, const NormFactors& factors,
                    const GradientFactors& gradient, void* dx) {
  switch (passed) {
    case Passed::kAll:
      return gradient_as<T, Passed::kAll>(shape, maps, factors, gradient, dx);
    case Passed::kByOutput:
      return gradient_as<T, Passed::kByOutput>(shape, maps, factors, gradient, dx);
    case Passed::kByInput:
      return gradient_as<T, Passed::kByInput>(shape, maps, factors, gradient, dx);
  }
}

void GradientOfRows(const MapShape& shape, Passed passed, const GradientMaps& maps, const NormFactors& factors,
                    const GradientFactors& gradient, void* dx) {
  shape.bfloat16 ? gradient_typed<uint16_t>(shape, passed, maps, factors, gradient, dx)
                 : gradient_typed<float>(shape, passed, maps, factors, gradient, dx);
}

}  // namespace
}  // namespace debias::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace debias::kernels::cpu {

HWY_EXPORT(MomentsOfRows);
HWY_EXPORT(NormaliseRows);
HWY_EXPORT(GradientSumsOfRows);
HWY_EXPORT(GradientOfRows);

void moments_of_rows(const MapShape& shape, const void* x, float* mean, float* m2) {
  HWY_DYNAMIC_DISPATCH(MomentsOfRows)(shape, x, mean, m2);
}
void normalise_rows(const MapShape& shape, const void* x, const NormFactors& factors, const void* residual, bool relu, void* y) {
  HWY_DYNAMIC_DISPATCH(NormaliseRows)(shape, x, factors, residual, relu, y);
}
void gradient_sums_of_rows(const MapShape& shape, Passed passed, const GradientMaps& maps, const NormFactors& factors, void* kept,
                           float* sum, float* dot) {
  HWY_DYNAMIC_DISPATCH(GradientSumsOfRows)(shape, passed, maps, factors, kept, sum, dot);
}
void gradient_of_rows(const MapShape& shape, Passed passed, const GradientMaps& maps, const NormFactors& factors,
                      const GradientFactors& gradient, void* dx) {
  HWY_DYNAMIC_DISPATCH(GradientOfRows)(shape, passed, maps, factors, gradient, dx);
}

}  // namespace debias::kernels::cpu
#endif

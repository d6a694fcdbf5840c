#include "debias/kernels/gram_products.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "debias/kernels/cpu/gram_products.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace debias::kernels::HWY_NAMESPACE {
namespace {

// One rounding an element where the processor multiplies and adds at once, as torch's own addition has; BLAS' axpy has two.
void scaled_sum(int64_t count, double weight, const double* values, double* out) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<double> tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  const auto w = hn::Set(tag, weight);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::MulAdd(w, hn::LoadU(tag, values + i), hn::LoadU(tag, out + i)), tag, out + i);
  if (i == count) return;
  HWY_ALIGN double rest[hn::MaxLanes(tag)] = {}, sums[hn::MaxLanes(tag)] = {};
  std::copy(values + i, values + count, rest);
  std::copy(out + i, out + count, sums);
  hn::Store(hn::MulAdd(w, hn::Load(tag, rest), hn::Load(tag, sums)), tag, sums);
  std::copy(sums, sums + (count - i), out + i);
}

}  // namespace
}  // namespace debias::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
extern "C" void dgemm(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k, const double* alpha,
                      const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
                      const int* ldc) __asm__("dgemm_");

namespace debias::kernels {

HWY_EXPORT(scaled_sum);

namespace {

constexpr double kOne = 1, kZero = 0;

}  // namespace

// Column-major, as Fortran has it, a row-major matrix is its own transpose.
void gram(int64_t n, int64_t d, const double* rows, double* out) { cross(n, d, rows, rows, out); }

void cross(int64_t n, int64_t d, const double* left, const double* right, double* out) {
  const int in = static_cast<int>(n), id = static_cast<int>(d);
  dgemm("N", "T", &id, &id, &in, &kOne, right, &id, left, &id, &kZero, out, &id);
}

void times_square(int64_t n, int64_t d, const double* rows, const double* square, double* out) {
  const int in = static_cast<int>(n), id = static_cast<int>(d);
  dgemm("N", "N", &id, &in, &id, &kOne, square, &id, rows, &id, &kZero, out, &id);
}

void add_scaled(int64_t count, double weight, const double* values, double* out) {
  HWY_DYNAMIC_DISPATCH(scaled_sum)(count, weight, values, out);
}

}  // namespace debias::kernels
#endif

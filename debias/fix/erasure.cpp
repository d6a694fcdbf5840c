#include "debias/fix/erasure.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <tuple>

#include "debias/runtime/each_alone.h"

namespace debias {
namespace {

constexpr double kRelativeTolerance = 1e-6;  // of singular values of W C: what is left below is rounding
constexpr double kLeastRidge = 1e-8;         // of the mean variance, so that S can be factored whatever rho is

at::Tensor shrunk(const at::Tensor& covariance, double rho) {
  const double variance = covariance.diagonal().mean().item<double>();
  at::Tensor result = covariance * (1 - rho);
  result.diagonal().add_(std::max(rho, kLeastRidge) * variance);
  return result;
}

}  // namespace

at::Tensor AffineErasure::apply(const at::Tensor& x) const {
  if (rank() == 0) return x;
  const at::Tensor along = at::mm(x - mean.to(x.scalar_type()), right.t().to(x.scalar_type()));
  return x - at::mm(along, left.t().to(x.scalar_type()));
}

AffineErasure AffineErasure::none(int64_t dimensions) {
  return {at::zeros({dimensions}, at::kDouble), at::zeros({dimensions, 0}, at::kDouble), at::zeros({0, dimensions}, at::kDouble)};
}

double ledoit_wolf(const at::Tensor& covariance, double fourth, double count) {
  const double squares = covariance.square().sum().item<double>();
  const double variance = covariance.diagonal().mean().item<double>();
  const double spread = squares - variance * variance * static_cast<double>(covariance.size(0));  // |S - tr(S) / D|^2
  if (spread <= 0) return 1;
  return std::clamp((fourth - squares) / count / spread, 0.0, 1.0);
}

AffineErasure class_conditional_erasure(const ClassMoments& moments, double fourth, Shrinkage shrinkage) {
  const OneThread alone;
  const at::NoGradGuard no_grad;
  const at::Tensor cross = moments.cross_covariance(), covariance = moments.covariance();
  const double count = shrinkage == Shrinkage::kRows ? static_cast<double>(moments.count) : moments.effective_count();
  const at::Tensor factor = at::linalg_cholesky(shrunk(covariance, ledoit_wolf(covariance, fourth, count)));
  const at::Tensor solved = at::cholesky_solve(cross, factor);
  at::Tensor values, vectors;
  std::tie(values, vectors) = at::linalg_eigh(cross.t().mm(solved));
  const double largest = values.max().item<double>();
  const at::Tensor kept = (values > largest * kRelativeTolerance * kRelativeTolerance).logical_and(values > 1e-14).nonzero().flatten();
  const at::Tensor roots = values.index_select(0, kept).rsqrt(), chosen = vectors.index_select(1, kept) * roots;
  return {moments.mean(), cross.mm(chosen), solved.mm(chosen).t().contiguous()};
}

AffineErasure standardised(const AffineErasure& erasure, const StandardScale& scale) {
  return {(erasure.mean - scale.mean) / scale.deviation, erasure.left / scale.deviation.unsqueeze(1), erasure.right * scale.deviation};
}

AffineErasure unstandardised(const AffineErasure& erasure, const StandardScale& scale) {
  return {scale.mean + scale.deviation * erasure.mean, erasure.left * scale.deviation.unsqueeze(1), erasure.right / scale.deviation};
}

}  // namespace debias

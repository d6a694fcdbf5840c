#include "debias/fix/erasure.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

namespace {

constexpr int64_t kBlockRows = 4096;
constexpr double kSingularTolerance = 0.01;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

double squared_norm(const at::Tensor& matrix) { return matrix.square().sum().item<double>(); }
double trace_of(const at::Tensor& matrix) { return matrix.diagonal().sum().item<double>(); }

at::Tensor optimal_linear_shrinkage(const at::Tensor& covariance, double n) {
  const auto p = static_cast<double>(covariance.size(0));
  const double trace = trace_of(covariance), target = trace / p, target_norm = target * target * p;
  const double product = trace * target;  // tr(S target I)
  const double top = trace * trace * target_norm / n, bottom = squared_norm(covariance) * target_norm - product * product;
  const double alpha = 1 - (top + kEpsilon) / (bottom + kEpsilon);
  const double beta = (1 - alpha) * (product + kEpsilon) / (target_norm + kEpsilon);
  at::Tensor shrunk = covariance * alpha;
  shrunk.diagonal().add_(beta * target);
  return shrunk;
}

// The share alpha of P in alpha P + (1 - alpha) Q at which the trace of the covariance is what it was.
double share_of_oblique(double old_trace, double oblique, double mixed, double orthogonal) {
  const double w = old_trace, x = oblique, y = mixed, z = orthogonal;
  const double root = std::sqrt(4 * w * x - 4 * w * y + 4 * w * z - 4 * x * z + y * y);
  const double first = (-y / 2 + z - root / 2) / (x - y + z), second = (-y / 2 + z + root / 2) / (x - y + z);
  return std::clamp(first > 0 ? first : second, 0.0, 1.0);
}

AffineErasure with_trace_kept(AffineErasure erasure, const at::Tensor& covariance, const at::Tensor& u) {
  const at::Tensor eye = at::eye(covariance.size(0), at::kDouble);
  const at::Tensor P = eye - erasure.left.mm(erasure.right), Q = eye - u.mm(u.t());
  const at::Tensor of_p = P.mm(covariance);
  const double before = trace_of(covariance), after = trace_of(of_p.mm(P.t()));
  if (after <= before) return erasure;
  const double alpha = share_of_oblique(before, after, 2 * trace_of(of_p.mm(Q.t())), trace_of(Q.mm(covariance).mm(Q.t())));
  erasure.left = at::cat({erasure.left * alpha, u * (1 - alpha)}, 1);
  erasure.right = at::cat({erasure.right, u.t()}, 0);
  return erasure;
}

}  // namespace

LeaceMoments leace_moments(const StandardRows& rows, const at::Tensor& z, const at::Tensor& used) {
  const OneThread alone;
  const at::NoGradGuard no_grad;
  const auto for_each_block = [&](const auto& add) {
    for (int64_t begin = 0; begin < rows.size(); begin += kBlockRows) {
      const int64_t count = std::min(kBlockRows, rows.size() - begin);
      const at::Tensor known = used.narrow(0, begin, count).nonzero().flatten();
      add(rows.block(begin, count).index_select(0, known).to(at::kDouble), z.narrow(0, begin, count).index_select(0, known));
    }
  };
  const int64_t D = rows.dimensions(), K = z.size(1);
  at::Tensor x_sum = at::zeros({D}, at::kDouble), z_sum = at::zeros({K}, at::kDouble);
  LeaceMoments moments{{}, at::zeros({D, D}, at::kDouble), at::zeros({D, K}, at::kDouble), used.sum().item<int64_t>()};
  for_each_block([&](const at::Tensor& x, const at::Tensor& own_z) {
    x_sum += x.sum(0);
    z_sum += own_z.sum(0);
  });
  const auto n = static_cast<double>(moments.count);
  const at::Tensor x_mean = x_sum / n, z_mean = z_sum / n;
  for_each_block([&](const at::Tensor& x, const at::Tensor& own_z) {
    const at::Tensor centred = x - x_mean;
    moments.covariance.addmm_(centred.t(), centred);
    moments.cross.addmm_(centred.t(), own_z - z_mean);
  });
  const at::Tensor& deviation = rows.scale().deviation;
  moments.mean = x_mean * deviation + rows.scale().mean;
  moments.covariance *= at::outer(deviation, deviation) / n;
  moments.cross *= deviation.unsqueeze(1) / (n - 1);
  return moments;
}

AffineErasure leace(const LeaceMoments& moments) {
  const OneThread alone;
  const at::NoGradGuard no_grad;
  const at::Tensor covariance = optimal_linear_shrinkage(moments.covariance, static_cast<double>(moments.count));
  const at::Tensor& cross = moments.cross;
  at::Tensor values, axes;
  std::tie(values, axes) = at::linalg_eigh(covariance);
  const double floor = values[-1].item<double>() * static_cast<double>(covariance.size(0)) * kEpsilon;
  const at::Tensor kept = values > floor, known = values.clamp_min(1e-300);
  const at::Tensor whitening = (axes * at::where(kept, known.rsqrt(), 0.0)).mm(axes.t());
  const at::Tensor unwhitening = (axes * at::where(kept, known.sqrt(), 0.0)).mm(axes.t());
  at::Tensor u, s, v;
  std::tie(u, s, v) = at::linalg_svd(whitening.mm(cross), /*full_matrices=*/false);
  const at::Tensor chosen = u.index_select(1, (s > kSingularTolerance).nonzero().flatten());
  return with_trace_kept({moments.mean, unwhitening.mm(chosen), chosen.t().mm(whitening)}, covariance, chosen);
}

}  // namespace debias

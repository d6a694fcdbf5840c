#include "debias/fix/leace.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "debias/runtime/each_alone.h"

namespace debias {
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

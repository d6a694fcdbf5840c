#include "debias/train/methods/rivals/hsic.h"

#include <ATen/ATen.h>

namespace debias {
namespace {

at::Tensor squared_distances(const at::Tensor& rows) {
  const at::Tensor norms = rows.square().sum(1);
  return (norms.unsqueeze(0) + norms.unsqueeze(1) - 2 * rows.mm(rows.t())).clamp_min(0);
}

at::Tensor kernel_without_diagonal(const at::Tensor& rows, double sigma) {
  const at::Tensor kernel = (squared_distances(rows) * (-0.5 / (sigma * sigma))).exp();
  return kernel * (1 - at::eye(rows.size(0), rows.options().requires_grad(false)));
}

}  // namespace

at::Tensor unbiased_hsic(const at::Tensor& x, const at::Tensor& y, double sigma_x, double sigma_y) {
  const auto n = static_cast<double>(x.size(0));
  if (x.size(0) < kLeastHsicRows) return x.sum() * 0;
  const at::Tensor k = kernel_without_diagonal(x, sigma_x), l = kernel_without_diagonal(y, sigma_y);
  const at::Tensor of_k = k.sum(1), of_l = l.sum(1);
  const at::Tensor sum = (k * l).sum() + of_k.sum() * of_l.sum() / ((n - 1) * (n - 2)) - of_k.dot(of_l) * (2 / (n - 2));
  return sum / (n * (n - 3));
}

double median_distance(const at::Tensor& rows) {
  if (rows.size(0) < 2) return 1;
  const at::NoGradGuard no_grad;
  const at::Tensor pairs = at::triu_indices(rows.size(0), rows.size(0), 1, rows.options().dtype(at::kLong));
  const double median = squared_distances(rows.detach()).index({pairs[0], pairs[1]}).median().sqrt().item<double>();
  return median > 0 ? median : 1;
}

}  // namespace debias

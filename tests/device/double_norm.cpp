// The double's kernels of synchronised normalisation, which torch has for GPUs alone: by their definitions, in float64.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <optional>
#include <tuple>
#include <vector>

#include "tests/device/device_double.h"

namespace debias {
namespace {

std::vector<int64_t> all_but_channels(const at::Tensor& x) {
  std::vector<int64_t> dims = {0};
  for (int64_t d = 2; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

at::Tensor by_channel(const at::Tensor& values, const at::Tensor& x) {
  std::vector<int64_t> sizes(static_cast<size_t>(x.dim()), 1);
  sizes[1] = x.size(1);
  return values.to(at::kDouble).view(sizes);
}

std::tuple<at::Tensor, at::Tensor> norm_statistics(const at::Tensor& input, double eps) {
  begin_double_kernel("batch_norm_stats");
  const at::Tensor x = input.to(at::kDouble), mean = x.mean(all_but_channels(x));
  const at::Tensor variance = (x - by_channel(mean, x)).square().mean(all_but_channels(x));
  return {mean.to(at::kFloat), (variance + eps).rsqrt().to(at::kFloat)};
}

at::Tensor norm_output(const at::Tensor& input, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                       const at::Tensor& mean, const at::Tensor& scale, double) {
  const at::Tensor x = input.to(at::kDouble);
  return ((x - by_channel(mean, x)) * by_channel(scale, x) * by_channel(*weight, x) + by_channel(*bias, x)).to(input.scalar_type());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> norm_sums(const at::Tensor& gradient, const at::Tensor& input,
                                                                     const at::Tensor& mean, const at::Tensor& scale,
                                                                     const std::optional<at::Tensor>&, bool, bool, bool) {
  const at::Tensor dy = gradient.to(at::kDouble), sum = dy.sum(all_but_channels(dy));
  const at::Tensor dot = (dy * (input.to(at::kDouble) - by_channel(mean, dy))).sum(all_but_channels(dy));
  return {sum.to(at::kFloat), dot.to(at::kFloat), (dot * scale.to(at::kDouble)).to(at::kFloat), sum.to(at::kFloat)};
}

at::Tensor norm_gradient(const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& scale,
                         const std::optional<at::Tensor>& weight, const at::Tensor& sum, const at::Tensor& dot, const at::Tensor& counts) {
  const at::Tensor dy = gradient.to(at::kDouble), s = scale.to(at::kDouble), n = counts.sum().to(at::kDouble);
  const at::Tensor centred = input.to(at::kDouble) - by_channel(mean, dy);
  const at::Tensor dx = dy - by_channel(sum.to(at::kDouble) / n, dy) - centred * by_channel(s.square() * dot.to(at::kDouble) / n, dy);
  return (dx * by_channel(s * weight->to(at::kDouble), dy)).to(input.scalar_type());
}

}  // namespace
}  // namespace debias

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("batch_norm_stats", &debias::norm_statistics);
  m.impl("batch_norm_elemt", &debias::norm_output);
  m.impl("batch_norm_backward_reduce", &debias::norm_sums);
  m.impl("batch_norm_backward_elemt", &debias::norm_gradient);
}

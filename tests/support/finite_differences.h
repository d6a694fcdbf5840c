// The gradient of a scalar function of a tensor by central differences, in double.
#pragma once

#include <ATen/ATen.h>

#include <functional>

namespace debias {

inline at::Tensor numeric_gradient(const std::function<double(const at::Tensor&)>& function, const at::Tensor& at_point,
                                   double step = 1e-5) {
  at::Tensor point = at_point.detach().to(at::kDouble).clone(), gradient = at::zeros_like(point);
  double* values = point.data_ptr<double>();
  double* slopes = gradient.data_ptr<double>();
  for (int64_t i = 0; i < point.numel(); ++i) {
    const double kept = values[i];
    values[i] = kept + step;
    const double up = function(point);
    values[i] = kept - step;
    slopes[i] = (up - function(point)) / (2 * step);
    values[i] = kept;
  }
  return gradient;
}

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

}  // namespace debias

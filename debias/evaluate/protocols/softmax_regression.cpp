#include "debias/evaluate/protocols/softmax_regression.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/core/philox.h"

namespace debias {
namespace {

at::Tensor uniform(at::IntArrayRef shape, double bound, Random& random) {
  at::Tensor values = at::empty(shape, at::kFloat);
  float* value = values.mutable_data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) value[i] = static_cast<float>(random.uniform(-bound, bound));
  return values;
}

}  // namespace

SoftmaxRegression::SoftmaxRegression(int64_t features, int64_t classes, uint64_t seed) {
  RngKey key = {.domain = RngDomain::kEvaluate, .seed = seed};
  Random random(key);
  const double bound = 1 / std::sqrt(static_cast<double>(features));
  weight_ = uniform({classes, features}, bound, random);
  bias_ = uniform({classes}, bound, random);
}

at::Tensor SoftmaxRegression::logits(const at::Tensor& x) const {
  const at::NoGradGuard no_grad;
  return at::addmm(bias_, x, weight_.t());
}

double SoftmaxRegression::set_gradients(const at::Tensor& x, const at::Tensor& y) {
  const at::NoGradGuard no_grad;
  const auto B = static_cast<double>(x.size(0));
  const at::Tensor log_p = at::log_softmax(logits(x), 1);
  const at::Tensor own = y.unsqueeze(1);
  const double loss = -log_p.gather(1, own).mean().item<double>();
  const at::Tensor residual = log_p.exp();
  residual.scatter_add_(1, own, at::full(own.sizes(), -1.0, residual.options()));
  residual.div_(B);
  weight_.mutable_grad() = at::mm(residual.t(), x);
  bias_.mutable_grad() = residual.sum(0);
  return loss;
}

}  // namespace debias

// Softmax regression: the linear classifier that a probe trains on features.
//
//   logits = x W^T + b,   loss = -mean_i log softmax(logits_i)[y_i],
//   dL/dW = (P - Y)^T x / B,   dL/db = column sums of (P - Y) / B        (P softmax rows, Y one-hot rows)
//
// x float32 [B, D], W [C, D], b [C]. W and b start uniform in +-1/sqrt(D), as torch.nn.Linear does, from `seed` alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace debias {

class SoftmaxRegression {
 public:
  SoftmaxRegression(int64_t features, int64_t classes, uint64_t seed);

  at::Tensor logits(const at::Tensor& x) const;
  // Sets the gradients of the parameters, in closed form, and returns the mean loss. y int64 [B], in [0, C).
  double set_gradients(const at::Tensor& x, const at::Tensor& y);
  std::vector<at::Tensor> parameters() const { return {weight_, bias_}; }

 private:
  at::Tensor weight_, bias_;
};

}  // namespace debias

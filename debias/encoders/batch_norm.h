// Batch normalisation with the residual sum and the activation that follow it, as one function: on the CPU, for float32 and bfloat16 maps
// that lie channels last (and rows [N, C]), in two walks through memory forward and two backward (kernels/batch_norm.h), with statistics in
// float32. Elsewhere, and for other types, what ATen gives, which is also the definition: norm(x), += residual, relu_. (The hyperbolic
// tangent is a walk of its own everywhere.)
//
// Kept for the backward pass are x, the output where it is needed to know what passed, and three numbers a channel. It has no second
// derivative. Running statistics, their momentum and the unbiased variance are the module's, as torch has them.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/batchnorm.h>

#include <cstdint>
#include <optional>

#include "debias/encoders/activation.h"

namespace debias {

struct AfterNorm {
  at::Tensor residual = {};  // of x's shape, or undefined
  std::optional<Activation> activation = {};
};

// Of a batch, per channel: what normalisation in training divides by and subtracts. Those of parts of a batch can be joined.
struct ChannelMoments {
  int64_t count = 0;
  at::Tensor mean, m2;  // float32 [C]; m2: the sum of squared deviations from the mean
};
ChannelMoments channel_moments(const at::Tensor& x);  // what has_fused_norm() accepts

// The members of a normalisation layer, of whatever dimension.
struct NormLayer {
  const at::Tensor &weight, &bias, &running_mean, &running_var, &num_batches_tracked;
  const torch::nn::BatchNormOptions& options;
  bool training;
};

bool has_fused_norm(const NormLayer& layer, const at::Tensor& x, const AfterNorm& after);
at::Tensor fused_norm(const NormLayer& layer, const at::Tensor& x, const AfterNorm& after);

// The same output for two readers, whose gradients are summed in the walk that reads them anyway.
struct Branches {
  at::Tensor first, second;
};
Branches fused_norm_branches(const NormLayer& layer, const at::Tensor& x, const AfterNorm& after);

template <class Norm>
NormLayer layer_of(const Norm& norm) {
  return {norm.weight, norm.bias, norm.running_mean, norm.running_var, norm.num_batches_tracked, norm.options, norm.is_training()};
}

template <class Norm>
at::Tensor normalised(Norm& norm, const at::Tensor& x, const AfterNorm& after = {}) {
  const NormLayer layer = layer_of(norm);
  if (has_fused_norm(layer, x, after)) return fused_norm(layer, x, after);
  at::Tensor y = norm.forward(x);
  if (after.residual.defined()) y.add_(after.residual);
  if (after.activation == Activation::kRelu) y.relu_();
  if (after.activation == Activation::kTanh) y.tanh_();
  return y;
}

template <class Norm>
Branches normalised_branches(Norm& norm, const at::Tensor& x, const AfterNorm& after) {
  const NormLayer layer = layer_of(norm);
  if (has_fused_norm(layer, x, after)) return fused_norm_branches(layer, x, after);
  const at::Tensor y = normalised(norm, x, after);
  return {y, y};
}

}  // namespace debias

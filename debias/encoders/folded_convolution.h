// A convolution with the batch normalisation, the residual sum and the activation that follow it, in an evaluation: one call of oneDNN
// with the normalisation folded into the weights,
//
//   act(conv(x; s w) + (bias - s running_mean) + residual), s = weight / sqrt(running_var + eps)
//
// which differs from one layer after the other by rounding alone: what is not finite stays so.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <optional>

#include "debias/encoders/batch_norm.h"

namespace debias {

// Nothing if it does not apply: in training, if a gradient is requested, on another device, for other types than float32 and bfloat16,
// for a convolution with a bias, for the hyperbolic tangent, for torch without oneDNN.
std::optional<at::Tensor> folded_convolution(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm,
                                             const at::Tensor& x, const AfterNorm& after = {});

// With the activation min(max(., 0), 6). Nothing, too, where a sum could overflow, or something is not finite.
std::optional<at::Tensor> folded_convolution6(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm,
                                              const at::Tensor& x);

// The same as the first, or the layers one after another.
at::Tensor normalised_convolution(torch::nn::Conv2d& convolution, torch::nn::BatchNorm2d& norm, const at::Tensor& x,
                                  const AfterNorm& after = {});
Branches normalised_convolution_branches(torch::nn::Conv2d& convolution, torch::nn::BatchNorm2d& norm, const at::Tensor& x,
                                         const AfterNorm& after);

}  // namespace debias

// A convolution with the batch normalisation, the residual sum and the activation that follow it, in an evaluation: one call of oneDNN, or in
// tiles as convolve() has them, with the normalisation folded into the weights,
//
//   act(conv(x; s w) + (bias - s running_mean) + residual), s = weight / sqrt(running_var + eps)
//
// which differs from one layer after the other by rounding alone: what is not finite stays so.
//
// oneDNN's activations map NaN to a number. They are in the call only where no sum can be infinite or NaN: |y| <= g |x| + |bias| + |residual|
// with g the largest sum of |s w| of an output channel. A map therefore carries a bound of its absolute values.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <limits>
#include <memory>
#include <optional>

#include "debias/encoders/batch_norm.h"

namespace debias {

struct BoundedMap {
  at::Tensor values;
  double bound = std::numeric_limits<double>::infinity();  // of |values|; infinity: unknown, and measured where it matters
};

// While it lives, this thread keeps the folded weights of each convolution and the weights of each linear layer, packed for oneDNN. The
// weights must not change meanwhile.
class KeptWeights {
 public:
  KeptWeights();
  ~KeptWeights();
  KeptWeights(const KeptWeights&) = delete;
  KeptWeights& operator=(const KeptWeights&) = delete;

  struct Table;

 private:
  std::unique_ptr<Table> table_;
  Table* before_;
};

// Nothing if it does not apply: in training, if a gradient is requested, on another device, for other types than float32 and bfloat16,
// for a convolution with a bias, for the hyperbolic tangent, for torch without oneDNN.
std::optional<BoundedMap> folded_convolution(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm,
                                             const BoundedMap& x, const AfterNorm& after = {},
                                             double residual_bound = std::numeric_limits<double>::infinity());

// With the activation min(max(., 0), 6). Nothing, too, where a sum could overflow, or something is not finite.
std::optional<BoundedMap> folded_convolution6(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm,
                                              const BoundedMap& x);

// The same as the first, or the layers one after another.
BoundedMap normalised_convolution(torch::nn::Conv2d& convolution, torch::nn::BatchNorm2d& norm, const BoundedMap& x,
                                  const AfterNorm& after = {}, double residual_bound = std::numeric_limits<double>::infinity());

struct BoundedBranches {
  Branches maps;
  double bound = std::numeric_limits<double>::infinity();
};
BoundedBranches normalised_convolution_branches(torch::nn::Conv2d& convolution, torch::nn::BatchNorm2d& norm, const BoundedMap& x,
                                                const AfterNorm& after, double residual_bound = std::numeric_limits<double>::infinity());

// A linear layer, and GELU behind it, in one call of oneDNN, which keeps what is not finite. Nothing if a gradient is requested, on another
// device, for other types than float32 and bfloat16, for a layer without a bias, for torch without oneDNN.
enum class AfterLinear { kNone, kGelu };
std::optional<at::Tensor> packed_linear(const torch::nn::LinearImpl& linear, const at::Tensor& x, AfterLinear after);

// conv(x), and a gradient that is safe to compute. If oneDNN's weight gradient would write past its buffers (docs/decisions.md), a 1x1
// convolution without padding takes the pixels that its stride keeps, which is the same sum. On float32 maps of many channels, 3x3 filters
// are multiplied in Winograd's tiles (kernels/winograd.h) and 7x7 ones in frequency space by NNPACK where the processor has it: 1.3 to 2.8
// times as fast as oneDNN, with errors of at most four times the direct sum's.
torch::Tensor convolve(torch::nn::Conv2d& conv, const torch::Tensor& x);

}  // namespace debias

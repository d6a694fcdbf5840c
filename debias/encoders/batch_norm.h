// Batch normalisation with the residual sum and the activation that follow it, as one function: on the CPU, for float32 and bfloat16 maps
// in channels-last order (and rows [N, C]), in two walks through memory forward and two backward (kernels/batch_norm.h), with statistics in
// float32. Elsewhere, and for other types, what ATen gives, which is also the definition: norm(x), += residual, relu_. (The hyperbolic
// tangent is a walk of its own everywhere.)
//
// Kept for the backward pass are x, the output where it is needed to know what passed, and three numbers a channel. It has no second
// derivative. Running statistics, their momentum and the unbiased variance are the module's, as torch has them.
//
// If several processes share the rows of a batch, each normalises its own by the statistics of all: see SharedNorm.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/batchnorm.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "debias/core/enum_names.h"

namespace debias {

// The non-linearity of an encoder's last layers: tanh is what headless models with a signed embedding use.
enum class Activation { kRelu, kTanh };

constexpr auto enum_words(Activation) { return named("relu", "tanh"); }

struct AfterNorm {
  at::Tensor residual = {};  // of x's shape, or undefined
  std::optional<Activation> activation = {};
};

// Statistics of a batch, per channel, for normalisation in training. Those of parts of a batch can be joined.
struct ChannelMoments {
  int64_t count = 0;
  at::Tensor mean, m2;  // [C]; m2: the sum of squared deviations from the mean
};
ChannelMoments channel_moments(const at::Tensor& x);  // what has_fused_norm() accepts

// float64, on the device of the parts, so that the host need not wait for it.
struct JoinedMoments {
  at::Tensor rows;      // [], how many there are
  at::Tensor mean, m2;  // [C]
};

// The other processes that have rows of the batch. Both calls are collective, and give the same bytes everywhere.
class NormPeers {
 public:
  virtual ~NormPeers() = default;
  virtual JoinedMoments join(const ChannelMoments& own) const = 0;  // of all rows, from those of each process'
  virtual at::Tensor sum(const at::Tensor& own) const = 0;          // float64
};

// While it lives, layers in training mode on this thread normalise by the statistics of all peers' rows, as one process would that had
// them: the backward pass, too, of what was computed meanwhile. A layer's parameters get the gradient of the own rows. Null: of these alone.
// `peers` must outlive the graph.
class SharedNorm {
 public:
  explicit SharedNorm(const NormPeers* peers);
  ~SharedNorm();
  SharedNorm(const SharedNorm&) = delete;
  SharedNorm& operator=(const SharedNorm&) = delete;

 private:
  const NormPeers* before_;
};

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

// Tests if the layer is normalised with others' rows, and normalises so, for any type and device. A device passes through the
// map once for its statistics, once for the output, and twice backward, by torch's kernels for synchronised normalisation.
bool is_shared(const NormLayer& layer);
at::Tensor shared_norm(const NormLayer& layer, const at::Tensor& x);

template <class Norm>
NormLayer layer_of(const Norm& norm) {
  return {norm.weight, norm.bias, norm.running_mean, norm.running_var, norm.num_batches_tracked, norm.options, norm.is_training()};
}

template <class Norm>
at::Tensor normalised(Norm& norm, const at::Tensor& x, const AfterNorm& after = {}) {
  const NormLayer layer = layer_of(norm);
  if (has_fused_norm(layer, x, after)) return fused_norm(layer, x, after);
  at::Tensor y = is_shared(layer) ? shared_norm(layer, x) : norm.forward(x);
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

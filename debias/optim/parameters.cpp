#include "debias/optim/parameters.h"

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/instancenorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/rnn.h>

namespace debias {
namespace {

namespace nn = torch::nn;

template <class... Types>
struct Layers {
  static bool hold(const nn::Module& module) { return ((module.as<Types>() != nullptr) || ...); }
  static bool have_bias(const nn::Module& module, const torch::Tensor& parameter) {
    const auto is_bias_of = [&](const auto* layer) { return layer != nullptr && layer->bias.is_same(parameter); };
    return (is_bias_of(module.as<Types>()) || ...);
  }
};
using Norms = Layers<nn::BatchNorm1dImpl, nn::BatchNorm2dImpl, nn::BatchNorm3dImpl, nn::InstanceNorm1dImpl, nn::InstanceNorm2dImpl,
                     nn::InstanceNorm3dImpl, nn::GroupNormImpl, nn::LayerNormImpl>;
using Products = Layers<nn::LinearImpl, nn::BilinearImpl, nn::Conv1dImpl, nn::Conv2dImpl, nn::Conv3dImpl, nn::ConvTranspose1dImpl,
                        nn::ConvTranspose2dImpl, nn::ConvTranspose3dImpl>;
using Recurrent = Layers<nn::RNNImpl, nn::LSTMImpl, nn::GRUImpl>;

// Kinds of our own recurrent layers, which are named as torch's: bias_ih_l0.
bool is_recurrent_bias(const std::string& name, const torch::Tensor& parameter) {
  return name.starts_with("bias_") && parameter.dim() == 1;
}

ParameterKind kind_of(const nn::Module& module, const std::string& name, const torch::Tensor& parameter) {
  if (Norms::hold(module)) return Norms::have_bias(module, parameter) ? ParameterKind::kNormBias : ParameterKind::kNormWeight;
  const bool vector_beside_matrices = Recurrent::hold(module) && parameter.dim() == 1;
  return vector_beside_matrices || is_recurrent_bias(name, parameter) || Products::have_bias(module, parameter) ? ParameterKind::kBias
                                                                                                                : ParameterKind::kWeight;
}

}  // namespace

std::vector<OptimizedParameter> optimized_parameters(const torch::nn::Module& module, const std::string& prefix) {
  std::vector<OptimizedParameter> all;
  module.apply([&](const std::string& path, const nn::Module& part) {
    for (const auto& own : part.named_parameters(/*recurse=*/false)) {
      all.push_back({prefix + path + (path.empty() ? "" : ".") + own.key(), own.value(), kind_of(part, own.key(), own.value())});
    }
  });
  return all;
}

}  // namespace debias

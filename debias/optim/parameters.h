// Input of an optimizer: parameters with a name and a kind, so that options can name "norms" and "biases".
#pragma once

#include <torch/nn/module.h>

#include <string>
#include <vector>

namespace debias {

// `norm` means both of a normalisation layer's parameters, `bias` every bias: a norm's bias is meant by either.
enum class ParameterKind { kWeight, kBias, kNormWeight, kNormBias };

struct OptimizedParameter {
  std::string name;  // for messages: "encoder.layer1.0.bn1.weight"
  torch::Tensor tensor;
  ParameterKind kind = ParameterKind::kWeight;
  double rate = 1;  // factor of the learning rate
};

// The parameters of `module`, in the order of module.parameters(). The kind follows from the type of the layer that holds a parameter,
// whatever its name: torch's batch, instance, group and layer normalisation; the biases of linear, bilinear, convolution and recurrent
// layers. A parameter that a module of another type holds itself is a weight.
std::vector<OptimizedParameter> optimized_parameters(const torch::nn::Module& module, const std::string& prefix = "");

}  // namespace debias

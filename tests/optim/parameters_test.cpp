#include "debias/optim/optimizer.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/instancenorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/rnn.h>

#include <map>

namespace debias {
namespace parameters_test {

namespace nn = torch::nn;

// Names mislead on purpose.
struct Network : nn::Module {
  Network() {
    register_module("bias", nn::Linear(3, 4));
    register_module("norm", nn::Conv2d(nn::Conv2dOptions(3, 2, 1).bias(false)));
    register_module("layers", nn::Sequential(nn::Conv1d(2, 3, 1), nn::BatchNorm1d(3), nn::LayerNorm(nn::LayerNormOptions({3}))));
    register_module("plain", nn::BatchNorm2d(nn::BatchNorm2dOptions(5).affine(false)));
    register_module("weights", nn::GroupNorm(1, 4));
    register_module("instance", nn::InstanceNorm2d(nn::InstanceNorm2dOptions(4).affine(true)));
    register_module("memory", nn::GRU(2, 3));
    register_parameter("norm_bias", torch::zeros({2}));
  }
};

TEST(OptimizedParameters, KindsFollowFromTheLayersAndTheOrderIsTheModules) {
  const Network network;
  const auto parameters = optimized_parameters(network, "net.");
  const auto expected = network.named_parameters();
  ASSERT_EQ(parameters.size(), expected.size());
  std::map<std::string, ParameterKind> kinds;
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(parameters[i].name, "net." + expected[i].key());
    EXPECT_TRUE(parameters[i].tensor.is_same(expected[i].value()));
    kinds[expected[i].key()] = parameters[i].kind;
  }
  using enum ParameterKind;
  EXPECT_EQ(kinds, (std::map<std::string, ParameterKind>{{"norm_bias", kWeight},
                                                         {"bias.weight", kWeight},
                                                         {"bias.bias", kBias},
                                                         {"norm.weight", kWeight},
                                                         {"layers.0.weight", kWeight},
                                                         {"layers.0.bias", kBias},
                                                         {"layers.1.weight", kNormWeight},
                                                         {"layers.1.bias", kNormBias},
                                                         {"layers.2.weight", kNormWeight},
                                                         {"layers.2.bias", kNormBias},
                                                         {"weights.weight", kNormWeight},
                                                         {"weights.bias", kNormBias},
                                                         {"instance.weight", kNormWeight},
                                                         {"instance.bias", kNormBias},
                                                         {"memory.weight_ih_l0", kWeight},
                                                         {"memory.weight_hh_l0", kWeight},
                                                         {"memory.bias_ih_l0", kBias},
                                                         {"memory.bias_hh_l0", kBias}}));
}

}  // namespace parameters_test
}  // namespace debias

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/philox.h"
#include "debias/encoders/heads.h"
#include "debias/encoders/initialise.h"
#include "tests/encoders/modules.h"

namespace debias {
namespace heads_test {

TEST(Heads, ParameterCountsAreThePublishedOnes) {
  EXPECT_EQ(parameter_count(*make_simclr_head({}, 2048, 1)), 1115264);
  EXPECT_EQ(parameter_count(*make_simclr_head({}, 512, 1)), 328832);
  EXPECT_EQ(parameter_count(*make_mlp_head({}, 2048, 1)), 4458624);
  EXPECT_EQ(parameter_count(*make_mlp_head({}, 512, 1)), 328320);
  EXPECT_EQ(parameter_count(*make_no_head(512)), 0);
  EXPECT_EQ(parameter_count(*make_alexnet_head({}, 4608, 1)), 13906048);
}

// Layers one after another: a norm without weights, relu, or the linear one of that name, with a bias if it has one.
at::Tensor computed(const Head& head, at::Tensor x, const std::vector<std::string>& layers) {
  const auto state = state_of(head);
  for (const auto& layer : layers) {
    if (layer == "norm") {
      x = (x - x.mean(0)) / (x.var(0, /*unbiased=*/false) + 1e-5).sqrt();
    } else if (layer == "relu") {
      x = at::relu(x);
    } else {
      x = x.mm(state.at(layer + ".weight").t());
      if (state.contains(layer + ".bias")) x = x + state.at(layer + ".bias");
    }
  }
  return x;
}

TEST(Heads, AreTheirFormulas) {
  const std::vector<std::pair<std::shared_ptr<Head>, std::vector<std::string>>> cases = {
      {make_simclr_head(SimclrHeadOptions{.hidden_dim = 5, .output_dim = 3}, 4, 1), {"fc1", "norm", "relu", "fc2"}},
      {make_mlp_head(MlpHeadOptions{.output_dim = 3}, 4, 1), {"fc1", "relu", "fc2"}},
      {make_linear_head(LinearHeadOptions{.output_dim = 3}, 4, 1), {"fc"}},
      {make_linear_head(LinearHeadOptions{.output_dim = 3, .batch_norm = true}, 4, 1), {"fc", "norm"}},
      {make_moco_v3_head(MocoV3HeadOptions{.layers = 3, .hidden_dim = 5, .output_dim = 3}, 4, 1),
       {"fc1", "norm", "relu", "fc2", "norm", "relu", "fc3", "norm"}},
      {make_alexnet_head(AlexNetHeadOptions{.hidden_dim = 5, .output_dim = 3}, 4, 1),
       {"fc6", "norm", "relu", "fc7", "norm", "relu", "fc8"}}};
  const at::Tensor x = at::sin(at::arange(24, at::kFloat)).view({6, 4});
  for (const auto& [head, layers] : cases) {
    EXPECT_TRUE(at::allclose(head->forward(x), computed(*head, x, layers), 1e-4, 1e-5)) << testing::PrintToString(layers);
  }
}

TEST(Heads, TheLastNormsHaveNoWeights) {
  const auto head = make_linear_head(LinearHeadOptions{.output_dim = 3, .batch_norm = true}, 4, 1);
  EXPECT_EQ(parameter_count(*head), 4 * 3 + 3);
  EXPECT_TRUE(state_of(*head).contains("bn.running_mean"));
  EXPECT_EQ(parameter_count(*make_moco_v3_head({}, 2048, 1)), 2048 * 4096 + 2 * 4096 + 4096 * 256);
}

TEST(Heads, NoneIsTheFeaturesThemselves) {
  const at::Tensor x = at::ones({2, 3});
  EXPECT_TRUE(make_no_head(3)->forward(x).is_same(x));
}

torch::nn::Conv2d convolution(int64_t in, int64_t out, int64_t kernel, uint64_t seed = 1, InitStream stream = InitStream::kEncoder) {
  torch::nn::Conv2d conv(torch::nn::Conv2dOptions(in, out, kernel));
  initialise(*conv, seed, stream);
  return conv;
}

// Moments of n draws are tested to five standard errors.
TEST(Initialise, ConvolutionsAreKaimingNormalByFanOut) {
  const at::Tensor weight = convolution(64, 128, 3)->weight.detach().to(at::kDouble);
  const double n = static_cast<double>(weight.numel()), variance = 2.0 / (9 * 128);
  EXPECT_NEAR(weight.mean().item<double>(), 0, 5 * std::sqrt(variance / n));
  EXPECT_NEAR(weight.square().mean().item<double>(), variance, 5 * variance * std::sqrt(2 / n));
  EXPECT_NEAR(weight.pow(4).mean().item<double>(), 3 * variance * variance, 5 * variance * variance * std::sqrt(96 / n));
}

TEST(Initialise, ConvolutionsMayBeUniformByFanIn) {
  torch::nn::Conv2d conv(torch::nn::Conv2dOptions(4, 500, 5));
  initialise(*conv, 1, InitStream::kEncoder, ConvolutionWeights::kFanInUniform);
  const at::Tensor weight = conv->weight.detach().to(at::kDouble);
  EXPECT_LE(weight.abs().max().item<double>(), 0.1);
  EXPECT_GT(weight.abs().max().item<double>(), 0.099);
  EXPECT_NEAR(weight.square().mean().item<double>(), 0.01 / 3, 5 * 0.01 * std::sqrt(4.0 / 45 / static_cast<double>(weight.numel())));
}

TEST(Initialise, LinearLayersAndBiasesAreUniformByFanIn) {
  torch::nn::Linear linear(100, 2000);
  initialise(*linear, 1, InitStream::kHead);
  for (const at::Tensor& tensor : {linear->weight.detach(), linear->bias.detach()}) {
    const at::Tensor x = tensor.to(at::kDouble);
    EXPECT_LE(x.abs().max().item<double>(), 0.1);
    EXPECT_GT(x.abs().max().item<double>(), 0.099);
    const double n = static_cast<double>(x.numel());
    EXPECT_NEAR(x.mean().item<double>(), 0, 5 * 0.1 / std::sqrt(3 * n));
    EXPECT_NEAR(x.square().mean().item<double>(), 0.01 / 3, 5 * 0.01 * std::sqrt(4.0 / 45 / n));
  }
  const double bound = 1 / std::sqrt(9 * 4.0);
  const at::Tensor bias = convolution(4, 500, 3)->bias.detach();
  EXPECT_LE(bias.abs().max().item<double>(), bound);
  EXPECT_GT(bias.abs().max().item<double>(), 0.97 * bound);
}

TEST(Initialise, DrawsAreTheGeneratorsOwn) {
  RngKey key = {.domain = RngDomain::kInit, .seed = 5};
  key.occurrence = 2;  // the third block of 1024 numbers
  Random random(key);
  const at::Tensor weight = convolution(30, 10, 3, 5)->weight.detach().flatten();
  ASSERT_GT(weight.numel(), 2 * 1024 + 2);
  const double radius = std::sqrt(2.0 / 90) * std::sqrt(-2 * std::log((random.bits() + 0.5) / 4294967296.0));
  const double angle = 2 * M_PI * random.bits() / 4294967296.0;
  EXPECT_FLOAT_EQ(weight[2048].item<float>(), static_cast<float>(radius * std::cos(angle)));
  EXPECT_FLOAT_EQ(weight[2049].item<float>(), static_cast<float>(radius * std::sin(angle)));
}

TEST(Initialise, NoTwoTensorsShareTheirNumbers) {
  torch::nn::Sequential two(torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 4, 3)), torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 4, 3)));
  initialise(*two, 1, InitStream::kEncoder);
  const auto weights = two->named_parameters();
  EXPECT_FALSE(at::equal(weights["0.weight"], weights["1.weight"]));
  EXPECT_FALSE(at::equal(weights["0.bias"], weights["1.bias"]));
  EXPECT_FALSE(at::equal(convolution(4, 4, 3)->weight, convolution(4, 4, 3, 1, InitStream::kHead)->weight));
  EXPECT_FALSE(at::equal(convolution(4, 4, 3)->weight, convolution(4, 4, 3, 2)->weight));
}

}  // namespace heads_test
}  // namespace debias

#include "debias/encoders/initialise.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <cmath>

#include "debias/core/philox.h"

namespace debias {
namespace initialise_test {

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

}  // namespace initialise_test
}  // namespace debias

#include "debias/encoders/simple_convnet.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "debias/core/error.h"

namespace debias {
namespace {

int64_t count(const SimpleConvNetOptions& options) {
  int64_t total = 0;
  for (const auto& parameter : make_simple_convnet(options, 3, 1)->parameters()) total += parameter.numel();
  return total;
}

TEST(SimpleConvNet, ParameterCountsAreThePublishedOnes) {
  const int64_t classifier = 128 * 10 + 10;
  EXPECT_EQ(count({}), 529920);
  EXPECT_EQ(count({}) + classifier, 531210);
  EXPECT_EQ(count(SimpleConvNetOptions().kernel(ConvNetKernel::k1)) + classifier, 12810);
  EXPECT_EQ(count(SimpleConvNetOptions().stride(2)), 529920);
}

TEST(SimpleConvNet, OnlyTheLastLayerTakesTheActivation) {
  const at::Tensor images = at::sin(at::arange(4 * 3 * 28 * 28, at::kFloat)).view({4, 3, 28, 28});
  const auto relu = make_simple_convnet({}, 3, 1);
  const auto tanh = make_simple_convnet(SimpleConvNetOptions().activation(Activation::kTanh), 3, 1);
  const at::Tensor rectified = relu->forward(images), signed_features = tanh->forward(images);
  EXPECT_GE(rectified.min().item<float>(), 0);
  EXPECT_LT(signed_features.min().item<float>(), 0);
  // Batch normalisation centres the last map, so that a mean of tanh of it is small and a mean of its positive part is not.
  EXPECT_LT(signed_features.mean().abs().item<float>(), 0.1);
  EXPECT_GT(rectified.mean().item<float>(), 0.2);
}

TEST(SimpleConvNet, KernelOneSeesNoShape) {
  const auto model = make_simple_convnet(SimpleConvNetOptions().kernel(ConvNetKernel::k1), 3, 1);
  const auto wide = make_simple_convnet({}, 3, 1);
  model->eval();
  wide->eval();
  const at::Tensor images = at::sin(at::arange(2 * 3 * 28 * 28, at::kFloat)).view({2, 3, 28, 28});
  const at::Tensor shuffled = images.roll({5, 3}, {2, 3}).flip({3}).transpose(2, 3);
  EXPECT_TRUE(at::allclose(model->forward(images), model->forward(shuffled), 1e-4, 1e-6));
  EXPECT_FALSE(at::allclose(wide->forward(images), wide->forward(shuffled), 1e-2, 1e-3));
}

TEST(SimpleConvNet, StrideTwoIsCheaperAndOfTheSameShape) {
  const auto strided = make_simple_convnet(SimpleConvNetOptions().stride(2), 3, 1);
  const auto plain = make_simple_convnet({}, 3, 1);
  const at::Tensor images = at::sin(at::arange(2 * 3 * 28 * 28, at::kFloat)).view({2, 3, 28, 28});
  EXPECT_EQ(strided->forward(images).sizes(), plain->forward(images).sizes());
  EXPECT_FALSE(at::allclose(strided->forward(images), plain->forward(images)));
}

TEST(SimpleConvNet, GreyImagesAndRanges) {
  EXPECT_EQ(make_simple_convnet({}, 1, 1)->forward(at::ones({2, 1, 28, 28})).size(1), 128);
  EXPECT_THROW(make_simple_convnet({}, 0, 1), Error);
  EXPECT_THROW(make_simple_convnet(SimpleConvNetOptions().stride(3), 3, 1), Error);
}

}  // namespace
}  // namespace debias

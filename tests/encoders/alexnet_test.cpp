#include "debias/encoders/alexnet.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "debias/encoders/state.h"
#include "tests/encoders/one_thread.h"
#include "tests/support/refusals.h"

namespace debias {
namespace alexnet_test {

at::Tensor images(int64_t channels, int64_t side) {
  return at::sin(at::arange(2 * channels * side * side, at::kFloat) * 0.3).view({2, channels, side, side});
}

int64_t count(const Encoder& encoder) {
  int64_t total = 0;
  for (const auto& parameter : encoder.parameters()) total += parameter.numel();
  return total;
}

TEST(AlexNetHalf, CountsAreThoseOfItsTable) {
  const auto l = make_alexnet_half({}, 1, 1), ab = make_alexnet_half({}, 2, 1);
  EXPECT_EQ(l->feature_dim(), 4608);
  EXPECT_EQ(count(*l), 5808 + 153600 + 221184 + 331776 + 221184 + 2 * (48 + 128 + 192 + 192 + 128));
  EXPECT_EQ(count(*ab) - count(*l), 5808);
}

// The last map again, in training mode, from its state and the authors' table alone.
at::Tensor last_map(const torch::nn::Module& model, at::Tensor x) {
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : named_state(model)) state[name] = tensor.detach();
  const int64_t strides[] = {4, 1, 1, 1, 1}, paddings[] = {2, 2, 1, 1, 1};
  for (int i = 0; i < 5; ++i) {
    x = at::conv2d(x, state.at(fmt::format("conv{}.weight", i + 1)), {}, {strides[i], strides[i]}, {paddings[i], paddings[i]});
    x = at::relu((x - x.mean({0, 2, 3}, true)) / (x.var({0, 2, 3}, /*unbiased=*/false, true) + 1e-5).sqrt());
    if (i != 2 && i != 3) x = at::max_pool2d(x, {3, 3}, {2, 2});
  }
  return x;
}

TEST(AlexNetHalf, ForwardIsTheAuthorsTable) {
  const OneThread one_thread;
  for (const int64_t channels : {1, 2}) {
    const auto model = make_alexnet_half({}, channels, 1);
    const at::Tensor expected = last_map(*model, images(channels, 224));
    ASSERT_EQ(expected.sizes(), (at::IntArrayRef{2, 128, 6, 6}));
    EXPECT_TRUE(at::allclose(model->forward(images(channels, 224)), expected.flatten(1), 1e-3, 1e-4)) << channels;
  }
}

TEST(AlexNetHalf, OtherSizesAreBroughtToThePositionsOfItsOwn) {
  const OneThread one_thread;
  const auto model = make_alexnet_half({}, 1, 1);
  const at::Tensor one = last_map(*model, images(1, 63));
  ASSERT_EQ(one.size(2), 1);
  EXPECT_TRUE(at::allclose(model->forward(images(1, 63)), one.expand({2, 128, 6, 6}).flatten(1), 1e-3, 1e-4));
  EXPECT_EQ(model->forward(images(1, 300)).sizes(), (at::IntArrayRef{2, 4608}));
}

TEST(AlexNetHalf, ConvolutionsStartAsTorchsOwn) {
  const auto model = make_alexnet_half({}, 2, 1);
  const at::Tensor weight = model->named_parameters()["conv1.weight"].detach().abs();
  const double bound = 1 / std::sqrt(2.0 * 121);
  EXPECT_LE(weight.max().item<double>(), bound);
  EXPECT_GT(weight.max().item<double>(), 0.99 * bound);
}

TEST(AlexNetHalf, SmallerImagesAreRefused) {
  const auto model = make_alexnet_half({}, 1, 1);
  EXPECT_EQ(usage_error_of([&] { model->forward(images(1, 62)); }),
            "encoder 'alexnet_half': images of 62x62 pixels; it needs at least 63x63");
}

}  // namespace alexnet_test
}  // namespace debias

#include "debias/encoders/simple_convnet.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

#include "debias/core/error.h"
#include "debias/encoders/state.h"

namespace debias {
namespace simple_convnet_test {

int64_t count(const SimpleConvNetOptions& options) {
  int64_t total = 0;
  for (const auto& parameter : make_simple_convnet(options, 3, 1)->parameters()) total += parameter.numel();
  return total;
}

TEST(SimpleConvNet, ParameterCountsAreThePublishedOnes) {
  const int64_t classifier = 128 * 10 + 10;
  EXPECT_EQ(count({}), 529920);
  EXPECT_EQ(count({}) + classifier, 531210);
  EXPECT_EQ(count(SimpleConvNetOptions{.kernel = ConvNetKernel::k1}) + classifier, 12810);
  EXPECT_EQ(count(SimpleConvNetOptions{.stride = 2}), 529920);
}

// The network again, in training mode, from its state and the paper's table alone.
at::Tensor reference(const torch::nn::Module& model, at::Tensor x, int64_t stem_stride, int64_t stride, bool tanh) {
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : named_state(model)) state[name] = tensor.detach();
  for (int i = 1; i <= 4; ++i) {
    const auto at_layer = [&](const char* kind, const char* part) { return state.at(fmt::format("{}{}.{}", kind, i, part)); };
    const at::Tensor weight = at_layer("conv", "weight");
    const int64_t step = i == 1 ? stem_stride : stride, padding = weight.size(2) / 2;
    x = at::conv2d(x, weight, at_layer("conv", "bias"), {step, step}, {padding, padding});
    x = (x - x.mean({0, 2, 3}, true)) / (x.var({0, 2, 3}, /*unbiased=*/false, true) + 1e-5).sqrt();  // weight 1, bias 0
    x = i == 4 && tanh ? at::tanh(x) : at::relu(x);
  }
  return at::adaptive_avg_pool2d(x, {1, 1}).flatten(1);
}

TEST(SimpleConvNet, ForwardIsThePapersTable) {
  const at::Tensor images = at::sin(at::arange(4 * 3 * 14 * 14, at::kFloat)).view({4, 3, 14, 14});
  for (const auto activation : {Activation::kRelu, Activation::kTanh}) {
    for (const auto kernel : {ConvNetKernel::k7, ConvNetKernel::k1}) {
      for (const auto& [stem, stride] : {std::pair<int64_t, int64_t>{1, 1}, {1, 2}, {2, 3}}) {
        const auto options = SimpleConvNetOptions{.activation = activation, .kernel = kernel, .stem_stride = stem, .stride = stride};
        const auto model = make_simple_convnet(options, 3, 1);
        const at::Tensor expected = reference(*model, images, stem, stride, activation == Activation::kTanh);
        EXPECT_TRUE(at::allclose(model->forward(images), expected, 1e-3, 1e-4)) << stride;
        EXPECT_EQ(expected.min().item<float>() < 0, activation == Activation::kTanh);
      }
    }
  }
}

TEST(SimpleConvNet, KernelOneSeesNoShape) {
  const auto model = make_simple_convnet(SimpleConvNetOptions{.kernel = ConvNetKernel::k1}, 3, 1);
  const auto wide = make_simple_convnet({}, 3, 1);
  model->eval();
  wide->eval();
  const at::Tensor images = at::sin(at::arange(2 * 3 * 28 * 28, at::kFloat)).view({2, 3, 28, 28});
  const at::Tensor shuffled = images.roll({5, 3}, {2, 3}).flip({3}).transpose(2, 3);
  EXPECT_TRUE(at::allclose(model->forward(images), model->forward(shuffled), 1e-4, 1e-6));
  EXPECT_FALSE(at::allclose(wide->forward(images), wide->forward(shuffled), 1e-2, 1e-3));
}

TEST(SimpleConvNet, GreyImagesAndRanges) {
  EXPECT_EQ(make_simple_convnet({}, 1, 1)->forward(at::ones({2, 1, 28, 28})).size(1), 128);
  EXPECT_THROW(make_simple_convnet({}, 0, 1), Error);
  EXPECT_THROW(make_simple_convnet(SimpleConvNetOptions{.stride = 4}, 3, 1), Error);
  EXPECT_THROW(make_simple_convnet(SimpleConvNetOptions{.stem_stride = 3}, 3, 1), Error);
}

}  // namespace simple_convnet_test
}  // namespace debias

// The small networks of convolutions: shapes, formulas and initial weights.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "debias/core/error.h"
#include "debias/encoders/convnets.h"
#include "tests/encoders/modules.h"
#include "tests/support/refusals.h"

namespace debias {
namespace convnets_test {

int64_t count(const SimpleConvNetOptions& options) { return parameter_count(*make_simple_convnet(options, 3, 1)); }

TEST(SimpleConvNet, ParameterCountsAreThePublishedOnes) {
  const int64_t classifier = 128 * 10 + 10;
  EXPECT_EQ(count(SimpleConvNetOptions()), 529920);
  EXPECT_EQ(count(SimpleConvNetOptions()) + classifier, 531210);
  EXPECT_EQ(count(SimpleConvNetOptions{.kernel = ConvNetKernel::k1}) + classifier, 12810);
  EXPECT_EQ(count(SimpleConvNetOptions{.stride = 2}), 529920);
}

// The network again, in training mode, from its state and the paper's table alone.
at::Tensor reference(const torch::nn::Module& model, at::Tensor x, int64_t stem_stride, int64_t stride, bool tanh) {
  const auto state = state_of(model);
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

at::Tensor images(int64_t channels, int64_t side) {
  return at::sin(at::arange(2 * channels * side * side, at::kFloat) * 0.3).view({2, channels, side, side});
}

TEST(AlexNetHalf, CountsAreThoseOfItsTable) {
  const auto l = make_alexnet_half({}, 1, 1), ab = make_alexnet_half({}, 2, 1);
  EXPECT_EQ(l->feature_dim(), 4608);
  EXPECT_EQ(parameter_count(*l), 5808 + 153600 + 221184 + 331776 + 221184 + 2 * (48 + 128 + 192 + 192 + 128));
  EXPECT_EQ(parameter_count(*ab) - parameter_count(*l), 5808);
}

// The last map again, in training mode, from its state and the authors' table alone.
at::Tensor last_map(const torch::nn::Module& model, at::Tensor x) {
  const auto state = state_of(model);
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

TEST(BagNet18, ParameterCountIsThePublishedOne) {
  const int64_t total = parameter_count(*make_bagnet18({}, 3, 1));
  EXPECT_EQ(total, 1476288);
  EXPECT_EQ(total + 512 * 9 + 9, 1480905);
}

// The network again, in training mode, from its state and the papers' table alone; the side of the map after each block goes to `sides`.
at::Tensor reference(const torch::nn::Module& model, at::Tensor x, std::vector<int64_t>& sides) {
  const auto state = state_of(model);
  const auto conv = [&](const at::Tensor& in, const std::string& name, int64_t stride) {
    return at::conv2d(in, state.at(name + ".weight"), {}, {stride, stride});
  };
  const auto norm = [](const at::Tensor& in) {
    return (in - in.mean({0, 2, 3}, true)) / (in.var({0, 2, 3}, /*unbiased=*/false, true) + 1e-5).sqrt();
  };
  x = at::relu(norm(conv(conv(x, "conv1", 1), "conv2", 1)));
  sides = {x.size(2)};
  const int64_t strides[] = {2, 2, 2, 1};
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < 2; ++block) {
      const std::string name = fmt::format("layer{}.{}.", stage + 1, block);
      const int64_t stride = block == 0 ? strides[stage] : 1;
      const at::Tensor y = norm(conv(at::relu(norm(conv(x, name + "conv1", stride))), name + "conv2", 1));
      if (block == 0) x = norm(conv(x, name + "downsample.0", stride));
      x = at::relu(y + x.slice(2, 0, y.size(2)).slice(3, 0, y.size(3)));
      sides.push_back(x.size(2));
    }
  }
  return x.mean({2, 3});
}

TEST(BagNet18, ForwardIsThePapersTable) {
  const auto model = make_bagnet18({}, 3, 1);
  for (const int64_t side : {33, 48}) {
    std::vector<int64_t> sides;
    const at::Tensor expected = reference(*model, images(3, side), sides);
    EXPECT_TRUE(at::allclose(model->forward(images(3, side)), expected, 1e-3, 1e-4)) << side;
  }
  std::vector<int64_t> sides;
  reference(*model, images(3, 224), sides);
  EXPECT_EQ(sides, (std::vector<int64_t>{222, 110, 110, 55, 55, 28, 28, 28, 28}));
}

TEST(BagNet18, OneFeatureSeesFivePixels) {
  const auto model = make_bagnet18({}, 3, 1);
  model->eval();
  const auto seen = [&](int64_t side) {  // the pixels that a map of one position depends on
    const at::Tensor x = images(3, side).set_requires_grad(true);
    model->forward(x).sum().backward();
    return (x.grad().abs().amax({0, 1}) > 0).sum().item<int64_t>();
  };
  EXPECT_EQ(seen(5), 25);
  EXPECT_EQ(seen(12), 25);   // strides 2, 2, 2 step over the rest
  EXPECT_EQ(seen(13), 100);  // two positions a side, eight pixels apart
}

TEST(BagNet18, SmallerImagesAreRefused) {
  const auto model = make_bagnet18({}, 3, 1);
  EXPECT_EQ(usage_error_of([&] { model->forward(images(3, 4)); }), "encoder 'bagnet18': images of 4x4 pixels; it needs at least 5x5");
}

TEST(BagNet18, StemForgetsSlowly) {  // momentum 0.001, all other normalisations 0.1
  const auto model = make_bagnet18({}, 3, 1);
  model->forward(images(3, 16));
  for (const auto& buffer : model->named_buffers()) {
    if (!buffer.key().ends_with("running_var")) continue;
    const float kept = buffer.key() == "bn1.running_var" ? 0.999f : 0.9f;
    EXPECT_GT(buffer.value().min().item<float>(), kept) << buffer.key();
    if (kept < 0.99f) {
      EXPECT_LT(buffer.value().min().item<float>(), 0.999f) << buffer.key();
    }
  }
}

}  // namespace convnets_test
}  // namespace debias

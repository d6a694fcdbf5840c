#include "debias/encoders/bagnet.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "debias/encoders/state.h"
#include "tests/support/refusals.h"

namespace debias {
namespace bagnet_test {

at::Tensor images(int64_t side) { return at::sin(at::arange(2 * 3 * side * side, at::kFloat) * 0.3).view({2, 3, side, side}); }

TEST(BagNet18, ParameterCountIsThePublishedOne) {
  int64_t total = 0;
  for (const auto& parameter : make_bagnet18({}, 3, 1)->parameters()) total += parameter.numel();
  EXPECT_EQ(total, 1476288);
  EXPECT_EQ(total + 512 * 9 + 9, 1480905);
}

// The network again, in training mode, from its state and the papers' table alone; the side of the map after each block goes to `sides`.
at::Tensor reference(const torch::nn::Module& model, at::Tensor x, std::vector<int64_t>& sides) {
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : named_state(model)) state[name] = tensor.detach();
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
    const at::Tensor expected = reference(*model, images(side), sides);
    EXPECT_TRUE(at::allclose(model->forward(images(side)), expected, 1e-3, 1e-4)) << side;
  }
  std::vector<int64_t> sides;
  reference(*model, images(224), sides);
  EXPECT_EQ(sides, (std::vector<int64_t>{222, 110, 110, 55, 55, 28, 28, 28, 28}));
}

TEST(BagNet18, OneFeatureSeesFivePixels) {
  const auto model = make_bagnet18({}, 3, 1);
  model->eval();
  const auto seen = [&](int64_t side) {  // the pixels that a map of one position depends on
    const at::Tensor x = images(side).set_requires_grad(true);
    model->forward(x).sum().backward();
    return (x.grad().abs().amax({0, 1}) > 0).sum().item<int64_t>();
  };
  EXPECT_EQ(seen(5), 25);
  EXPECT_EQ(seen(12), 25);   // strides 2, 2, 2 step over the rest
  EXPECT_EQ(seen(13), 100);  // two positions a side, eight pixels apart
}

TEST(BagNet18, SmallerImagesAreRefused) {
  const auto model = make_bagnet18({}, 3, 1);
  EXPECT_EQ(usage_error_of([&] { model->forward(images(4)); }), "encoder 'bagnet18': images of 4x4 pixels; it needs at least 5x5");
}

TEST(BagNet18, StemForgetsSlowly) {  // momentum 0.001, all other normalisations 0.1
  const auto model = make_bagnet18({}, 3, 1);
  model->forward(images(16));
  for (const auto& buffer : model->named_buffers()) {
    if (!buffer.key().ends_with("running_var")) continue;
    const float kept = buffer.key() == "bn1.running_var" ? 0.999f : 0.9f;
    EXPECT_GT(buffer.value().min().item<float>(), kept) << buffer.key();
    if (kept < 0.99f) {
      EXPECT_LT(buffer.value().min().item<float>(), 0.999f) << buffer.key();
    }
  }
}

}  // namespace bagnet_test
}  // namespace debias

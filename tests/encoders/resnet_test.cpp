#include "debias/encoders/resnet.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "debias/core/error.h"
#include "debias/encoders/heads.h"
#include "tests/encoders/golden_weights.h"
#include "tests/encoders/modules.h"

namespace debias {
namespace resnet_test {

int64_t count(int depth, Stem stem) { return parameter_count(ResNet(depth, ResNetOptions{.stem = stem}, 3, 1)); }

TEST(ResNet, ParameterCountsAreThePublishedOnes) {
  EXPECT_EQ(count(18, Stem::kImageNet), 11176512);
  EXPECT_EQ(count(18, Stem::kCifar), 11168832);
  EXPECT_EQ(count(34, Stem::kImageNet), 21284672);
  EXPECT_EQ(count(34, Stem::kCifar), 21276992);
  EXPECT_EQ(count(50, Stem::kImageNet), 23508032);
}

TEST(ResNet, WholeModelsCountAsPublished) {
  const int64_t encoder = count(50, Stem::kCifar);
  EXPECT_EQ(encoder, 23500352);
  EXPECT_EQ(encoder + parameter_count(*make_simclr_head({}, 2048, 1)), 24615616);
  EXPECT_EQ(encoder + parameter_count(*make_mlp_head({}, 2048, 1)), 27958976);
}

TEST(ResNet, NamesAndTheirOrderAreTorchvisions) {
  for (const char* name : {"torchvision_resnet18", "torchvision_resnet50"}) {
    const GoldenBackbone golden(name);
    std::vector<std::string> expected, found;
    for (const auto& [key, weight] : golden.weights) {
      if (!key.starts_with("fc.")) expected.push_back(key);
    }
    for (const auto& entry : named_state(*read_encoder(parse_yaml(golden.section(), "")).make(3, 1))) found.push_back(entry.first);
    EXPECT_EQ(found, expected);
  }
}

std::vector<int64_t> sides(int depth, Stem stem, int64_t side) {
  const OneThread one_thread;
  at::NoGradGuard no_grad;
  ResNet model(depth, ResNetOptions{.stem = stem, .width = 8}, 3, 1);
  model.eval();
  std::vector<int64_t> result;
  for (int stage = 0; stage <= 4; ++stage) result.push_back(model.map(at::zeros({1, 3, side, side}), stage).size(3));
  return result;
}

TEST(ResNet, MapsShrinkAsPublished) {
  EXPECT_EQ(sides(18, Stem::kCifar, 32), (std::vector<int64_t>{32, 32, 16, 8, 4}));
  EXPECT_EQ(sides(50, Stem::kCifar, 32), (std::vector<int64_t>{32, 32, 16, 8, 4}));
  EXPECT_EQ(sides(18, Stem::kImageNet, 224), (std::vector<int64_t>{112, 56, 28, 14, 7}));
  EXPECT_EQ(sides(50, Stem::kImageNet, 224), (std::vector<int64_t>{112, 56, 28, 14, 7}));
  EXPECT_EQ(sides(34, Stem::kImageNet, 32), (std::vector<int64_t>{16, 8, 4, 2, 1}));
}

TEST(ResNet, FeatureDimFollowsTheWidth) {
  EXPECT_EQ(ResNet(18, ResNetOptions{.width = 8}, 1, 1).feature_dim(), 64);
  EXPECT_EQ(ResNet(50, ResNetOptions{.width = 8}, 1, 1).feature_dim(), 256);
  EXPECT_THROW(ResNet(19, {}, 3, 1), Error);
  EXPECT_THROW(ResNet(18, ResNetOptions{.width = 12}, 3, 1), Error);
}

// The network again, from its state and the paper's tables alone.
class Reference {
 public:
  Reference(const torch::nn::Module& module, bool cifar, bool tanh) : cifar_(cifar), tanh_(tanh), state_(state_of(module)) {}

  at::Tensor features(const at::Tensor& images, const std::vector<int>& blocks, bool bottleneck) const {
    at::Tensor x = at::relu(bn(conv(images, "conv1", cifar_ ? 1 : 2), "bn1"));
    if (!cifar_) x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
    for (int stage = 1; stage <= 4; ++stage) {
      for (int i = 0; i < blocks[stage - 1]; ++i) {
        const std::string block = fmt::format("layer{}.{}.", stage, i);
        const int stride = stage > 1 && i == 0 ? 2 : 1;
        const auto act = [&](const at::Tensor& y) { return tanh_ && stage == 4 && i + 1 == blocks[3] ? at::tanh(y) : at::relu(y); };
        at::Tensor y = act(bn(conv(x, block + "conv1", bottleneck ? 1 : stride), block + "bn1"));
        y = bn(conv(y, block + "conv2", bottleneck ? stride : 1), block + "bn2");
        if (bottleneck) y = bn(conv(act(y), block + "conv3", 1), block + "bn3");
        const bool project = state_.contains(block + "downsample.0.weight");
        x = act(y + (project ? bn(conv(x, block + "downsample.0", stride), block + "downsample.1") : x));
      }
    }
    return at::adaptive_avg_pool2d(x, {1, 1}).flatten(1);
  }

 private:
  at::Tensor conv(const at::Tensor& x, const std::string& name, int stride) const {
    const at::Tensor& weight = state_.at(name + ".weight");
    return at::conv2d(x, weight, {}, {stride, stride}, {weight.size(2) / 2, weight.size(2) / 2});
  }
  at::Tensor bn(const at::Tensor& x, const std::string& name) const {
    const auto column = [&](const char* part) { return state_.at(name + part).view({1, -1, 1, 1}); };
    return (x - column(".running_mean")) / (column(".running_var") + 1e-5).sqrt() * column(".weight") + column(".bias");
  }

  bool cifar_, tanh_;
  std::map<std::string, at::Tensor> state_;
};

// A model whose normalisations are not the identity.
std::shared_ptr<ResNet> worn_in(int depth, const ResNetOptions& options, int64_t channels = 3) {
  auto model = std::make_shared<ResNet>(depth, options, channels, 1);
  at::NoGradGuard no_grad;
  double phase = 0;
  for (const auto& [name, tensor] : named_state(*model)) {
    const bool norm = tensor.dim() == 1;
    if (norm) at::Tensor(tensor).add_(0.3 * at::sin(at::arange(tensor.numel()) + phase++));
  }
  model->eval();
  return model;
}

TEST(ResNet, ForwardIsThePapersFormula) {
  const OneThread one_thread;
  const at::Tensor images = at::sin(at::arange(2 * 3 * 32 * 32, at::kFloat) * 0.37).view({2, 3, 32, 32});
  const auto check = [&](int depth, Stem stem, Activation activation, const std::vector<int>& blocks) {
    const auto model = worn_in(depth, ResNetOptions{.stem = stem, .width = 8, .activation = activation});
    const Reference reference(*model, stem == Stem::kCifar, activation == Activation::kTanh);
    const at::Tensor expected = reference.features(images, blocks, depth == 50);
    EXPECT_TRUE(at::allclose(model->forward(images), expected, 1e-3, 1e-4)) << depth;
    EXPECT_GT(expected.std().item<float>(), 1e-3);
  };
  check(18, Stem::kCifar, Activation::kRelu, {2, 2, 2, 2});
  check(18, Stem::kImageNet, Activation::kTanh, {2, 2, 2, 2});
  check(34, Stem::kCifar, Activation::kRelu, {3, 4, 6, 3});
  check(50, Stem::kImageNet, Activation::kRelu, {3, 4, 6, 3});
  check(50, Stem::kCifar, Activation::kTanh, {3, 4, 6, 3});
}

TEST(ResNet, ViewsOfOneAndTwoChannelsPassAStemOfItsOwnWidth) {
  const OneThread one_thread;
  for (const int64_t channels : {1, 2}) {
    const at::Tensor images = at::sin(at::arange(2 * channels * 32 * 32, at::kFloat) * 0.37).view({2, channels, 32, 32});
    for (const auto& [depth, blocks] : {std::pair{18, std::vector<int>{2, 2, 2, 2}}, {50, {3, 4, 6, 3}}}) {
      const auto model = worn_in(depth, ResNetOptions{.stem = Stem::kImageNet, .width = 8, .stem_width = 16}, channels);
      EXPECT_EQ(model->named_parameters()["conv1.weight"].sizes(), (at::IntArrayRef{16, channels, 7, 7}));
      EXPECT_EQ(model->feature_dim(), depth == 50 ? 256 : 64);
      const Reference reference(*model, false, false);
      EXPECT_TRUE(at::allclose(model->forward(images), reference.features(images, blocks, depth == 50), 1e-3, 1e-4)) << depth;
    }
  }
}

TEST(ResNet, GradientsOfOneAndTwoChannelsAreThoseOfDoubles) {
  const OneThread one_thread;
  for (const int64_t channels : {1, 2}) {
    const at::Tensor images = at::sin(at::arange(4 * channels * 32 * 32, at::kFloat) * 0.37).view({4, channels, 32, 32});
    const auto gradients = [&](at::ScalarType type, at::MemoryFormat format) {
      const auto model = worn_in(18, ResNetOptions{.stem = Stem::kImageNet, .width = 8, .stem_width = 64}, channels);
      model->to(type);
      const at::Tensor features = model->forward(images.to(type).contiguous(format));
      (features * at::cos(at::arange(features.numel(), features.options())).view_as(features)).sum().backward();
      std::map<std::string, at::Tensor> all;
      for (const auto& parameter : model->named_parameters()) all[parameter.key()] = parameter.value().grad().to(at::kDouble);
      return all;
    };
    const auto expected = gradients(at::kDouble, at::MemoryFormat::Contiguous);
    for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      for (const auto& [name, gradient] : gradients(at::kFloat, format)) {
        const double size = expected.at(name).abs().max().item<double>();
        EXPECT_LT((gradient - expected.at(name)).abs().max().item<double>(), 1e-4 * size + 1e-7) << name << ", " << channels;
      }
    }
  }
}

// "2 x ResNet50 half, 12 M parameters" of the authors' table: v1 of the pair, for L and for ab, and what its blocks add up to.
TEST(ResNet, HalfWidthPairIsThePublishedOne) {
  const auto half = ResNetOptions{.stem = Stem::kImageNet, .width = 32, .stem_width = 64};
  const ResNet l(50, half, 1, 1), ab(50, half, 2, 1);
  EXPECT_EQ(l.feature_dim(), 1024);
  EXPECT_EQ(parameter_count(ab) - parameter_count(l), 64 * 49);
  int64_t expected = 64 * 49 + 2 * 64, in = 64;
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t planes = int64_t{32} << stage, out = 4 * planes;
    for (int i = 0; i < blocks[stage]; ++i) {
      expected += in * planes + 9 * planes * planes + planes * out + 2 * (planes + planes + out);
      if (i == 0) expected += in * out + 2 * out;
      in = out;
    }
  }
  EXPECT_EQ(parameter_count(l), expected);
  const auto head = [] { return parameter_count(*make_linear_head({}, 1024, 1)); };
  EXPECT_NEAR(static_cast<double>(parameter_count(l) + parameter_count(ab) + 2 * head()) * 1e-6, 12, 0.5);
}

// What torch gives a layer of its own: U(-b, b), b = 1 / sqrt(fan in); every other weight as without the option.
TEST(ResNet, TheStemMayBeginAsTheCodeOfDclLeavesIt) {
  const ResNet usual(18, ResNetOptions{.width = 8, .stem_width = 64}, 3, 1);
  const ResNet dcl(18, ResNetOptions{.width = 8, .stem_width = 64, .stem_weights = StemWeights::kUniform}, 3, 1);
  const double bound = 1 / std::sqrt(27.0);
  for (const auto& item : usual.named_parameters()) {
    const at::Tensor theirs = dcl.named_parameters()[item.key()].detach();
    if (item.key() != "conv1.weight") {
      EXPECT_TRUE(at::equal(item.value(), theirs)) << item.key();
      continue;
    }
    EXPECT_LE(theirs.abs().max().item<double>(), bound);
    EXPECT_GT(theirs.abs().max().item<double>(), 0.99 * bound);
    EXPECT_NEAR(theirs.square().mean().item<double>(), bound * bound / 3, 0.1 * bound * bound / 3);
    EXPECT_GT(item.value().abs().max().item<double>(), bound / 2);
  }
}

TEST(ResNet, StemWidthIsWrittenWhereItIsSet) {
  const auto section = [](const char* yaml) { return read_encoder(parse_yaml(yaml, "r.yaml")).section; };
  EXPECT_EQ(section("resnet18").find("width")->text(), "64");
  EXPECT_EQ(section("resnet18").find("stem_width"), nullptr);  // a run of before the option is resumed
  EXPECT_EQ(section("{name: resnet18, width: 8, stem_width: 16}").find("stem_width")->text(), "16");
  EXPECT_THROW(ResNet(18, ResNetOptions{.width = 8, .stem_width = 12}, 3, 1), Error);
}

TEST(ResNet, ChannelsLastStaysSo) {
  ResNet model(18, ResNetOptions{.width = 8}, 3, 1);
  const at::Tensor images = at::zeros({2, 3, 32, 32}).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(model.map(images, 4).is_contiguous(at::MemoryFormat::ChannelsLast));
}

}  // namespace resnet_test
}  // namespace debias

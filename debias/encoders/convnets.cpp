#include "debias/encoders/convnets.h"

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/max_pool2d.h>
#include <fmt/format.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>

#include <array>
#include <vector>

#include "debias/encoders/folded_convolution.h"
#include "debias/encoders/initialise.h"

namespace debias {
namespace {

constexpr std::array<int64_t, 4> kChannels = {16, 32, 64, 128};

class SimpleConvNet final : public Encoder {
 public:
  SimpleConvNet(const SimpleConvNetOptions& options, int64_t in_channels, uint64_t seed) : options_(options) {
    check_options(options, "encoder 'simple_convnet'");
    if (in_channels < 1) throw usage_error("encoder 'simple_convnet': images of {} channels; it needs at least 1", in_channels);
    const int64_t kernel = options.kernel == ConvNetKernel::k7 ? 7 : 1;
    int64_t in = in_channels;
    for (size_t i = 0; i < kChannels.size(); ++i) {
      const auto conv =
          torch::nn::Conv2dOptions(in, kChannels[i], kernel).stride(i == 0 ? options.stem_stride : options.stride).padding(kernel / 2);
      convs_.push_back(register_module(fmt::format("conv{}", i + 1), torch::nn::Conv2d(conv)));
      norms_.push_back(register_module(fmt::format("bn{}", i + 1), torch::nn::BatchNorm2d(kChannels[i])));
      in = kChannels[i];
    }
    initialise(*this, seed, InitStream::kEncoder);
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    torch::Tensor x = images;
    for (size_t i = 0; i < convs_.size(); ++i) {
      const Activation activation = i + 1 == convs_.size() ? options_.activation : Activation::kRelu;
      x = normalised(*norms_[i], convolve(convs_[i], x), {.activation = activation});
    }
    return x.mean({2, 3});
  }

  int64_t feature_dim() const override { return kChannels.back(); }

  std::string registry_name() const override { return "simple_convnet"; }

 private:
  SimpleConvNetOptions options_;
  std::vector<torch::nn::Conv2d> convs_;
  std::vector<torch::nn::BatchNorm2d> norms_;
};

}  // namespace

std::shared_ptr<Encoder> make_simple_convnet(const SimpleConvNetOptions& options, int64_t in_channels, uint64_t seed) {
  return std::make_shared<SimpleConvNet>(options, in_channels, seed);
}

namespace {

struct Layer {
  int64_t channels, kernel, stride;
  bool pooled;
};
constexpr std::array<Layer, 5> kLayers = {
    {{48, 11, 4, true}, {128, 5, 1, true}, {192, 3, 1, false}, {192, 3, 1, false}, {128, 3, 1, true}}};
constexpr int64_t kPositions = 6;   // a side of the last map
constexpr int64_t kLeastSide = 63;  // of an image of which one position is left
constexpr int64_t kStemPadding = 2;

class AlexNetHalf final : public Encoder {
 public:
  AlexNetHalf(const AlexNetHalfOptions& options, int64_t in_channels, uint64_t seed) {
    check_options(options, "encoder 'alexnet_half'");
    if (in_channels < 1) throw usage_error("encoder 'alexnet_half': images of {} channels; it needs at least 1", in_channels);
    int64_t in = in_channels;
    for (size_t i = 0; i < kLayers.size(); ++i) {
      const Layer& layer = kLayers[i];
      const int64_t padding = i == 0 ? kStemPadding : layer.kernel / 2;
      const auto conv = torch::nn::Conv2dOptions(in, layer.channels, layer.kernel).stride(layer.stride).padding(padding).bias(false);
      convs_.push_back(register_module(fmt::format("conv{}", i + 1), torch::nn::Conv2d(conv)));
      norms_.push_back(register_module(fmt::format("bn{}", i + 1), torch::nn::BatchNorm2d(layer.channels)));
      in = layer.channels;
    }
    initialise(*this, seed, InitStream::kEncoder, ConvolutionWeights::kFanInUniform);
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    if (images.size(2) < kLeastSide || images.size(3) < kLeastSide) {
      throw usage_error("encoder 'alexnet_half': images of {}x{} pixels; it needs at least {}x{}", images.size(2), images.size(3),
                        kLeastSide, kLeastSide);
    }
    BoundedMap x = {images};
    for (size_t i = 0; i < kLayers.size(); ++i) {
      x = normalised_convolution(convs_[i], norms_[i], x, {.activation = Activation::kRelu});
      if (kLayers[i].pooled) x.values = at::max_pool2d(x.values, {3, 3}, {2, 2});
    }
    const bool fits = x.values.size(2) == kPositions && x.values.size(3) == kPositions;
    return (fits ? x.values : at::adaptive_avg_pool2d(x.values, {kPositions, kPositions})).flatten(1);
  }

  int64_t feature_dim() const override { return kLayers.back().channels * kPositions * kPositions; }
  std::string registry_name() const override { return "alexnet_half"; }

 private:
  std::vector<torch::nn::Conv2d> convs_;
  std::vector<torch::nn::BatchNorm2d> norms_;
};

}  // namespace

std::shared_ptr<Encoder> make_alexnet_half(const AlexNetHalfOptions& options, int64_t in_channels, uint64_t seed) {
  return std::make_shared<AlexNetHalf>(options, in_channels, seed);
}

namespace {

constexpr int64_t kStemChannels = 64;
constexpr int64_t kSmallest = 5;  // what one feature sees
constexpr double kStemMomentum = 0.001;

struct Stage {
  int64_t channels, stride, kernel;  // of its first block; the second has stride 1 and kernel 1
};
constexpr std::array<Stage, 4> kStages = {{{64, 2, 3}, {128, 2, 1}, {256, 2, 1}, {512, 1, 1}}};

torch::nn::Conv2d valid_convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel).stride(stride).bias(false));
}

// conv-BN-ReLU-conv 1x1-BN, plus the shortcut without its last rows and columns where the 3x3 has none, ReLU.
class ValidBlock : public torch::nn::Module {
 public:
  ValidBlock(int64_t in, const Stage& stage)
      : conv1_(register_module("conv1", valid_convolution(in, stage.channels, stage.kernel, stage.stride))),
        bn1_(register_module("bn1", torch::nn::BatchNorm2d(stage.channels))),
        conv2_(register_module("conv2", valid_convolution(stage.channels, stage.channels, 1))),
        bn2_(register_module("bn2", torch::nn::BatchNorm2d(stage.channels))) {
    if (stage.stride == 1 && in == stage.channels) return;
    shortcut_ = valid_convolution(in, stage.channels, 1, stage.stride);
    shortcut_norm_ = torch::nn::BatchNorm2d(stage.channels);
    register_module("downsample", torch::nn::Sequential(shortcut_, shortcut_norm_));
  }

  BoundedMap forward(const BoundedMap& x) {
    const BoundedMap y = normalised_convolution(conv1_, bn1_, x, {.activation = Activation::kRelu});
    const BoundedMap shortcut = shortcut_ ? normalised_convolution(shortcut_, shortcut_norm_, x) : x;
    const torch::Tensor residual = shortcut.values.narrow(2, 0, y.values.size(2)).narrow(3, 0, y.values.size(3));
    return normalised_convolution(conv2_, bn2_, y, {.residual = residual, .activation = Activation::kRelu}, shortcut.bound);
  }

 private:
  torch::nn::Conv2d conv1_;
  torch::nn::BatchNorm2d bn1_;
  torch::nn::Conv2d conv2_;
  torch::nn::BatchNorm2d bn2_;
  torch::nn::Conv2d shortcut_{nullptr};
  torch::nn::BatchNorm2d shortcut_norm_{nullptr};
};

class BagNet18 final : public Encoder {
 public:
  BagNet18(const BagNetOptions& options, int64_t in_channels, uint64_t seed) {
    check_options(options, "encoder 'bagnet18'");
    if (in_channels < 1) throw usage_error("encoder 'bagnet18': images of {} channels; it needs at least 1", in_channels);
    conv1_ = register_module("conv1", valid_convolution(in_channels, kStemChannels, 1));
    conv2_ = register_module("conv2", valid_convolution(kStemChannels, kStemChannels, 3));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(torch::nn::BatchNorm2dOptions(kStemChannels).momentum(kStemMomentum)));
    int64_t in = kStemChannels;
    for (size_t i = 0; i < kStages.size(); ++i) {
      const Stage& stage = kStages[i];
      auto container = register_module(fmt::format("layer{}", i + 1), std::make_shared<torch::nn::Module>());
      blocks_.push_back(container->register_module("0", std::make_shared<ValidBlock>(in, stage)));
      in = stage.channels;
      blocks_.push_back(container->register_module("1", std::make_shared<ValidBlock>(in, Stage{in, 1, 1})));
    }
    initialise(*this, seed, InitStream::kEncoder);
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    if (images.size(2) < kSmallest || images.size(3) < kSmallest) {
      throw usage_error("encoder 'bagnet18': images of {}x{} pixels; it needs at least {}x{}", images.size(2), images.size(3), kSmallest,
                        kSmallest);
    }
    BoundedMap x = normalised_convolution(conv2_, bn1_, {conv1_(images)}, {.activation = Activation::kRelu});
    for (const auto& block : blocks_) x = block->forward(x);
    return x.values.mean({2, 3});
  }

  int64_t feature_dim() const override { return kStages.back().channels; }
  std::string registry_name() const override { return "bagnet18"; }

 private:
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::Conv2d conv2_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  std::vector<std::shared_ptr<ValidBlock>> blocks_;
};

}  // namespace

std::shared_ptr<Encoder> make_bagnet18(const BagNetOptions& options, int64_t in_channels, uint64_t seed) {
  return std::make_shared<BagNet18>(options, in_channels, seed);
}

}  // namespace debias

#include "debias/encoders/resnet.h"

#include <ATen/ops/max_pool2d.h>
#include <fmt/format.h>
#include <torch/nn/modules/container/sequential.h>

#include "debias/encoders/batch_norm.h"
#include "debias/encoders/folded_convolution.h"
#include "debias/encoders/initialise.h"

namespace debias {
namespace {

torch::nn::Conv2d convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct Architecture {
  std::array<int, 4> blocks;
  bool bottleneck;
};

Architecture architecture(int depth) {
  if (depth == 18) return {{2, 2, 2, 2}, false};
  if (depth == 34) return {{3, 4, 6, 3}, false};
  if (depth == 50) return {{3, 4, 6, 3}, true};
  throw usage_error("ResNet: no architecture of depth {}; choose 18, 34 or 50", depth);
}

}  // namespace

// conv-BN-act-...-conv-BN, plus the shortcut, act: two 3x3 convolutions, or 1x1, 3x3, 1x1 in a bottleneck.
class ResidualBlock : public torch::nn::Module {
 public:
  ResidualBlock(int64_t in, int64_t channels, int64_t stride, bool bottleneck, Activation activation) : activation_(activation) {
    const int64_t out = bottleneck ? 4 * channels : channels;
    if (bottleneck) {
      add(in, channels, 1, 1);
      add(channels, channels, 3, stride);
      add(channels, out, 1, 1);
    } else {
      add(in, channels, 3, stride);
      add(channels, out, 3, 1);
    }
    if (stride != 1 || in != out) {
      shortcut_ = convolution(in, out, 1, stride);
      shortcut_norm_ = torch::nn::BatchNorm2d(out);
      register_module("downsample", torch::nn::Sequential(shortcut_, shortcut_norm_));
    }
  }

  BoundedBranches forward(const BoundedBranches& x) {
    BoundedMap y = {x.maps.first, x.bound};
    for (size_t i = 0; i + 1 < convs_.size(); ++i) y = normalised_convolution(convs_[i], norms_[i], y, {.activation = activation_});
    const BoundedMap residual = shortcut({x.maps.second, x.bound});
    return normalised_convolution_branches(convs_.back(), norms_.back(), y, {.residual = residual.values, .activation = activation_},
                                           residual.bound);
  }

 private:
  BoundedMap shortcut(const BoundedMap& x) {
    if (!shortcut_) return x;
    if (auto folded = folded_convolution(*shortcut_, *shortcut_norm_, x)) return *std::move(folded);
    return {normalised(*shortcut_norm_, convolve(shortcut_, x.values))};
  }

  void add(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
    const size_t number = convs_.size() + 1;
    convs_.push_back(register_module(fmt::format("conv{}", number), convolution(in, out, kernel, stride)));
    norms_.push_back(register_module(fmt::format("bn{}", number), torch::nn::BatchNorm2d(out)));
  }

  Activation activation_;
  std::vector<torch::nn::Conv2d> convs_;
  std::vector<torch::nn::BatchNorm2d> norms_;
  torch::nn::Conv2d shortcut_{nullptr};
  torch::nn::BatchNorm2d shortcut_norm_{nullptr};
};

ResNet::ResNet(int depth, const ResNetOptions& options, int64_t in_channels, uint64_t seed) : depth_(depth), options_(options) {
  check_options(options, fmt::format("encoder 'resnet{}'", depth));
  if (in_channels < 1) throw usage_error("encoder 'resnet{}': images of {} channels; it needs at least 1", depth, in_channels);
  const Architecture shape = architecture(depth);
  const int64_t width = options.width, stem_width = options.stem_width.value_or(width);
  const bool cifar = options.stem == Stem::kCifar;
  conv1_ = register_module("conv1", convolution(in_channels, stem_width, cifar ? 3 : 7, cifar ? 1 : 2));
  bn1_ = register_module("bn1", torch::nn::BatchNorm2d(stem_width));

  int64_t in = stem_width;
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t channels = width << stage;
    auto container = register_module(fmt::format("layer{}", stage + 1), std::make_shared<torch::nn::Module>());
    stages_.emplace_back();
    for (int i = 0; i < shape.blocks[stage]; ++i) {
      const bool last = stage == 3 && i + 1 == shape.blocks[stage];
      auto block = std::make_shared<ResidualBlock>(in, channels, stage > 0 && i == 0 ? 2 : 1, shape.bottleneck,
                                                   last ? options.activation : Activation::kRelu);
      stages_.back().push_back(container->register_module(fmt::format("{}", i), block));
      in = shape.bottleneck ? 4 * channels : channels;
    }
  }
  feature_dim_ = in;
  initialise(*this, seed, InitStream::kEncoder);
  if (options.stem_weights == StemWeights::kUniform) initialise(*conv1_, seed, InitStream::kEncoder, ConvolutionWeights::kFanInUniform);
}

torch::Tensor ResNet::map(const torch::Tensor& images, int stage) {
  BoundedBranches x = normalised_convolution_branches(conv1_, bn1_, {images}, {.activation = Activation::kRelu});
  if (stage > 0 && options_.stem == Stem::kImageNet) x.maps.first = x.maps.second = at::max_pool2d(x.maps.first, {3, 3}, {2, 2}, {1, 1});
  for (int i = 0; i < stage; ++i) {
    for (const auto& block : stages_[i]) x = block->forward(x);
  }
  return x.maps.first;
}

torch::Tensor ResNet::forward(const torch::Tensor& images) { return map(images, 4).mean({2, 3}); }

std::vector<EncoderStage> ResNet::stages() const {
  std::vector<EncoderStage> stages = {{"stem", {"conv1", "bn1"}}};
  for (int stage = 1; stage <= 4; ++stage) {
    const std::string name = fmt::format("layer{}", stage);
    stages.push_back({name, {name}});
  }
  return stages;
}

std::optional<Config> resnet_section(int depth, const WeightShapes& shapes) {
  const auto channels = [&](const std::string& key) {
    const auto found = shapes.find(key);
    return found == shapes.end() || found->second.size() != 4 ? 0 : found->second[0];
  };
  const auto stem = shapes.find("conv1.weight");
  const int64_t stem_width = channels("conv1.weight"), width = channels("layer1.0.conv1.weight");
  if (stem_width == 0 || width == 0 || channels("layer4.0.downsample.0.weight") == 0) return std::nullopt;
  int blocks = 0;
  while (channels(fmt::format("layer3.{}.conv1.weight", blocks)) > 0) ++blocks;
  const bool bottleneck = channels("layer1.0.conv3.weight") > 0;
  if (depth != (blocks == 2 && !bottleneck ? 18 : blocks != 6 ? 0 : bottleneck ? 50 : 34)) return std::nullopt;
  Config section = Config::map({{"name", Config::string(fmt::format("resnet{}", depth))}});
  section.set("stem", Config::scalar(std::string(enum_name(stem->second[3] == 7 ? Stem::kImageNet : Stem::kCifar))));
  if (width != 64) section.set("width", Config::integer(width));
  if (stem_width != width) section.set("stem_width", Config::integer(stem_width));
  return section;
}

}  // namespace debias

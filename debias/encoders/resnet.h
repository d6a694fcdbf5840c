// ResNet-18, -34 and -50 (He et al. 2016) with torchvision's names, without the classifier.
//
// Four stages of residual blocks of w, 2w, 4w, 8w channels (w = `width`, 64 in the paper); stages 2 to 4 begin with stride 2, which in a
// bottleneck (ResNet-50, torchvision's "v1.5") sits on the 3x3 convolution; the shortcut is a 1x1 convolution with batch normalisation
// where the shape changes. Features are the mean over positions: 8w of them, 32w for ResNet-50. With w = 64 and an ImageNet stem the
// state loads into torchvision's model of the same name, and torchvision's and timm's weights load here. The networks of contrastive multiview coding (Tian et al. 2020) keep a stem of 64
// channels at every width: `stem_width: 64` with w = 32, 64, 128 is its resnet50v1, v2, v3, and the features are its layer 6.
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/options.h"
#include "debias/encoders/backbone_options.h"
#include "debias/encoders/batch_norm.h"
#include "debias/encoders/encoder.h"

namespace debias {

enum class Stem {
  kCifar,     // 3x3, stride 1: 32x32 stays 32x32
  kImageNet,  // 7x7, stride 2, then a 3x3 max-pool of stride 2: 224x224 becomes 56x56
};

template <>
struct EnumNames<Stem> {
  static constexpr std::array<std::pair<std::string_view, Stem>, 2> values = {{{"cifar", Stem::kCifar}, {"imagenet", Stem::kImageNet}}};
};

// Initialisation of the first convolution: as the others, or as torch's own layers do. The code of Debiased Contrastive Learning, and its
// descendants, replaces torchvision's first layer by a 3x3 one and leaves that with torch's weights, U(-1/sqrt(27), 1/sqrt(27)) of colour.
enum class StemWeights { kNormal, kUniform };

template <>
struct EnumNames<StemWeights> {
  static constexpr std::array<std::pair<std::string_view, StemWeights>, 2> values = {
      {{"fan_out_normal", StemWeights::kNormal}, {"fan_in_uniform", StemWeights::kUniform}}};
};

class ResNetOptions : public BackboneOptions {
 public:
  DEBIAS_OPTION(ResNetOptions, Stem, stem, Stem::kCifar)
  DEBIAS_OPTION(ResNetOptions, int64_t, width, 64)
  DEBIAS_OPTION(ResNetOptions, Auto<int64_t>, stem_width, {})
  DEBIAS_OPTION(ResNetOptions, StemWeights, stem_weights, StemWeights::kNormal)
  DEBIAS_OPTION(ResNetOptions, Activation, activation, Activation::kRelu)
  static const OptionTable<ResNetOptions>& table();
};

class ResidualBlock;

class ResNet final : public Encoder {
 public:
  // `depth` is 18, 34 or 50; the options of BackboneOptions are only recorded (ChosenEncoder::make reads the file).
  ResNet(int depth, const ResNetOptions& options, int64_t in_channels, uint64_t seed);

  torch::Tensor forward(const torch::Tensor& images) override;
  int64_t feature_dim() const override { return feature_dim_; }
  std::string registry_name() const override { return "resnet" + std::to_string(depth_); }
  const ResNetOptions& options() const { return options_; }
  std::vector<EncoderStage> stages() const override;  // stem, layer1, ..., layer4

  // The map [N, channels, h, w] after stage 0 (the stem, before its pooling), 1, ..., 4.
  torch::Tensor map(const torch::Tensor& images, int stage);

 private:
  int depth_;
  ResNetOptions options_;
  int64_t feature_dim_ = 0;
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  std::vector<std::vector<std::shared_ptr<ResidualBlock>>> stages_;
};

// Section of a ResNet of this depth whose weights have these keys, with non-default options; nothing for others.
std::optional<Config> resnet_section(int depth, const WeightShapes& shapes);

}  // namespace debias

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

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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

constexpr auto enum_words(Stem) { return named("cifar", "imagenet"); }

// Initialisation of the first convolution: as the others, or as torch's own layers do. The code of Debiased Contrastive Learning, and its
// descendants, replaces torchvision's first layer by a 3x3 one and leaves that with torch's weights, U(-1/sqrt(27), 1/sqrt(27)) of colour.
enum class StemWeights { kNormal, kUniform };

constexpr auto enum_words(StemWeights) { return named("fan_out_normal", "fan_in_uniform"); }

struct ResNetOptions {
  Stem stem = Stem::kCifar;
  int64_t width = 64;
  Auto<int64_t> stem_width = {};
  StemWeights stem_weights = StemWeights::kNormal;
  Activation activation = Activation::kRelu;
  BackboneOptions backbone = {};
  void describe(OptionVisitor& o) {
    o("stem", stem, "first layers: 3x3 for small images, or 7x7 with stride 2 and max-pooling");
    o("width", width, Range::closed(1, 1024), "channels of the first stage, a multiple of 8; 16 suits a CPU");
    o("stem_width", stem_width, Range::closed(1, 1024), "channels of the first layers, a multiple of 8; auto: width");
    o("stem_weights", stem_weights, "initialisation of the first convolution: as for the others, or the default that DCL's code keeps");
    o("activation", activation, "activation of the last block; tanh gives signed features for models without a head");
    backbone.describe(o);
    o.check([this](const std::string& what) {
      // oneDNN's AVX2 kernel for the weight gradient of a 1x1 convolution writes past its buffer at other channel counts.
      const auto require = [&what](const char* name, int64_t channels) {
        if (channels % 8 != 0) throw usage_error("{}: {}: {} is not a multiple of 8; give 8, 16, 24, ...", what, name, channels);
      };
      require("width", width);
      require("stem_width", stem_width.value_or(8));
    });
  }
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

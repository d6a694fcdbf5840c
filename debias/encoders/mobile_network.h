// MobileNetV2 and EfficientNet-Lite0, two networks of inverted residuals.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "debias/core/options.h"
#include "debias/encoders/backbone_options.h"
#include "debias/encoders/encoder.h"

namespace debias {

// MobileNetV2 (Sandler et al. 2018) with torchvision's names, without the classifier: 17 inverted residuals, 1280 features.
//
// Weights of torchvision's mobilenet_v2 and of timm's mobilenetv2_100 load; their classifiers are ignored. Frozen stages are
// features.0 to features.18.
struct MobileNetV2Options {
  BackboneOptions backbone = {};
  void describe(OptionVisitor& o) { backbone.describe(o); }
};

std::shared_ptr<Encoder> make_mobilenet_v2(const MobileNetV2Options& options, int64_t in_channels, uint64_t seed);
std::optional<Config> mobilenet_v2_section(const WeightShapes& shapes);  // of torchvision's and timm's weights

// EfficientNet-Lite0 with timm's names, without the classifier: 16 inverted residuals without squeeze and excitation, ReLU6, 1280 features
// (Tan and Le 2019; the Lite variant is Google's, for integer arithmetic).
//
// Two networks have this name. timm's efficientnet_lite0 pads symmetrically and has torch's batch normalisation (eps 1e-5); Google's own,
// which timm calls tf_efficientnet_lite0, pads as TensorFlow does, with eps 1e-3. Their weights have the same keys, so that `origin` says
// which: weights of one in the other compute something else. Keys of efficientnet-pytorch (`_conv_stem.weight`) are Google's network.
// Frozen stages are stem, blocks.0 to blocks.6, and head.
enum class LiteOrigin { kTimm, kTensorflow };
constexpr auto enum_words(LiteOrigin) { return named("timm", "tensorflow"); }

struct EfficientNetLite0Options {
  LiteOrigin origin = LiteOrigin::kTimm;
  BackboneOptions backbone = {};
  void describe(OptionVisitor& o) {
    o("origin", origin, "timm's efficientnet_lite0, or Google's (tf_efficientnet_lite0): other padding and normalisation");
    backbone.describe(o);
  }
};

std::shared_ptr<Encoder> make_efficientnet_lite0(const EfficientNetLite0Options& options, int64_t in_channels, uint64_t seed);
std::optional<Config> efficientnet_lite0_section(const WeightShapes& shapes);  // of timm's and efficientnet-pytorch's weights

}  // namespace debias

// MobileNetV2 (Sandler et al. 2018) with torchvision's names, without the classifier: 17 inverted residuals, 1280 features.
//
// Weights of torchvision's mobilenet_v2 and of timm's mobilenetv2_100 load; their classifiers are ignored. Frozen stages are
// features.0 to features.18.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "debias/core/options.h"
#include "debias/encoders/backbone_options.h"
#include "debias/encoders/encoder.h"

namespace debias {

class MobileNetV2Options : public BackboneOptions {
 public:
  static const OptionTable<MobileNetV2Options>& table();
};

std::shared_ptr<Encoder> make_mobilenet_v2(const MobileNetV2Options& options, int64_t in_channels, uint64_t seed);
std::optional<Config> mobilenet_v2_section(const WeightShapes& shapes);  // of torchvision's and timm's weights

}  // namespace debias

// Options of every image encoder beside its shape: weights to start from, and how they are trained on.
//
//   encoder: {name: mobilenet_v2, weights: F.safetensors, freeze: 3, freeze_epochs: 2, learning_rate: 0.1}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "debias/core/options.h"
#include "debias/encoders/freezing.h"

namespace debias {

class BackboneOptions {
 public:
  DEBIAS_OPTION(BackboneOptions, std::optional<std::string>, weights, std::nullopt)
  DEBIAS_OPTION(BackboneOptions, Freeze, freeze, {})
  DEBIAS_OPTION(BackboneOptions, int64_t, freeze_epochs, 0)
  DEBIAS_OPTION(BackboneOptions, double, learning_rate, 1)
  DEBIAS_OPTION(BackboneOptions, double, layer_decay, 1)
  DEBIAS_OPTION(BackboneOptions, std::optional<std::vector<double>>, mean, std::nullopt)
  DEBIAS_OPTION(BackboneOptions, std::optional<std::vector<double>>, std, std::nullopt)
  static const OptionTable<BackboneOptions>& table();
};

}  // namespace debias

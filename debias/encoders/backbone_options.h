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

struct EncoderEntry;

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

// The 3x3 stem of small images, the default of those that have two: no weights are published for it.
bool has_small_stem(const EncoderEntry& entry, const Config& section);

// Reads them from an encoder's section and ignores its other keys; defaults for missing ones.
BackboneOptions backbone_options(const Config& section);

// Normalisation of an encoder's images: by `mean` and `std` of the section, else, if it starts from a file, by those of the
// networks that are published for it (PretrainedInput); none are with the 3x3 stem. Nothing: by the constants of the data set. Usage errors: an unknown encoder, one of
// the two alone, lists of different lengths.
struct InputNormalisation {
  std::vector<double> mean, std;
  bool asked = false;  // by the section
};
std::optional<InputNormalisation> input_normalisation(const Config& section);

// The section without the weights to start from: of a network whose weights come from a checkpoint.
Config without_weights(Config section);

}  // namespace debias

// An encoder and a head as a recipe chooses them: their options are read and checked, and what is left is to make them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/encoders/backbone_options.h"

namespace debias {

class Encoder;
class Head;
struct EncoderEntry;
struct HeadEntry;

// Input of pretrained networks, if a file of weights does not say: the mean and deviation per channel of values in [0, 1],
// and the side of the square images.
struct PretrainedInput {
  std::vector<double> mean, std;
  int64_t side = 0;
};

struct InputNormalisation {
  std::vector<double> mean, std;
  bool asked = false;  // by the section
};

struct ChosenEncoder {
  const EncoderEntry* entry = nullptr;
  Config section = {};                             // every option that has a default written out, with `name`; reads as the same
  std::string where = {};                          // "recipe.yaml:12: " or empty, for messages
  BackboneOptions backbone = {};                   // defaults where it reads words
  std::string weights_file = {};                   // that it starts from; empty: none
  std::optional<PretrainedInput> pretrained = {};  // of the networks that weights of its shape are published for
  std::optional<int64_t> channels = {};            // of the images, where an option says it
  // Parameters are initialised from `seed` alone (RngDomain::kInit), whatever ran before. Then weights are read from the file
  // (import_weights of state.h) and stages frozen. in_channels: the number of words where it reads words.
  std::function<std::shared_ptr<Encoder>(int64_t in_channels, uint64_t seed)> make = {};
  std::function<ChosenEncoder()> without_weights = {};  // the same without those to start from: they come from a checkpoint

  // Of the images: by `mean` and `std` of the section, else, if it starts from a file, by those of the networks that are published for it.
  // Nothing: by the constants of the data set.
  std::optional<InputNormalisation> normalisation() const;
};
ChosenEncoder read_encoder(const Config& section);

struct ChosenHead {
  const HeadEntry* entry = nullptr;
  Config section = {};  // likewise
  std::function<std::shared_ptr<Head>(int64_t feature_dim, uint64_t seed)> make = {};

  bool projects() const;  // false: its output is the features themselves
};
ChosenHead read_head(const Config& section);  // of none: none

}  // namespace debias

// Options of every image encoder beside its shape: weights to start from, and how they are trained on.
//
//   encoder: {name: mobilenet_v2, weights: F.safetensors, freeze: 3, freeze_epochs: 2, learning_rate: 0.1}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/options.h"

namespace debias {

// Which part of an encoder stays as its weights are: `freeze: none`, `all`, a number of stages from the images on, or the name of the last
// frozen stage.
class Encoder;

struct Freeze {
  enum class Kind { kNone, kAll, kFirst, kThrough };

  Kind kind = Kind::kNone;
  int64_t count = 0;  // kFirst
  std::string stage;  // kThrough
  bool operator==(const Freeze&) const = default;
};

template <>
struct options_detail::Field<Freeze> {
  static std::string type() { return "word or integer"; }
  static Freeze parse(const Config& value, const Range& range, const std::string& what);
  static Config emit(const Freeze& freeze);
};

// Range of `freeze_epochs`, which freezes the whole encoder for a while (Encoder::hold).
constexpr const char* kFreezeEpochsHelp = "number of first epochs that train only heads and classifiers, with the whole encoder frozen";
constexpr double kMostFreezeEpochs = 100000;

// Freezes the encoder. Usage errors: more stages than there are, an unknown stage with the nearest, stages of an encoder without any.
void apply_freeze(Encoder& encoder, const Freeze& freeze, const std::string& prefix);

// The factor of the learning rate of a parameter of the encoder: `factor` * decay^d, where d is 1 for the last stage and one more for each
// stage before it (Clark et al. 2020). A usage error where decay is not 1 and the encoder has no stages.
std::vector<double> rate_factors(const Encoder& encoder, const std::vector<std::string>& parameters, double factor, double decay);

struct BackboneOptions {
  std::optional<std::string> weights = std::nullopt;
  Freeze freeze = {};
  int64_t freeze_epochs = 0;
  double learning_rate = 1;
  double layer_decay = 1;
  std::optional<std::vector<double>> mean = std::nullopt;
  std::optional<std::vector<double>> std = std::nullopt;
  void describe(OptionVisitor& o);
};

}  // namespace debias

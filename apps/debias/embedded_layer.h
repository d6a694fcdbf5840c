// The layers of a run's network that can be embedded.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "apps/debias/loaded_run.h"
#include "debias/core/options.h"

namespace debias {

enum class Layer { kEncoder, kProjection };
template <>
struct EnumNames<Layer> {
  static constexpr std::array<std::pair<std::string_view, Layer>, 2> values = {
      {{"encoder", Layer::kEncoder}, {"projection", Layer::kProjection}}};
};

// A usage error with the nearest name.
Layer layer_named(const std::string& word);

// Images to the rows of that layer: the encoder's pooled output, or the head's output, neither normalised. A usage error on the projection
// of a run without a head, which is its encoder's output.
std::shared_ptr<Encoder> embedded_layer(const LoadedRun& run, Layer layer);

}  // namespace debias

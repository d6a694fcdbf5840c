// The layers of a run's network that can be embedded.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "debias/augment/view_pipeline.h"
#include "debias/core/options.h"
#include "debias/runs/loaded_run.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

enum class Layer { kEncoder, kProjection };
template <>
struct EnumNames<Layer> {
  static constexpr std::array<std::pair<std::string_view, Layer>, 2> values = {
      {{"encoder", Layer::kEncoder}, {"projection", Layer::kProjection}}};
};

// Parses the name of a layer. Usage error with the nearest name.
Layer layer_named(const std::string& word);

// Maps images to the output of that layer: the encoder's pooled output or the head's output, not normalised. Usage error for the projection
// of a run without a head: use the encoder's output.
std::shared_ptr<Encoder> embedded_layer(const LoadedRun& run, Layer layer);

// The views of evaluation, with the recipe's normalisation, or else that of the images that `normalised_as` describes.
ViewPipeline embedding_views(const Recipe& recipe, const DatasetInfo& normalised_as);

}  // namespace debias

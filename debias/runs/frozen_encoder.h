// A pretrained encoder without a run, as `--encoder` and `--from` name it.
//
//   F.safetensors                                        the keys of the file identify the encoder
//   RECIPE.yaml                                          its `encoder` section, and the views of evaluation
//   '{name: vit_small, weights: F.safetensors, ...}'     a section of a recipe
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/augment/view_pipeline.h"
#include "debias/core/config.h"
#include "debias/data/sample_table.h"
#include "debias/encoders/encoder.h"

namespace debias {

struct FrozenEncoder {
  Config section;                              // as written, with `weights`, or `file`
  ChosenEncoder encoder;                       // of that section
  Config views;                                // of a recipe, including `eval`; null: those of the published weights
  std::vector<std::string> files = {};         // that were read
  std::vector<std::string> view_changes = {};  // `views.KEY=value`, after `views`
};

// `option` is named in messages. Usage errors: a section of an unknown encoder or without weights, or a folder. Data errors: a file that is
// missing, not a safetensors file, or has the keys of no known encoder.
FrozenEncoder frozen_encoder(const std::string& text, const std::string& option);

// The encoder in evaluation mode, for images with that number of channels.
std::shared_ptr<Encoder> opened_encoder(const FrozenEncoder& frozen, int64_t channels);

// The side of the square images that the published weights of such an encoder were trained on. Usage error if it is unknown.
int64_t pretrained_side(const ChosenEncoder& encoder);

// Preprocessing of an image for the encoder: the recipe's views of evaluation; without a recipe, a resize of the short side to 8/7 of the
// weights' side, a centre crop, and the weights' normalisation. `view_changes` then apply. Usage error if the size is unknown or the
// encoder needs another one.
ViewPipeline frozen_views(const FrozenEncoder& frozen, const Encoder& encoder, const DatasetInfo& images);

}  // namespace debias

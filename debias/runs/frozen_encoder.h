// An encoder with weights of its own, without a run: what `--encoder` and `--from` name.
//
//   F.safetensors                                        the encoder is recognised by the file's keys
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
  Config section;                              // with `weights`, or `file`
  Config views;                                // of a recipe, `eval` included; null: those of the published weights
  std::vector<std::string> files = {};         // that it was read from
  std::vector<std::string> view_changes = {};  // `views.KEY=value`, after `views`

  std::string weights() const;  // path of the file with the weights
  std::string name() const;
};

// `option` is named in messages. Usage errors: a section of an unknown encoder or without weights, a folder. Data errors: no such file, one
// that is not a safetensors file, keys of no known encoder.
FrozenEncoder frozen_encoder(const std::string& text, const std::string& option);

// In evaluation mode, for images of so many channels.
std::shared_ptr<Encoder> opened_encoder(const FrozenEncoder& frozen, int64_t channels);

// The side of the square images that weights of such a section were trained on. A usage error where it is not known.
int64_t pretrained_side(const Config& section);

// Preprocessing of an image for the encoder: the recipe's views of evaluation, or the short side to 8/7 of the weights' side, the
// centre crop, and the weights' normalisation; then the changes. Usage errors if the size is unknown, or the encoder takes another one.
ViewPipeline frozen_views(const FrozenEncoder& frozen, const Encoder& encoder, const DatasetInfo& images);

}  // namespace debias

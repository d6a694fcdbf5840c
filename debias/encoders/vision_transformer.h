// ViT-S/16 (Dosovitskiy et al. 2021; Touvron et al. 2021) with timm's names, without the classifier: 12 pre-norm blocks of 6 heads over
// patches of 16 x 16 pixels, width 384; the features are the class token behind the last normalisation.
//
// Weights of timm's vit_small_patch16_224, of DINO's ViT-S/16, and of torchvision's VisionTransformer of this size load. It takes square
// images of `size` pixels, a multiple of 16; the file's table of positions has to be of that size. Without weights the tables of positions
// and classes begin with U(-s, s) of deviation 0.02, linear layers as elsewhere (initialise.h). Frozen stages are embed, blocks.0 to
// blocks.11; the last normalisation belongs to the last block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "debias/core/options.h"
#include "debias/encoders/backbone_options.h"
#include "debias/encoders/encoder.h"

namespace debias {

struct VitSmallOptions {
  int64_t size = 224;
  BackboneOptions backbone = {};
  void describe(OptionVisitor& o);
};

std::shared_ptr<Encoder> make_vit_small(const VitSmallOptions& options, int64_t in_channels, uint64_t seed);
std::optional<Config> vit_small_section(const WeightShapes& shapes);  // of timm's and torchvision's weights

}  // namespace debias

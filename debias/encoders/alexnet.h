// AlexNet with half the channels and batch normalisation, one of the pair of contrastive multiview coding (Tian et al. 2020).
//
//   conv 11x11, stride 4 -> 48, pool;  conv 5x5 -> 128, pool;  conv 3x3 -> 192;  conv 3x3 -> 192;  conv 3x3 -> 128, pool
//
// Each convolution is without bias and followed by batch normalisation and ReLU; pools are 3x3 maxima of stride 2. Features are the last
// map, its layer 5: 128 channels of 6x6 positions, 4608 numbers. Images of 224x224 give just those positions; of other images they are
// means (torchvision's AlexNet does the same). The fully connected layers are the head `alexnet`. Weights start as torch's own do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "debias/core/options.h"
#include "debias/encoders/backbone_options.h"
#include "debias/encoders/encoder.h"

namespace debias {

struct AlexNetHalfOptions {
  BackboneOptions backbone = {};
  void describe(OptionVisitor& o) { backbone.describe(o); }
};

// Its images need at least 63 pixels a side (a usage error otherwise).
std::shared_ptr<Encoder> make_alexnet_half(const AlexNetHalfOptions& options, int64_t in_channels, uint64_t seed);

}  // namespace debias

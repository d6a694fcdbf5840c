// BagNet-18 as ReBias has it (Bahng et al. 2020, after Brendel and Bethge 2019): a residual network whose features see 5x5 pixels, hence
// texture and colour but no shape. The bias model of SoftCon and of FairKL with continuous bias on ImageNet.
//
//   conv 1x1, conv 3x3 (64 channels), then four stages of two blocks, 64/128/256/512 channels, strides 2, 2, 2, 1, nothing padded; the mean
//   over positions: 512 features, not below 0. Only conv2 and the first convolution of the first stage are 3x3, all others 1x1.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "debias/core/options.h"
#include "debias/encoders/backbone_options.h"
#include "debias/encoders/encoder.h"

namespace debias {

struct BagNetOptions {
  BackboneOptions backbone = {};
  void describe(OptionVisitor& o) { backbone.describe(o); }
};

// Its images need at least 5 pixels a side (a usage error otherwise).
std::shared_ptr<Encoder> make_bagnet18(const BagNetOptions& options, int64_t in_channels, uint64_t seed);

}  // namespace debias

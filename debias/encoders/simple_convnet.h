// SimpleConvNet, the encoder of the Biased-MNIST experiments (Bahng et al. 2020): four convolutions of 16, 32, 64 and 128 channels with
// bias, each followed by batch normalisation and ReLU (`activation` after the last), then the mean over positions: 128 features.
// Nothing is pooled in between. With `kernel: 1` it sees colour but no shape: the bias model of ReBias and SoftCon.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "debias/core/options.h"
#include "debias/encoders/backbone_options.h"
#include "debias/encoders/batch_norm.h"
#include "debias/encoders/encoder.h"

namespace debias {

enum class ConvNetKernel { k7, k1 };

constexpr auto enum_words(ConvNetKernel) { return named("7", "1"); }

struct SimpleConvNetOptions {
  Activation activation = Activation::kRelu;
  ConvNetKernel kernel = ConvNetKernel::k7;
  int64_t stem_stride = 1;
  int64_t stride = 1;
  BackboneOptions backbone = {};
  void describe(OptionVisitor& o) {
    o("activation", activation, "activation of the last layer; tanh gives signed features for models without a head");
    o("kernel", kernel, "side of every convolution; 1 sees colour but no shape");
    o("stem_stride", stem_stride, Range::closed(1, 2), "stride of the first convolution; 2 suits a CPU");
    o("stride", stride, Range::closed(1, 3), "stride of the second to fourth convolution; 2 or 3 suits a CPU");
    backbone.describe(o);
  }
};

std::shared_ptr<Encoder> make_simple_convnet(const SimpleConvNetOptions& options, int64_t in_channels, uint64_t seed);

}  // namespace debias

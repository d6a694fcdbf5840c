// Convolutional networks without residual blocks: SimpleConvNet, AlexNet, BagNet.
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

// SimpleConvNet, the encoder of the Biased-MNIST experiments (Bahng et al. 2020): four convolutions of 16, 32, 64 and 128 channels with
// bias, each followed by batch normalisation and ReLU (`activation` after the last), then the mean over positions: 128 features.
// Nothing is pooled in between. With `kernel: 1` it sees colour but no shape: the bias model of ReBias and SoftCon.
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

// AlexNet with half the channels and batch normalisation, one of the pair of contrastive multiview coding (Tian et al. 2020).
//
//   conv 11x11, stride 4 -> 48, pool;  conv 5x5 -> 128, pool;  conv 3x3 -> 192;  conv 3x3 -> 192;  conv 3x3 -> 128, pool
//
// Each convolution is without bias and followed by batch normalisation and ReLU; pools are 3x3 maxima of stride 2. Features are the last
// map, its layer 5: 128 channels of 6x6 positions, 4608 numbers. Images of 224x224 give just those positions; of other images they are
// means (torchvision's AlexNet does the same). The fully connected layers are the head `alexnet`. Weights start as torch's own do.
struct AlexNetHalfOptions {
  BackboneOptions backbone = {};
  void describe(OptionVisitor& o) { backbone.describe(o); }
};

// Its images need at least 63 pixels a side (a usage error otherwise).
std::shared_ptr<Encoder> make_alexnet_half(const AlexNetHalfOptions& options, int64_t in_channels, uint64_t seed);

// BagNet-18 as ReBias has it (Bahng et al. 2020, after Brendel and Bethge 2019): a residual network whose features see 5x5 pixels, hence
// texture and colour but no shape. The bias model of SoftCon and of FairKL with continuous bias on ImageNet.
//
//   conv 1x1, conv 3x3 (64 channels), then four stages of two blocks, 64/128/256/512 channels, strides 2, 2, 2, 1, nothing padded; the mean
//   over positions: 512 features, not below 0. Only conv2 and the first convolution of the first stage are 3x3, all others 1x1.
struct BagNetOptions {
  BackboneOptions backbone = {};
  void describe(OptionVisitor& o) { backbone.describe(o); }
};

// Its images need at least 5 pixels a side (a usage error otherwise).
std::shared_ptr<Encoder> make_bagnet18(const BagNetOptions& options, int64_t in_channels, uint64_t seed);

}  // namespace debias

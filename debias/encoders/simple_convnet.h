// SimpleConvNet, the encoder of the Biased-MNIST experiments (Bahng et al. 2020): four convolutions of 16, 32, 64 and 128 channels with
// bias, each followed by batch normalisation and ReLU (`activation` after the last), then the mean over positions: 128 features.
// Nothing is pooled in between. With `kernel: 1` it sees colour but no shape: the bias model of ReBias and SoftCon.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "debias/core/options.h"
#include "debias/encoders/backbone_options.h"
#include "debias/encoders/batch_norm.h"
#include "debias/encoders/encoder.h"

namespace debias {

enum class ConvNetKernel { k7, k1 };

template <>
struct EnumNames<ConvNetKernel> {
  static constexpr std::array<std::pair<std::string_view, ConvNetKernel>, 2> values = {
      {{"7", ConvNetKernel::k7}, {"1", ConvNetKernel::k1}}};
};

class SimpleConvNetOptions : public BackboneOptions {
 public:
  DEBIAS_OPTION(SimpleConvNetOptions, Activation, activation, Activation::kRelu)
  DEBIAS_OPTION(SimpleConvNetOptions, ConvNetKernel, kernel, ConvNetKernel::k7)
  DEBIAS_OPTION(SimpleConvNetOptions, int64_t, stem_stride, 1)
  DEBIAS_OPTION(SimpleConvNetOptions, int64_t, stride, 1)
  static const OptionTable<SimpleConvNetOptions>& table();
};

std::shared_ptr<Encoder> make_simple_convnet(const SimpleConvNetOptions& options, int64_t in_channels, uint64_t seed);

}  // namespace debias

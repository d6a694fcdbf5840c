// The non-linearity of an encoder's last layers: tanh is what headless models with a signed embedding use.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>
#include <utility>

#include "debias/core/options.h"

namespace debias {

enum class Activation { kRelu, kTanh };

template <>
struct EnumNames<Activation> {
  static constexpr std::array<std::pair<std::string_view, Activation>, 2> values = {
      {{"relu", Activation::kRelu}, {"tanh", Activation::kTanh}}};
};

// In place: both derivatives are computed from the result, and neither batch normalisation nor addition needs its own output again.
inline void activate_(at::Tensor& x, Activation activation) {
  if (activation == Activation::kRelu) {
    x.relu_();
  } else {
    x.tanh_();
  }
}

}  // namespace debias

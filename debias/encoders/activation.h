// The non-linearity of an encoder's last layers: tanh is what headless models with a signed embedding use.
#pragma once

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

}  // namespace debias

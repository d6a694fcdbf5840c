// The splits that data sets of two fixed parts have.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "debias/core/options.h"

namespace debias {

enum class Split { kTrain, kTest, kHeldOut };

template <>
struct EnumNames<Split> {
  static constexpr std::array<std::pair<std::string_view, Split>, 3> values = {
      {{"train", Split::kTrain}, {"test", Split::kTest}, {"held_out", Split::kHeldOut}}};
};

}  // namespace debias

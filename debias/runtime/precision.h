// In what a network's convolutions and products, or a loss's inner products, are computed; weights and sums stay float32.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "debias/core/options.h"

namespace debias {

enum class Precision { kFp32, kBf16 };
template <>
struct EnumNames<Precision> {
  static constexpr std::array<std::pair<std::string_view, Precision>, 2> values = {
      {{"fp32", Precision::kFp32}, {"bf16", Precision::kBf16}}};
};

}  // namespace debias

// In what a network's convolutions and products, or a loss's inner products, are computed; weights and sums stay float32.
#pragma once

#include <c10/core/Device.h>

#include <array>
#include <string_view>
#include <utility>

#include "debias/core/enum_names.h"

namespace debias {

enum class Precision { kFp32, kBf16 };
constexpr auto enum_words(Precision) { return named("fp32", "bf16"); }

// The precision of what torch computes while this lives.

// bf16: torch's autocast to bfloat16 on devices of this type; fp32: none, even if the caller has switched it on. The
// earlier setting is restored at the end, and with the outermost of them torch forgets the weights that it has cast.
class Autocast {
 public:
  Autocast(c10::DeviceType device, Precision precision);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool before_;
};

}  // namespace debias

// Values of 16-bit floating point numbers, exactly, subnormal ones and infinities included.
#pragma once

#include <bit>
#include <cstdint>

namespace debias {

// IEEE 754 binary16: the exponent is moved to float32's place and its bias corrected by a product, which also normalises subnormal numbers.
inline float float16_value(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t rest = static_cast<uint32_t>(bits & 0x7fffu) << 13;
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) * 0x1p112f);
  const uint32_t special = rest | 0x7f800000u;
  return std::bit_cast<float>(sign | ((bits & 0x7c00u) == 0x7c00u ? special : finite));
}

inline float bfloat16_value(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace debias

// Element types of arrays in files.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace debias {

enum class DType { kBool, kUInt8, kUInt16, kUInt32, kUInt64, kInt8, kInt16, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64 };

size_t size_of(DType dtype);            // bytes of one element
std::string_view name_of(DType dtype);  // "float32", "int64", ...

// Values of 16-bit floating point numbers, exactly, subnormal ones and infinities included.

// IEEE 754 binary16: the exponent is moved to float32's place and its bias corrected by a product, which also normalises subnormal numbers.
inline float float16_value(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t rest = static_cast<uint32_t>(bits & 0x7fffu) << 13;
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) * 0x1p112f);
  const uint32_t special = rest | 0x7f800000u;
  return std::bit_cast<float>(sign | ((bits & 0x7c00u) == 0x7c00u ? special : finite));
}

inline float bfloat16_value(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// Sizes read from files or users are multiplied with overflow checks.
inline std::optional<int64_t> checked_multiply(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// The product of non-negative extents; nullopt on a negative extent or overflow.
inline std::optional<int64_t> checked_product(std::span<const int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents) {
    if (extent < 0 || __builtin_mul_overflow(result, extent, &result)) return std::nullopt;
  }
  return result;
}

}  // namespace debias

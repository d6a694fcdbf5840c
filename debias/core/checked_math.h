// Sizes read from files or users are multiplied with overflow checks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace debias {

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

#include "debias/core/clock_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace debias {

std::string clock_text(double seconds) {
  constexpr double kMost = 1e12;
  const auto whole = std::isfinite(seconds) && seconds > 0 ? static_cast<int64_t>(std::fmin(seconds, kMost) + 0.5) : int64_t{0};
  return whole < 3600 ? fmt::format("{}:{:02d}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02d}:{:02d}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace debias

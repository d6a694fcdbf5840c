#include "debias/core/human_units.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "debias/core/config.h"
#include "debias/core/error.h"

namespace debias {

std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.1f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string clock_text(double seconds) {
  constexpr double kMost = 1e12;
  const auto whole = std::isfinite(seconds) && seconds > 0 ? static_cast<int64_t>(std::fmin(seconds, kMost) + 0.5) : int64_t{0};
  return whole < 3600 ? fmt::format("{}:{:02d}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02d}:{:02d}", whole / 3600, whole / 60 % 60, whole % 60);
}

int64_t parse_byte_size(const std::string& text, const std::string& what) {
  static const std::map<std::string, double> kUnits = {{"", 1},     {"B", 1},        {"KB", 1e3},        {"kB", 1e3},          {"MB", 1e6},
                                                       {"GB", 1e9}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}};
  const size_t end = text.find_last_of("0123456789.");
  const size_t digits = end == std::string::npos ? 0 : end + 1;
  const auto unit = kUnits.find(text.substr(digits));
  double number = 0;
  const bool read = parse_number(text.substr(0, digits), &number) && unit != kUnits.end();
  if (!read || number * unit->second < 1 || number * unit->second > 1e18) {
    throw usage_error("{}: '{}' is not a size; give one such as 256MB or 64MiB", what, text);
  }
  return static_cast<int64_t>(number * unit->second);
}

}  // namespace debias

// Option types of view steps that torchvision writes as a number or a pair.
#pragma once

#include <cstdint>

#include "debias/core/options.h"

namespace debias {

// `size: 32` or `size: [height, width]`.
struct Extent {
  int height = 0;
  int width = 0;  // 0: one number was given
  bool square() const { return width == 0; }
};

// `[low, high]` with low <= high.
struct Interval {
  double low = 0, high = 0;
};

// `0.4` or `[0.6, 1.4]`; each step defines the meaning of a single number.
struct Spread {
  double low = 0, high = 0;
  bool pair = false;
  static Spread number(double value) { return {value, value, false}; }
  static Spread between(double low, double high) { return {low, high, true}; }
};

constexpr int64_t kLargestExtent = 8192;  // of a view, so that a mistyped size does not ask for all memory

namespace options_detail {

template <>
struct Field<Extent> {
  static std::string type() { return "integer or [height, width]"; }
  static Extent parse(const Config& value, const Range& range, const std::string& what);
  static Config emit(const Extent& value);
};

template <>
struct Field<Interval> {
  static std::string type() { return "[low, high]"; }
  static Interval parse(const Config& value, const Range& range, const std::string& what);
  static Config emit(const Interval& value);
};

template <>
struct Field<Spread> {
  static std::string type() { return "number or [low, high]"; }
  static Spread parse(const Config& value, const Range& range, const std::string& what);
  static Config emit(const Spread& value);
};

}  // namespace options_detail
}  // namespace debias

// Numbers of variants, for a sweep that changes a parameter by variants and not in its grid: the x axis of a curve.
//
//   axes:
//     - {over: M, line: grouping, variants: {M1: 1, M2-grouping: 2}}
//     - {over: M, line: pairs, variants: {M1: 1, M2-pairs: 2}}
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"

namespace debias {

struct VariantAxis {
  std::string over, line;  // the line is "" where an axis has one
  std::vector<std::pair<std::string, double>> variants;

  bool operator==(const VariantAxis&) const = default;
};

// Usage errors: unknown keys or variants, fewer than two variants, a value that is not a number or is of two variants of a line, lines of
// one axis without distinct names.
std::vector<VariantAxis> read_variant_axes(const Config* node, const std::vector<std::string>& variants);

// Place of a variant: the axis, the line and the number.
struct AxisPlace {
  std::string over, line;
  double number = 0;
};
std::vector<AxisPlace> places_of(const std::vector<VariantAxis>& axes, const std::string& variant);

}  // namespace debias

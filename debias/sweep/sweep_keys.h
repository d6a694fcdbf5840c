// Keys of a recipe as a sweep compares them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/config.h"

namespace debias {

// True if one key is the other, or a section that it is in. Spellings are equivalent: `objective.1.weight` and
// `objective[1].weight`, and `objective.tau_plus` and `objective.0.tau_plus`, since the first would be rejected if there were two terms.
bool keys_overlap(std::string_view a, std::string_view b);

// True if `key` is `section` or is in it, so that setting the section afterwards undoes the key.
bool key_lies_in(std::string_view key, std::string_view section);

// Numbers of variants, for a sweep that changes a parameter by variants and not in its grid: the x axis of a curve.
//
//   axes:
//     - {over: M, line: grouping, variants: {M1: 1, M2-grouping: 2}}
//     - {over: M, line: pairs, variants: {M1: 1, M2-pairs: 2}}
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

// A property of images, files or rows: a value for each, computed without labels.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/enum_names.h"

namespace debias {

enum class PropertyKind { kFile, kColumn, kEdge, kCorners, kScene, kMark, kDetail, kDescription, kDirection };
constexpr auto enum_words(PropertyKind) {
  return named("file", "column", "edge", "corners", "scene", "mark", "detail", "description", "direction");
}

// A rectangle of the image, in fractions of its width and height.
struct ImagePlace {
  double x = 0, y = 0, width = 1, height = 1;
};

struct Property {
  std::string name = {};
  PropertyKind kind = PropertyKind::kFile;
  std::vector<std::string> value_names = {};  // of values 0, 1, ...; of ordered ones "< 3.5" as the upper end of each bin
  std::vector<int32_t> values = {};           // one per row
  bool ordered = false;                       // bins of a number, ascending
  std::vector<bool> absent = {};              // values that say that something is not there ("none", "not plain", "other values")
  std::optional<ImagePlace> place = {};
  bool among_present = false;   // rows whose value is absent say nothing: classes are compared by the others
  bool exact = false;           // read, not measured
  bool may_be_shortcut = true;  // false: at most worth a look
  double least_effect = 0.3;    // of a shortcut

  int32_t count() const { return static_cast<int32_t>(value_names.size()); }
  bool says_absent(int32_t value) const { return !absent.empty() && absent[static_cast<size_t>(value)]; }
};

// Texts as they are; those of fewer than `least` rows are one value, "other values", and empty ones another, "no value".
Property text_property(std::string name, PropertyKind kind, const std::vector<std::string>& texts, int64_t least);

// Numbers (NaN: unknown). With at most 12 distinct ones each is a value, else 16 bins of about equal size.
Property number_property(std::string name, PropertyKind kind, const std::vector<double>& numbers);

// "present" and "absent".
Property presence_property(std::string name, PropertyKind kind, const std::vector<bool>& present);

}  // namespace debias

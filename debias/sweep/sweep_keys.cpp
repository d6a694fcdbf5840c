#include "debias/sweep/sweep_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "debias/core/error.h"
#include "debias/sweep/sweep_parts.h"

namespace debias {
namespace {

bool are_alike(const std::string& a, const std::string& b) {
  if (a == b) return true;
  return is_list_index(a) && is_list_index(b) && std::stoul(a) == std::stoul(b);
}

bool is_first_entry(const std::string& part) { return is_list_index(part) && std::stoul(part) == 0; }

// Number of parts of either key left where the other ends; nothing if they differ before.
struct PartsLeft {
  size_t of_a, of_b;
};
std::optional<PartsLeft> parts_left(std::string_view a, std::string_view b) {
  const std::vector<std::string> ours = parts_of_key(a), theirs = parts_of_key(b);
  size_t i = 0, j = 0;
  while (i < ours.size() && j < theirs.size()) {
    if (are_alike(ours[i], theirs[j])) {
      ++i;
      ++j;
    } else if (is_first_entry(ours[i]) && !is_list_index(theirs[j])) {
      ++i;
    } else if (is_first_entry(theirs[j]) && !is_list_index(ours[i])) {
      ++j;
    } else {
      return std::nullopt;
    }
  }
  return PartsLeft{ours.size() - i, theirs.size() - j};
}

}  // namespace

bool keys_overlap(std::string_view a, std::string_view b) { return parts_left(a, b).has_value(); }

bool key_lies_in(std::string_view key, std::string_view section) {
  const auto left = parts_left(key, section);
  return left && left->of_b == 0;
}

namespace {

double number_of_variant(const std::string& what, const std::string& name, const Config& node) {
  double number = 0;
  if (node.is_scalar() && parse_number(node.text(), &number) && std::isfinite(number)) return number;
  throw usage_error("{}{}: {}: expected the number that it stands for, such as {}: 2", node.prefix(), what, name, name);
}

// A line cannot have one number twice.
void require_apart(const VariantAxis& axis, const std::string& what, const Config& value) {
  const auto& [name, number] = axis.variants.back();
  for (const auto& [other, taken] : axis.variants) {
    if (taken != number || other == name) continue;
    throw usage_error("{}{}: {} and {} both stand for {:g}; give them two lines", value.prefix(), what, other, name, number);
  }
}

VariantAxis read_variant_axis(const Config& entry, const std::vector<std::string>& known) {
  require_known_keys(entry, {"over", "line", "variants"}, "axes");
  const Config *over = entry.find("over"), *line = entry.find("line"), *variants = entry.find("variants");
  VariantAxis axis;
  if (over != nullptr) axis.over = sweep_word(*over, "axes: over");
  if (axis.over.empty()) throw usage_error("{}axes: no `over` is given; name what the variants change, such as over: M", entry.prefix());
  if (line != nullptr) axis.line = sweep_word(*line, "axes: line");
  const std::string what = fmt::format("axes: over {}", axis.over);
  if (variants == nullptr || !variants->is_map() || variants->entries().size() < 2) {
    throw usage_error("{}{}: expected two or more variants with a number each, such as variants: {{small: 1, large: 2}}", entry.prefix(),
                      what);
  }
  for (const auto& [name, number] : variants->entries()) {
    require_variant(name, known, number, what);
    axis.variants.emplace_back(name, number_of_variant(what, name, number));
    require_apart(axis, what, number);
  }
  return axis;
}

void require_lines_apart(const std::vector<VariantAxis>& axes, const VariantAxis& axis, const Config& entry) {
  for (const auto& other : axes) {
    if (other.over != axis.over) continue;
    if (other.line.empty() || axis.line.empty())
      throw usage_error("{}axes: over {}: several entries; give each a `line`", entry.prefix(), axis.over);
    if (other.line == axis.line) throw usage_error("{}axes: over {}: line '{}' is given twice", entry.prefix(), axis.over, axis.line);
  }
}

}  // namespace

std::vector<VariantAxis> read_variant_axes(const Config* node, const std::vector<std::string>& variants) {
  std::vector<VariantAxis> axes;
  for (const auto& entry : sweep_entries(node, "axes")) {
    VariantAxis axis = read_variant_axis(entry, variants);
    require_lines_apart(axes, axis, entry);
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::vector<AxisPlace> places_of(const std::vector<VariantAxis>& axes, const std::string& variant) {
  std::vector<AxisPlace> places;
  for (const auto& axis : axes) {
    for (const auto& [name, number] : axis.variants) {
      if (name == variant) places.push_back({axis.over, axis.line, number});
    }
  }
  return places;
}

}  // namespace debias

#include "debias/core/options.h"

#include <fmt/ranges.h>

#include "debias/core/registry.h"

namespace debias {

std::string Range::text() const {
  if (!bounded()) return "";
  if (std::isfinite(low) && std::isfinite(high)) {
    return fmt::format("{}{}, {}{}", low_open ? '(' : '[', low, high, high_open ? ')' : ']');
  }
  if (std::isfinite(low)) return fmt::format("{} {}{}", low_open ? ">" : ">=", low, high_open ? "" : " or inf");
  if (std::isfinite(high)) return fmt::format("{} {}", high_open ? "<" : "<=", high);
  return "finite";
}

std::string variant_key(const std::string& name) {
  if (name == "default") return "stable";
  if (name == "original_code" || name == "original-code") return "authors";
  return name;
}

std::string option_line(const OptionSpec& spec) {
  std::string allowed = spec.range;
  if (!spec.choices.empty()) allowed = fmt::format("{}", fmt::join(spec.choices, "|"));
  return fmt::format("{} = {} ({}{}{}): {}", spec.name, options_detail::shown(spec.default_value), spec.type, allowed.empty() ? "" : " ",
                     allowed, spec.help);
}

Config with_defaults(const Config& section, const std::vector<OptionSpec>& specs) {
  Config result = section_map(section);
  const Config* variant = result.find("variant");
  for (const auto& spec : specs) {
    if (result.find(spec.name) != nullptr || spec.default_value.is_null()) continue;  // without a default: left out
    const auto value = variant == nullptr ? spec.variants.end() : spec.variants.find(variant_key(variant->text()));
    result.set(spec.name, value == spec.variants.end() ? spec.default_value : value->second);
  }
  return result;
}

nlohmann::ordered_json option_json(const OptionSpec& spec) {
  nlohmann::ordered_json json;
  json["name"] = spec.name;
  json["type"] = spec.type;
  json["default"] = spec.default_value.to_json();
  if (!spec.range.empty()) json["range"] = spec.range;
  if (!spec.choices.empty()) json["choices"] = spec.choices;
  json["help"] = spec.help;
  for (const auto& [name, value] : spec.variants) json["variants"][name] = value.to_json();
  return json;
}

namespace options_detail {

std::string shown(const Config& value) {
  std::string text = value.is_null() ? "null" : value.is_scalar() ? value.text() : value.to_json().dump();
  if (text.empty()) text = "''";
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

void refuse(const Config& value, const std::string& what, const std::string& expected) {
  throw usage_error("{}{}: expected {}, found {}", value.prefix(), what, expected, shown(value));
}

void check_range(double number, const Range& range, const Config& value, const std::string& what) {
  if (range.contains(number)) return;
  throw usage_error("{}{}: {} is out of range; give a value {} {}", value.prefix(), what, shown(value),
                    range.text().find(',') != std::string::npos ? "in" : "that is", range.text());
}

}  // namespace options_detail
}  // namespace debias

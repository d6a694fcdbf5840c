#include "debias/core/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

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
namespace {

void check_range(double number, const Range& range, const Config& value, const std::string& what) {
  if (range.contains(number)) return;
  throw usage_error("{}{}: {} is out of range; give a value {} {}", value.prefix(), what, shown(value),
                    range.text().find(',') != std::string::npos ? "in" : "that is", range.text());
}

}  // namespace

std::string shown(const Config& value) {
  std::string text = value.is_null() ? "null" : value.is_scalar() ? value.text() : value.to_json().dump();
  if (text.empty()) text = "''";
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

void refuse(const Config& value, const std::string& what, const std::string& expected) {
  throw usage_error("{}{}: expected {}, found {}", value.prefix(), what, expected, shown(value));
}

void refuse_word(const Config& value, const std::string& what, const std::vector<std::string>& known) {
  throw usage_error("{}{}: unknown value '{}'{}", value.prefix(), what, value.text(), suggestion(value.text(), known));
}

bool Field<bool>::parse(const Config& value, const Range&, const std::string& what) {
  bool result;
  if (!value.is_scalar() || !parse_boolean(value.text(), &result)) refuse(value, what, "true or false");
  return result;
}
Config Field<bool>::emit(bool value) { return Config::boolean(value); }

int64_t Field<int64_t>::parse(const Config& value, const Range& range, const std::string& what) {
  int64_t result;
  if (!value.is_scalar() || !parse_integer(value.text(), &result)) refuse(value, what, "an integer");
  check_range(static_cast<double>(result), range, value, what);
  return result;
}
Config Field<int64_t>::emit(int64_t value) { return Config::integer(value); }

double Field<double>::parse(const Config& value, const Range& range, const std::string& what) {
  double result;
  if (!value.is_scalar() || !parse_number(value.text(), &result)) refuse(value, what, "a number");
  check_range(result, range, value, what);
  return result;
}
Config Field<double>::emit(double value) { return Config::number(value); }

std::string Field<std::string>::parse(const Config& value, const Range&, const std::string& what) {
  if (value.is_null()) return "";
  if (!value.is_scalar()) refuse(value, what, "a word or text");
  return value.text();
}
Config Field<std::string>::emit(const std::string& value) { return Config::string(value); }

}  // namespace options_detail

template const OptionType& option_type<bool>();
template const OptionType& option_type<int64_t>();
template const OptionType& option_type<double>();
template const OptionType& option_type<std::string>();
template const OptionType& option_type<Auto<bool>>();
template const OptionType& option_type<Auto<int64_t>>();
template const OptionType& option_type<Auto<double>>();
template const OptionType& option_type<std::optional<double>>();
template const OptionType& option_type<std::optional<std::string>>();
template const OptionType& option_type<std::vector<int64_t>>();
template const OptionType& option_type<std::vector<double>>();
template const OptionType& option_type<std::vector<std::string>>();

Config DescribedOption::value() const {
  Config own = type->write(field);
  return own.is_null() ? otherwise : own;
}

OptionSpec DescribedOption::spec() const { return {name, type->name, value(), range.text(), type->choices, help, variants}; }

DescribedOption& OptionVisitor::add(std::string_view name, void* field, const OptionType& type, const Range& range, std::string_view help) {
  return options_.emplace_back(DescribedOption{std::string(name), std::string(help), range, &type, field, {}, {}});
}

void OptionVisitor::variant(std::string_view variant_name, std::string_view option, std::string_view value) {
  for (auto& candidate : options_) {
    if (candidate.name != option) continue;
    candidate.variants[std::string(variant_name)] = Config::scalar(std::string(value));
    return;
  }
  throw std::logic_error("no option is called " + std::string(option));
}

const DescribedOption* OptionVisitor::find(std::string_view name) const {
  for (const auto& option : options_) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

std::vector<std::string> OptionVisitor::names() const {
  std::vector<std::string> result;
  for (const auto& option : options_) result.push_back(option.name);
  return result;
}

std::vector<OptionSpec> OptionVisitor::specs() const {
  std::vector<OptionSpec> result;
  for (const auto& option : options_) result.push_back(option.spec());
  return result;
}

Config OptionVisitor::write() const {
  Config node = Config::map();
  for (const auto& option : options_) node.set(option.name, option.value());
  return node;
}

void OptionVisitor::read(const Config& section, const std::string& what, const std::vector<std::string>& others) {
  if (!section.is_null() && !section.is_map()) {
    throw usage_error("{}{}: expected options as a map, found {}", section.prefix(), what, options_detail::shown(section));
  }
  const Config* variant = with_variants_ ? section.find("variant") : nullptr;
  if (variant != nullptr) apply_variant(*variant, what);
  for (const auto& [key, value] : section.entries()) {
    if (with_variants_ && key == "variant") continue;
    if (std::ranges::find(others, key) == others.end()) assign(key, value, what, others);
  }
  run_checks(section, what);
}

void OptionVisitor::assign(const std::string& key, const Config& value, const std::string& what, const std::vector<std::string>& others) {
  if (const DescribedOption* option = find(key)) return option->read(value, what + ": " + key);
  std::vector<std::string> known = names();
  known.insert(known.end(), others.begin(), others.end());
  if (with_variants_) known.push_back("variant");
  throw usage_error("{}{}: unknown option '{}'{}", value.prefix(), what, key, suggestion(key, known));
}

void OptionVisitor::apply_variant(const Config& variant, const std::string& what) {
  const std::string name = variant_key(variant.is_scalar() ? variant.text() : "");
  if (name != "stable" && name != "paper" && name != "authors") {
    throw usage_error("{}{}: variant: unknown value '{}'{}", variant.prefix(), what, name,
                      suggestion(name, {"stable", "paper", "authors", "default", "original_code"}));
  }
  for (const auto& option : options_) {
    const auto found = option.variants.find(name);
    if (found != option.variants.end()) option.read(found->second, what + ": " + option.name);
  }
}

void OptionVisitor::check_ranges(const std::string& what) const {
  for (const auto& option : options_) option.read(option.value(), what + ": " + option.name);
}

void OptionVisitor::run_checks(const Config& section, const std::string& what) const {
  for (const auto& [option, function] : checks_) {
    const Config* own = option.empty() ? nullptr : section.find(option);
    function((own != nullptr ? *own : section).prefix() + what);
  }
}

}  // namespace debias

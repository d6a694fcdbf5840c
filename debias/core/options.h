// Options: each struct describes its own, once.
//
//   struct KnnOptions {
//     int64_t k = 200;
//     double temperature = 0.5;
//     void describe(OptionVisitor& o) {
//       o("k", k, Range::at_least(1), "neighbours that vote");
//       o("temperature", temperature, Range::closed(1e-3, 100), "divides the cosine of a vote");
//     }
//   };
//   const auto options = options_from<KnnOptions>(section, "knn");
//
// A default is in the struct and nowhere else. The description provides: reading a recipe's map (unknown keys rejected with the nearest
// name, ranges checked, file and line named), `--set key=value`, `debias list`, `--help`, the docs' option tables, variants and the
// resolved config. Field types: bool, int64_t, double, std::string, enums with names, Auto<T>, std::optional<T> ("none") and std::vector
// of numbers, strings or enums.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/enum_names.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"

namespace debias {

// A value or the word `auto`.
template <class T>
struct Auto : std::optional<T> {
  using std::optional<T>::optional;
};

// The interval of a number (or of each number of a list).
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  static Range any() { return {}; }
  static Range closed(double low, double high) { return {low, high, false, false}; }
  static Range half_open(double low, double high) { return {low, high, false, true}; }
  static Range open_closed(double low, double high) { return {low, high, true, false}; }
  static Range at_least(double low) { return {low, std::numeric_limits<double>::infinity(), false, true}; }  // finite
  static Range at_least_or_inf(double low) { return {low, std::numeric_limits<double>::infinity(), false, false}; }
  static Range above(double low) { return {low, std::numeric_limits<double>::infinity(), true, true}; }

  bool bounded() const { return std::isfinite(low) || std::isfinite(high) || high_open; }
  bool contains(double value) const { return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high); }
  std::string text() const;  // "[0, 1)", ">= 0", "> 0"; empty when unbounded
};

// One option, type erased: what lists, help and docs are made from.
struct OptionSpec {
  std::string name;
  std::string type;  // number, integer, boolean, word, text, list
  Config default_value;
  std::string range;
  std::vector<std::string> choices;
  std::string help;
  std::map<std::string, Config> variants;  // variant name -> its value, where it differs from the default
};

// The name under which OptionSpec::variants holds `variant: NAME`: of `default` that is stable, of `original_code` authors.
std::string variant_key(const std::string& name);

// `section` with every option of `specs` that it does not set, at its default (or its variant's value).
Config with_defaults(const Config& section, const std::vector<OptionSpec>& specs);

// "name  type  default  range-or-choices  help" as one line of plain text, and as JSON for `debias list --json`.
std::string option_line(const OptionSpec& spec);
nlohmann::ordered_json option_json(const OptionSpec& spec);

namespace options_detail {

[[noreturn]] void refuse(const Config& value, const std::string& what, const std::string& expected);
[[noreturn]] void refuse_word(const Config& value, const std::string& what, const std::vector<std::string>& known);
std::string shown(const Config& value);  // short text of a value for messages

// How values of one type are read and written.
template <class F>
struct Field;

template <>
struct Field<bool> {
  static std::string type() { return "boolean"; }
  static bool parse(const Config& value, const Range& range, const std::string& what);
  static Config emit(bool value);
};

template <>
struct Field<int64_t> {
  static std::string type() { return "integer"; }
  static int64_t parse(const Config& value, const Range& range, const std::string& what);
  static Config emit(int64_t value);
};

template <>
struct Field<double> {
  static std::string type() { return "number"; }
  static double parse(const Config& value, const Range& range, const std::string& what);
  static Config emit(double value);
};

template <>
struct Field<std::string> {
  static std::string type() { return "text"; }
  static std::string parse(const Config& value, const Range& range, const std::string& what);
  static Config emit(const std::string& value);
};

template <class E>
requires std::is_enum_v<E>
struct Field<E> {
  static std::string type() { return "word"; }
  static std::vector<std::string> choices() {
    std::vector<std::string> names;
    for (const auto& entry : EnumNames<E>::values) names.emplace_back(entry.first);
    return names;
  }
  static E parse(const Config& value, const Range&, const std::string& what) {
    if (!value.is_scalar()) refuse(value, what, "a word");
    for (const auto& [name, candidate] : EnumNames<E>::values) {
      if (name == value.text()) return candidate;
    }
    refuse_word(value, what, choices());
  }
  static Config emit(E value) { return Config::scalar(std::string(enum_name(value))); }
};

template <class T>
struct Field<Auto<T>> {
  static std::string type() { return Field<T>::type() + " or auto"; }
  static Auto<T> parse(const Config& value, const Range& range, const std::string& what) {
    if (value.is_scalar() && value.text() == "auto") return Auto<T>();
    return Auto<T>(Field<T>::parse(value, range, what));
  }
  static Config emit(const Auto<T>& value) { return value ? Field<T>::emit(*value) : Config::scalar("auto"); }
};

template <class T>
struct Field<std::optional<T>> {
  static std::string type() { return Field<T>::type() + " or none"; }
  static std::optional<T> parse(const Config& value, const Range& range, const std::string& what) {
    if (value.is_null() || (value.is_scalar() && value.text() == "none")) return std::nullopt;
    return Field<T>::parse(value, range, what);
  }
  static Config emit(const std::optional<T>& value) { return value ? Field<T>::emit(*value) : Config::scalar("none"); }
};

template <class T>
struct Field<std::vector<T>> {
  static std::string type() { return "list of " + Field<T>::type() + "s"; }
  static std::string such_as() {
    if constexpr (std::is_enum_v<T>)
      return fmt::format("a list such as [{}, {}]", EnumNames<T>::values[0].first, EnumNames<T>::values[1].first);
    return "a list such as [1, 2]";
  }
  static std::vector<T> parse(const Config& value, const Range& range, const std::string& what) {
    if (!value.is_sequence()) refuse(value, what, such_as());
    std::vector<T> result;
    for (const auto& item : value.items()) result.push_back(Field<T>::parse(item, range, what));
    return result;
  }
  static Config emit(const std::vector<T>& value) {
    Config node = Config::sequence();
    for (const auto& item : value) node.items().push_back(Field<T>::emit(item));
    return node;
  }
};

template <class T>
std::vector<std::string> choices_of() {
  if constexpr (std::is_enum_v<T>) return Field<T>::choices();
  return {};
}
template <class T>
struct ItemOf {
  using Type = T;
};
template <class T>
struct ItemOf<std::vector<T>> {
  using Type = T;
};

}  // namespace options_detail

// A value of its own, outside of a struct; `what` begins messages. Usage errors.
template <class T>
T read_value(const Config& value, const std::string& what, const Range& range = {}) {
  return options_detail::Field<T>::parse(value, range, what);
}
template <class T>
Config write_value(const T& value) {
  return options_detail::Field<T>::emit(value);
}

// What the options of one type have in common, whatever their struct.
struct OptionType {
  std::string name;
  std::vector<std::string> choices;
  void (*read)(void* field, const Config& value, const Range& range, const std::string& what);
  Config (*write)(const void* field);
};

template <class T>
const OptionType& option_type() {
  using options_detail::Field;
  static const OptionType type{Field<T>::type(), options_detail::choices_of<typename options_detail::ItemOf<T>::Type>(),
                               [](void* field, const Config& value, const Range& range, const std::string& what) {
                                 *static_cast<T*>(field) = Field<T>::parse(value, range, what);
                               },
                               [](const void* field) { return Field<T>::emit(*static_cast<const T*>(field)); }};
  return type;
}
extern template const OptionType& option_type<bool>();
extern template const OptionType& option_type<int64_t>();
extern template const OptionType& option_type<double>();
extern template const OptionType& option_type<std::string>();
extern template const OptionType& option_type<Auto<bool>>();
extern template const OptionType& option_type<Auto<int64_t>>();
extern template const OptionType& option_type<Auto<double>>();
extern template const OptionType& option_type<std::optional<double>>();
extern template const OptionType& option_type<std::optional<std::string>>();
extern template const OptionType& option_type<std::vector<int64_t>>();
extern template const OptionType& option_type<std::vector<double>>();
extern template const OptionType& option_type<std::vector<std::string>>();

// The same with the name and choices of T, for a field that may be unset: it is then written as null.
template <class T>
const OptionType& dependent_type() {
  using options_detail::Field;
  static const OptionType type{option_type<T>().name, option_type<T>().choices,
                               [](void* field, const Config& value, const Range& range, const std::string& what) {
                                 *static_cast<std::optional<T>*>(field) = Field<T>::parse(value, range, what);
                               },
                               [](const void* field) {
                                 const auto& given = *static_cast<const std::optional<T>*>(field);
                                 return given ? Field<T>::emit(*given) : Config();
                               }};
  return type;
}

// One option of one struct.
struct DescribedOption {
  std::string name;
  std::string help;
  Range range;
  const OptionType* type = nullptr;
  void* field = nullptr;
  Config otherwise;                        // the value while `field` is unset
  std::map<std::string, Config> variants;  // as of OptionSpec

  Config value() const;
  void read(const Config& value, const std::string& what) const { type->read(field, value, range, what); }
  OptionSpec spec() const;  // with the value as default
};

// What a struct tells of its options, in the order of lists. It refers to the struct, which has to outlive it.
class OptionVisitor {
 public:
  template <class T>
  void operator()(std::string_view name, T& field, std::string_view help) {
    add(name, &field, option_type<T>(), Range::any(), help);
  }
  template <class T>
  void operator()(std::string_view name, T& field, const Range& range, std::string_view help) {
    add(name, &field, option_type<T>(), range, help);
  }
  // An option whose default, `otherwise`, follows from other options.
  template <class T>
  void dependent(std::string_view name, std::optional<T>& field, const T& otherwise, std::string_view help) {
    add(name, &field, dependent_type<T>(), Range::any(), help).otherwise = options_detail::Field<T>::emit(otherwise);
  }

  // The value an option takes under `variant: NAME` (stable: the defaults).
  void variant(std::string_view variant_name, std::string_view option, std::string_view value);
  void with_variants() { with_variants_ = true; }  // accept the key `variant` even where no option differs

  // A check after each read, of all options or one, whose line is then named; it throws a usage error that begins with `what`.
  using Check = std::function<void(const std::string& what)>;
  void check(Check function) { checks_.emplace_back("", std::move(function)); }
  void check(std::string option, Check function) { checks_.emplace_back(std::move(option), std::move(function)); }

  const std::vector<DescribedOption>& options() const { return options_; }
  const DescribedOption* find(std::string_view name) const;  // null: there is none
  std::vector<std::string> names() const;
  std::vector<OptionSpec> specs() const;
  Config write() const;

  // What options_from() and option_mistakes.h describe.
  void read(const Config& section, const std::string& what, const std::vector<std::string>& others);
  void assign(const std::string& key, const Config& value, const std::string& what, const std::vector<std::string>& others);
  void check_ranges(const std::string& what) const;
  void run_checks(const Config& section, const std::string& what) const;

 private:
  DescribedOption& add(std::string_view name, void* field, const OptionType& type, const Range& range, std::string_view help);
  void apply_variant(const Config& variant, const std::string& what);

  std::vector<DescribedOption> options_;
  std::vector<std::pair<std::string, Check>> checks_;
  bool with_variants_ = false;
};

template <class Options>
OptionVisitor described(Options& options) {
  OptionVisitor visitor;
  options.describe(visitor);
  return visitor;
}

// Of an entry that has none.
struct NoOptions {
  void describe(OptionVisitor&) {}
};

// The struct that a map requests. `what` names the thing in messages ("objective 'infonce'"); keys in `others` are left to the caller. A
// key `variant` (stable|paper|authors, or their aliases) is consumed where allowed. What the map does not give stays as in `result`.
template <class Options>
Options options_from(const Config& section, const std::string& what, const std::vector<std::string>& others = {}, Options result = {}) {
  described(result).read(section, what, others);
  return result;
}

// Every option written out; reads as the same struct.
template <class Options>
Config config_of(Options options) {
  return described(options).write();
}

template <class Options>
std::vector<OptionSpec> option_specs() {
  Options defaults{};
  return described(defaults).specs();
}

template <class Options>
std::vector<std::string> option_names() {
  Options defaults{};
  return described(defaults).names();
}

// Ranges and checks of a struct made in code. Usage errors.
template <class Options>
void check_options(Options options, const std::string& what) {
  Options scratch = options;
  described(scratch).check_ranges(what);
  described(options).run_checks(Config(), what);
}

}  // namespace debias

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // gcc bug 80635: takes the number of an empty Auto<double> for one that is read
#endif

#include "debias/train/option_source.h"

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/options.h"
#include "debias/core/registry.h"
#include "debias/train/recipe.h"

namespace debias {
namespace {

class SourceOptions {
 public:
  DEBIAS_OPTION(SourceOptions, int64_t, every, 1)
  DEBIAS_OPTION(SourceOptions, Auto<double>, start, {})

  static const OptionTable<SourceOptions>& table() {
    static const auto table = OptionTable<SourceOptions>()
                                  .add("every", &SourceOptions::every_, Range::closed(1, 1e6), "epochs between estimates")
                                  .add("start", &SourceOptions::start_, Range::any(), "before the first one; auto: the option's default");
    return table;
  }
};

bool gives(const OptionSource& source, const std::string& option, const std::string& objective) {
  const auto& objectives = source.objectives;
  return source.option == option && (objectives.empty() || std::find(objectives.begin(), objectives.end(), objective) != objectives.end());
}

void require_fit(const OptionSource& source, const std::string& option, const std::string& objective, const std::string& where) {
  if (gives(source, option, objective)) return;
  std::string others;
  for (const auto& other : option_source_registry()) {
    if (gives(other, option, objective)) others += fmt::format("; write from: {}", other.name);
  }
  throw usage_error("{}: from: {} estimates the {}{}, not this{}", where, source.name, source.option,
                    source.objectives.empty() ? "" : fmt::format(" of '{}'", source.objectives.front()),
                    others.empty() ? "; give a value or a schedule" : others);
}

double default_value(const std::string& option, const ObjectiveEntry& entry, const Config& term, const std::string& where) {
  const Config value = with_defaults(Config::map({{"variant", term.find("variant") ? *term.find("variant") : Config()}}), entry.options);
  if (const Config* found = value.find(option)) return options_detail::Field<double>::parse(*found, Range::any(), where);
  std::vector<std::string> known;
  for (const auto& spec : entry.options) known.push_back(spec.name);
  throw usage_error("{}: unknown option '{}'{}", where, option, suggestion(option, known));
}

}  // namespace

const std::vector<OptionSource>& option_source_registry() {
  static const std::vector<OptionSource> registry = {
      {.name = "prior", .aliases = {}, .option = "tau_plus", .objectives = {}, .low = 0, .high = 0.99, .measure = SourceMeasure::kPrior},
      {.name = "macro_auc",
       .aliases = {},
       .option = "alpha",
       .objectives = {"bayesian"},
       .low = 0.5,
       .high = 1,
       .measure = SourceMeasure::kMacroAuc},
      {.name = "augment",
       .aliases = {},
       .option = "alpha",
       .objectives = {"bayesian"},
       .low = 0.5,
       .high = 1,
       .measure = SourceMeasure::kViewAuc},
  };
  return registry;
}

Config SourcedOption::config() const {
  return Config::map({{"from", Config::string(source->name)}, {"every", Config::integer(every)}, {"start", Config::number(start)}});
}

bool is_option_source(const Config& value) {
  const Config* from = value.find("from");
  double number;
  return value.find("schedule") == nullptr && from != nullptr && from->is_scalar() && !parse_number(from->text(), &number);
}

SourcedOption read_option_source(const std::string& option, const ObjectiveEntry& entry, const Config& term) {
  const Config& section = *term.find(option);
  const std::string what = fmt::format("objective '{}': {}", entry.name, option), where = section.prefix() + what;
  const OptionSource& source = find_entry(option_source_registry(), section.find("from")->text(), "source", where + ": from: ");
  require_fit(source, option, entry.name, where);
  const SourceOptions options = SourceOptions::table().read(section, what, {"from"});
  const double usual = default_value(option, entry, term, section.prefix() + fmt::format("objective '{}'", entry.name));
  return {.option = option, .source = &source, .every = options.every(), .start = options.start().value_or(usual)};
}

}  // namespace debias

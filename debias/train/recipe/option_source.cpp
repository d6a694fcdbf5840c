#include "debias/train/recipe/option_source.h"

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/options.h"
#include "debias/core/registry.h"
#include "debias/train/recipe/marked_prior.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

struct SourceOptions {
  int64_t every = 1;
  Auto<double> start = {};

  void describe(OptionVisitor& o) {
    o("every", every, Range::closed(1, 1e6), "epochs between estimates");
    o("start", start, Range::any(), "before the first one; auto: the option's default");
  }
};

struct MarksOptions {
  std::string file = "";
  Auto<double> value = {};
  double low = 0;
  double high = 1;

  void describe(OptionVisitor& o) {
    o("file", file, "CSV with the answers to random pairs");
    o("value", value, Range::closed(0, 0.99), "their estimate; auto: read from the file");
    o("low", low, Range::closed(0, 1), "lower end of its 95 % interval");
    o("high", high, Range::closed(0, 1), "upper end of its 95 % interval");
  }
};

// Marks that a resolved recipe has read already are not read again: the run stays what it was.
void take_marks(const Config& section, const std::string& what, SourcedOption& sourced) {
  MarksOptions options = options_from<MarksOptions>(section, what, {"from"});
  if (options.file.empty()) throw usage_error("{}{}: from: marks needs a file; write file: answers.csv", section.prefix(), what);
  if (!options.value) {
    const MarkedPrior prior = prior_from_marks(options.file);
    options.value = std::min(prior.tau_plus, sourced.source->high);
    options.low = prior.low;
    options.high = prior.high;
  }
  sourced.start = *options.value;
  sourced.marks = MarksRead{options.file, options.low, options.high};
}

bool gives(const OptionSource& source, const std::string& option, const std::string& objective) {
  const auto& objectives = source.objectives;
  return source.option == option && (objectives.empty() || std::find(objectives.begin(), objectives.end(), objective) != objectives.end());
}

void require_fit(const OptionSource& source, const std::string& option, const std::string& objective, const std::string& where) {
  if (gives(source, option, objective)) return;
  std::string others;
  for (const auto& other : option_source_registry()) {
    if (gives(other, option, objective)) others += fmt::format("{}from: {}", others.empty() ? "; write " : " or ", other.name);
  }
  throw usage_error("{}: from: {} estimates the {}{}, not this{}", where, source.name, source.option,
                    source.objectives.empty() ? "" : fmt::format(" of '{}'", source.objectives.front()),
                    others.empty() ? "; give a value or a schedule" : others);
}

// Under the term's variant.
double default_value(const std::string& option, const ObjectiveEntry& entry, const Config& term, const std::string& where) {
  const auto spec = std::ranges::find(entry.options, option, &OptionSpec::name);
  if (spec == entry.options.end()) {
    std::vector<std::string> known;
    for (const auto& other : entry.options) known.push_back(other.name);
    throw usage_error("{}: unknown option '{}'{}", where, option, suggestion(option, known));
  }
  const Config* variant = term.find("variant");
  const auto own = variant == nullptr ? spec->variants.end() : spec->variants.find(variant_key(variant->text()));
  return read_value<double>(own == spec->variants.end() ? spec->default_value : own->second, where);
}

}  // namespace

const std::vector<OptionSource>& option_source_registry() {
  static const std::vector<OptionSource> registry = {
      {.name = "prior", .aliases = {}, .option = "tau_plus", .objectives = {}, .low = 0, .high = 0.99, .measure = SourceMeasure::kPrior},
      {.name = "marks", .aliases = {}, .option = "tau_plus", .objectives = {}, .low = 0, .high = 0.99, .measure = SourceMeasure::kMarks},
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

TermNumber term_number(const std::string& option, const ObjectiveEntry& entry, const std::string& where) {
  const auto is_number = [](const OptionSpec& spec) { return spec.type.starts_with("number") || spec.type.starts_with("integer"); };
  const auto require_number = [&](const OptionSpec& spec) {
    if (is_number(spec)) return;
    throw usage_error("{}objective '{}': {}: a schedule gives numbers, this takes a {}", where.empty() ? "" : where + ": ", entry.name,
                      option, spec.type);
  };
  for (const auto& spec : option_specs<TermOptions>()) {
    if (spec.name == option) require_number(spec);
  }
  const auto found = std::ranges::find(entry.options, option, &OptionSpec::name);
  if (found == entry.options.end()) return {option, std::nullopt, where};
  require_number(*found);
  return {option, static_cast<size_t>(found - entry.options.begin()), where};
}

Config SourcedOption::config() const {
  if (marks) {
    return Config::map({{"from", Config::string(source->name)},
                        {"file", Config::string(marks->file)},
                        {"value", Config::number(start)},
                        {"low", Config::number(marks->low)},
                        {"high", Config::number(marks->high)}});
  }
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
  const bool of_marks = source.measure == SourceMeasure::kMarks;
  const SourceOptions options = of_marks ? SourceOptions() : options_from<SourceOptions>(section, what, {"from"});
  const double usual = default_value(option, entry, term, section.prefix() + fmt::format("objective '{}'", entry.name));
  SourcedOption sourced = {.number = term_number(option, entry, section.where()),
                           .source = &source,
                           .every = options.every,
                           .start = options.start.value_or(usual)};
  if (of_marks) take_marks(section, what, sourced);
  return sourced;
}

// Options of a recipe's term at an epoch, and their text form.

std::vector<NumberInForce> TermRecipe::numbers_at(int64_t epoch, const std::map<std::string, double>& estimates) const {
  std::vector<NumberInForce> numbers;
  for (const auto& [number, schedule] : schedules) numbers.push_back({&number, schedule->value(epoch)});
  for (const auto& sourced : sources) {
    const auto estimate = estimates.find(sourced.number.name);
    numbers.push_back({&sourced.number, estimate == estimates.end() ? sourced.start : estimate->second});
  }
  return numbers;
}

// All numbers together: some options are checked against each other, and both may change.
TermInForce TermRecipe::with(const std::vector<NumberInForce>& numbers) const {
  TermInForce in_force = {options, objective};
  std::vector<OptionNumber> of_objective;
  for (const auto& [number, value] : numbers) {
    if (number->option) {
      of_objective.push_back({*number->option, value, number->where});
    } else {
      in_force.own.weight = value;
    }
  }
  if (!of_objective.empty()) in_force.objective = objective->with(of_objective);
  return in_force;
}

std::optional<double> TermRecipe::temperature() const {
  const auto is_temperature = [](const auto& changing) { return changing.number.name == "temperature"; };
  const bool changes = std::ranges::any_of(schedules, is_temperature) || std::ranges::any_of(sources, is_temperature);
  return changes ? std::nullopt : objective->temperature();
}

Config TermRecipe::config() const {
  Config term = Config::map({{"name", Config::string(entry->name)}});
  term.overlay(config_of(options));
  if (options.bias_features.empty()) term.erase("bias_features");
  if (variant) term.set("variant", Config::string(*variant));
  term.overlay(objective->config());
  for (const auto& [number, schedule] : schedules) term.set(number.name, schedule->config());
  for (const auto& sourced : sources) term.set(sourced.number.name, sourced.config());
  return term;
}

}  // namespace debias

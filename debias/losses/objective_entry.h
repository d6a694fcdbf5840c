// Turns an options struct and a free function into an entry of the registry. Options are checked once, when they are read. The registered
// function takes checked options; the function that C++ callers use checks them first (verified).
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/option_mistakes.h"
#include "debias/losses/objective.h"
#include "debias/losses/scores.h"

namespace debias {

// The options as they are; usage error if one is out of range.
template <class Options>
const Options& verified(const Options& options, const char* what) {
  Options::table().verify(options, what);
  return options;
}

// An objective on scores that a method has formed itself.
template <class Options>
struct OnScores {
  std::vector<ScoreForm> forms;
  ObjectiveResult (*function)(const Scores& scores, const Options& options) = nullptr;  // accepts the listed forms
  // Why the options are invalid for such scores, "clamp: floor ...; choose ..."; empty if they are valid.
  std::string (*refusal)(ScoreForm form, const Options& options) = [](ScoreForm, const Options&) { return std::string(); };
};

// What the registry holds of an objective beside the fields of its entry.
template <class Options>
struct ObjectiveParts {
  std::string what;  // "objective 'infonce'"
  ObjectiveResult (*function)(const ObjectiveInput& input, const Options& options);
  OnScores<Options> on_scores;
  std::string (*caution)(const Options& options);  // null: none
};

template <class Options>
class FunctionObjective : public Objective {
 public:
  FunctionObjective(std::shared_ptr<const ObjectiveParts<Options>> parts, Options options)
      : parts_(std::move(parts)), options_(std::move(options)) {}

  ObjectiveResult operator()(const ObjectiveInput& input) const override { return parts_->function(input, options_); }
  ObjectiveResult on_scores(const Scores& scores) const override {
    if (const std::string why = refusal(scores.form()); !why.empty()) throw usage_error("{}", why);
    return parts_->on_scores.function(scores, options_);
  }
  std::string refusal(ScoreForm form) const override {
    if (std::ranges::find(parts_->on_scores.forms, form) == parts_->on_scores.forms.end()) return no_such_scores(parts_->what, form);
    const std::string why = parts_->on_scores.refusal(form, options_);
    return why.empty() ? why : parts_->what + ": " + why;
  }
  Config config() const override { return Options::table().write(options_); }

 private:
  std::shared_ptr<const ObjectiveParts<Options>> parts_;
  Options options_;
};

template <class Options>
class FunctionOptions final : public ObjectiveOptions {
 public:
  // where: "recipe.yaml:12: " or empty, the place of the term.
  FunctionOptions(std::shared_ptr<const ObjectiveParts<Options>> parts, std::string where, Options options)
      : parts_(std::move(parts)), where_(std::move(where)), options_(std::move(options)) {}

  std::unique_ptr<Objective> make() const override { return std::make_unique<FunctionObjective<Options>>(parts_, options_); }

  std::shared_ptr<const ObjectiveOptions> with(const std::vector<OptionNumber>& numbers) const override {
    Options changed = options_;
    for (const auto& [option, value, where] : numbers) {
      const auto& entry = Options::table().entries().at(option);
      Config number = Config::number(value);
      number.set_where(where);
      entry.parse(changed, number, parts_->what + ": " + entry.spec.name);
    }
    Options::table().verify(changed, where_ + parts_->what);
    return std::make_shared<FunctionOptions>(parts_, where_, std::move(changed));
  }

  Config config() const override { return Options::table().write(options_); }
  std::optional<double> temperature() const override {
    if constexpr (requires { options_.temperature(); }) return options_.temperature();
    return std::nullopt;
  }
  bool drops_false_negatives() const override {
    if constexpr (requires { options_.drop_false_negatives(); }) return options_.drop_false_negatives();
    return false;
  }
  std::string caution() const override { return parts_->caution == nullptr ? "" : parts_->caution(options_); }

 private:
  std::shared_ptr<const ObjectiveParts<Options>> parts_;
  std::string where_;
  Options options_;
};

// Completes `entry`, which has name, aliases, summary and requirements, with the options and their reader.
template <class Options>
ObjectiveEntry with_options(ObjectiveEntry entry, decltype(ObjectiveParts<Options>::function) function,
                            const OnScores<Options>& on_scores = {}, std::string (*caution)(const Options& options) = nullptr) {
  entry.takes_scores = on_scores.forms;
  entry.options = Options::table().specs();
  const auto parts = std::make_shared<const ObjectiveParts<Options>>(
      ObjectiveParts<Options>{"objective '" + entry.name + "'", function, on_scores, caution});
  entry.read = [parts](const Config& term, const std::vector<std::string>& others) -> std::shared_ptr<const ObjectiveOptions> {
    return std::make_shared<FunctionOptions<Options>>(parts, term.prefix(), read_options<Options>(term, parts->what, others));
  };
  return entry;
}

}  // namespace debias

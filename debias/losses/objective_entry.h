// Turns the options of a loss into an entry of the registry.
//
//   struct InfoNceOptions {
//     static constexpr char kName[] = "infonce";
//     void describe(OptionVisitor& o);
//     ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
//
// A loss that accepts scores (objective.h) lists their forms in kScoreForms and has on_scores(); unfit_for(form) says why these options are
// invalid for them, "clamp: floor ...; choose ...", and is empty if they are valid. caution() warns before a long run.
// Options are checked once, when they are read. The function that C++ callers use checks them first (checked_loss).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/option_mistakes.h"
#include "debias/losses/objective.h"

namespace debias {

// The temperatures and the class prior that pairwise objectives share: one name, range and help text for all of them.
inline Range temperature_range() { return Range::closed(1e-3, 100); }
inline Range class_prior_range() { return Range::half_open(0, 1); }

inline void describe_temperatures(OptionVisitor& o, double& temperature, std::optional<double>& base_temperature) {
  o("temperature", temperature, temperature_range(), "temperature t, which divides the cosines once");
  o("base_temperature", base_temperature, temperature_range(), "rescales the loss by temperature / base_temperature");
}

// The factor of the loss, temperature / base_temperature; 1 without a base temperature.
template <class Options>
double loss_scale(const Options& options) {
  return options.base_temperature ? options.temperature / *options.base_temperature : 1.0;
}

template <class Options>
std::string title_of() {
  return fmt::format("objective '{}'", Options::kName);
}

template <class Options>
class ObjectiveOf final : public Objective {
 public:
  explicit ObjectiveOf(Options options) : options_(std::move(options)) {}

  ObjectiveResult operator()(const ObjectiveInput& input) const override { return options_.loss(input); }
  ObjectiveResult on_scores(const Scores& scores) const override {
    if (const std::string why = refusal(scores.form()); !why.empty()) throw usage_error("{}", why);
    if constexpr (requires { Options::kScoreForms; }) return options_.on_scores(scores);
    return {};
  }
  std::string refusal(ScoreForm form) const override {
    if constexpr (requires { Options::kScoreForms; }) {
      if (std::ranges::find(Options::kScoreForms, form) != Options::kScoreForms.end()) return unfit_for(form);
    }
    return no_such_scores(title_of<Options>(), form);
  }
  Config config() const override { return config_of(options_); }

 private:
  std::string unfit_for(ScoreForm form) const {
    if constexpr (requires { options_.unfit_for(form); }) {
      const std::string why = options_.unfit_for(form);
      if (!why.empty()) return title_of<Options>() + ": " + why;
    }
    return "";
  }

  Options options_;
};

template <class Options>
class OptionsOf final : public ObjectiveOptions {
 public:
  // where: "recipe.yaml:12: " or empty, the place of the term.
  OptionsOf(std::string where, Options options) : where_(std::move(where)), options_(std::move(options)) {}

  std::unique_ptr<Objective> make() const override { return std::make_unique<ObjectiveOf<Options>>(options_); }

  std::shared_ptr<const ObjectiveOptions> with(const std::vector<OptionNumber>& numbers) const override {
    Options changed = options_;
    const OptionVisitor visitor = described(changed);
    for (const auto& [option, value, where] : numbers) {
      const DescribedOption& entry = visitor.options().at(option);
      Config number = Config::number(value);
      number.set_where(where);
      entry.read(number, title_of<Options>() + ": " + entry.name);
    }
    check_options(changed, where_ + title_of<Options>());
    return std::make_shared<OptionsOf>(where_, std::move(changed));
  }

  Config config() const override { return config_of(options_); }
  std::optional<double> temperature() const override {
    if constexpr (requires { options_.temperature; }) return options_.temperature;
    return std::nullopt;
  }
  bool drops_false_negatives() const override {
    if constexpr (requires { options_.drop_false_negatives; }) return options_.drop_false_negatives;
    return false;
  }
  std::string caution() const override {
    if constexpr (requires { options_.caution(); }) return options_.caution();
    return "";
  }

 private:
  std::string where_;
  Options options_;
};

// Completes `entry`, which has aliases, summary and requirements, with the name, the options and their reader.
template <class Options>
ObjectiveEntry with_options(ObjectiveEntry entry) {
  entry.name = Options::kName;
  if constexpr (requires { Options::kScoreForms; }) entry.takes_scores = {Options::kScoreForms.begin(), Options::kScoreForms.end()};
  entry.options = option_specs<Options>();
  entry.read = [](const Config& term, const std::vector<std::string>& others) -> std::shared_ptr<const ObjectiveOptions> {
    return std::make_shared<OptionsOf<Options>>(term.prefix(), read_options<Options>(term, title_of<Options>(), others));
  };
  return entry;
}

}  // namespace debias

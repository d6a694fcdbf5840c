// Options of a recipe's term at an epoch, and their text form.
#include <algorithm>

#include "debias/train/recipe/recipe.h"

namespace debias {

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

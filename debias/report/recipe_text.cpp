#include "debias/report/recipe_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace debias {
namespace {

std::string objective_names(const RecipeFacts& recipe) {
  std::string names;
  for (const auto& name : recipe.objectives) names += (names.empty() ? "" : " + ") + name;
  return names;
}

}  // namespace

std::string progress_text(const RunRecord& run) {
  if (run.is_fixed()) return "corrected features";
  if (run.recipe.epochs == 0) return fmt::format("{} epochs", run.epochs_done);
  return fmt::format("{} of {} epochs{}", run.epochs_done, run.recipe.epochs, run.finished() ? "" : ", unfinished");
}

std::string seeds_text(const RunColumn& column) {
  std::string seeds;
  for (const RunRecord* run : column.runs) seeds += (seeds.empty() ? "" : ", ") + run->seed();
  return seeds;
}

std::string recipe_name(const RunColumn& column) {
  const std::string& name = column.shown().recipe.name;
  return std::ranges::all_of(column.runs, [&](const RunRecord* run) { return run->recipe.name == name; }) ? name : "";
}

std::string column_words(const RunColumn& column) {
  const RunRecord& run = column.shown();
  std::string words;
  const auto add = [&](const std::string& part) { words += (words.empty() || part.empty() ? "" : ", ") + part; };
  add(recipe_name(column));
  if (const std::string objective = objective_names(run.recipe); !objective.empty()) add("objective " + objective);
  if (!run.recipe.encoder.empty()) add("encoder " + run.recipe.encoder);
  if (const std::string& data = run.recipe.data_of("train").name; !data.empty()) add("trained on " + data);
  if (const std::string seeds = seeds_text(column); !seeds.empty()) add((column.has_seeds() ? "seeds " : "seed ") + seeds);
  add(progress_text(run));
  return words;
}

}  // namespace debias

#include "debias/report/recipe_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace debias {
namespace {

std::string objective_names(const Config& config) {
  const Config* objective = config.find("objective");
  if (objective == nullptr) return "";
  if (objective->is_scalar()) return objective->text();
  if (objective->is_map()) return text_at_path(*objective, {"name"});
  std::string names;
  for (const auto& term : objective->items()) {
    double weight = 1;
    if (parse_number(text_at_path(term, {"weight"}), &weight) && weight == 0) continue;  // it took no part
    names += (names.empty() ? "" : " + ") + text_at_path(term, {"name"});
  }
  return names;
}

}  // namespace

std::string text_at_path(const Config& config, std::initializer_list<const char*> path) {
  const Config* node = &config;
  for (const char* key : path) node = node == nullptr ? nullptr : node->find(key);
  return node == nullptr || !node->is_scalar() ? "" : node->text();
}

std::string progress_text(const RunRecord& run) {
  if (run.is_fixed()) return "corrected features";
  if (run.epochs == 0) return fmt::format("{} epochs", run.epochs_done);
  return fmt::format("{} of {} epochs{}", run.epochs_done, run.epochs, run.finished() ? "" : ", unfinished");
}

std::string seeds_text(const RunColumn& column) {
  std::string seeds;
  for (const RunRecord* run : column.runs) seeds += (seeds.empty() ? "" : ", ") + run->seed();
  return seeds;
}

std::string recipe_name(const RunColumn& column) {
  const std::string& name = column.shown().name;
  return std::ranges::all_of(column.runs, [&](const RunRecord* run) { return run->name == name; }) ? name : "";
}

std::string column_words(const RunColumn& column) {
  const RunRecord& run = column.shown();
  std::string words;
  const auto add = [&](const std::string& part) { words += (words.empty() || part.empty() ? "" : ", ") + part; };
  add(recipe_name(column));
  if (const std::string objective = objective_names(run.config); !objective.empty()) add("objective " + objective);
  if (const std::string encoder = text_at_path(run.config, {"encoder", "name"}); !encoder.empty()) add("encoder " + encoder);
  if (const std::string data = text_at_path(run.config, {"data", "train", "name"}); !data.empty()) add("trained on " + data);
  if (const std::string seeds = seeds_text(column); !seeds.empty()) add((column.has_seeds() ? "seeds " : "seed ") + seeds);
  add(progress_text(run));
  return words;
}

}  // namespace debias

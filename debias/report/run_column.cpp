#include "debias/report/run_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <tuple>

#include "debias/core/recipe_keys.h"

namespace debias {
namespace {

using Recipe = std::pair<int64_t, std::vector<std::pair<std::string, std::string>>>;

bool have_data_alike(const RunRecord& a, const RunRecord& b) {
  return std::ranges::none_of(std::initializer_list<const char*>{"train", "valid", "test"},
                              [&](const char* split) { return compare_run_data(a, b, split) == DataLikeness::kDifferent; });
}

// Common facts of a column's runs, beside their data: epochs done, and the recipe but for where and with which seed it was run.
Recipe recipe_without_seed(const RunRecord& run) {
  Recipe recipe{run.epochs_done, flattened(run.config)};
  std::erase_if(recipe.second, [](const auto& entry) {
    const std::string& key = entry.first;
    return key == "seed" || key == "output" || key == "name" || key.starts_with("expected");
  });
  std::ranges::sort(recipe.second);
  return recipe;
}

bool has_seed(const RunColumn& column, const std::string& seed) {
  return std::ranges::any_of(column.runs, [&](const RunRecord* run) { return run->seed() == seed; });
}

// Numbers by size, others as text.
std::tuple<size_t, std::string> seed_order(const RunRecord* run) { return {run->seed().size(), run->seed()}; }

// "infonce" of infonce-1 and infonce-2, "ce" of ce/seed-1 and ce/seed-2; empty where the labels share nothing.
std::string shared_label(const std::vector<const RunRecord*>& runs) {
  std::string shared = runs.front()->label;
  for (const RunRecord* run : runs) {
    const auto end = std::ranges::mismatch(shared, run->label).in1;
    shared.erase(end, shared.end());
  }
  constexpr std::string_view kSeparators = "-_./ =", kSeed = "seed";
  const auto trim = [&] { shared.erase(shared.find_last_not_of(kSeparators) + 1); };
  trim();
  if (shared.ends_with(kSeed)) shared.resize(shared.size() - kSeed.size());
  trim();
  return shared;
}

std::string joined_label(const std::vector<const RunRecord*>& runs) {
  std::string label;
  for (const RunRecord* run : runs) label += (label.empty() ? "" : ", ") + run->label;
  return label;
}

void give_labels(std::vector<RunColumn>& columns) {
  std::multiset<std::string> labels;
  for (auto& column : columns) {
    column.label = column.has_seeds() ? shared_label(column.runs) : column.shown().label;
    if (column.label.empty()) column.label = column.shown().recipe.name;
    labels.insert(column.label);
  }
  for (auto& column : columns) {
    if (column.has_seeds() && (column.label.empty() || labels.count(column.label) > 1)) column.label = joined_label(column.runs);
  }
}

}  // namespace

std::string RunColumn::title() const { return has_seeds() ? fmt::format("{} ({} seeds)", label, runs.size()) : label; }

std::vector<RunColumn> run_columns(const std::vector<RunRecord>& runs) {
  std::vector<RunColumn> columns;
  std::vector<Recipe> recipes;
  for (const auto& run : runs) {
    const Recipe recipe = recipe_without_seed(run);
    size_t place = 0;
    const auto takes = [&](size_t at) {
      return recipes[at] == recipe && !has_seed(columns[at], run.seed()) && have_data_alike(columns[at].shown(), run);
    };
    while (place < columns.size() && !takes(place)) ++place;
    if (place == columns.size()) {
      columns.emplace_back();
      recipes.push_back(recipe);
    }
    columns[place].runs.push_back(&run);
  }
  for (auto& column : columns) std::ranges::stable_sort(column.runs, {}, seed_order);
  give_labels(columns);
  return columns;
}

std::vector<RunColumn> single_columns(const std::vector<RunRecord>& runs) {
  std::vector<RunColumn> columns;
  for (const auto& run : runs) columns.push_back({run.label, {&run}});
  return columns;
}

std::vector<RunRecord> shown_runs(const std::vector<RunColumn>& columns) {
  std::vector<RunRecord> runs;
  for (const auto& column : columns) {
    runs.push_back(column.shown());
    runs.back().label = column.has_seeds() ? fmt::format("{}, seed {}", column.label, column.shown().seed()) : column.label;
  }
  return runs;
}

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

ColumnDifference column_difference(const RunColumn& a, const std::vector<double>& of_a, const RunColumn& b,
                                   const std::vector<double>& of_b) {
  const auto with_seeds = [](const RunColumn& column, const std::vector<double>& values) {
    SeedValues found{{}, values};
    for (const RunRecord* run : column.runs) found.seeds.push_back(run->seed());
    return found;
  };
  return {seed_difference(with_seeds(a, of_a), with_seeds(b, of_b))};
}

namespace {

bool is_drawn(const DataFacts& data) { return !data.seed.empty() && (data.hold_out > 0 || !data.correlation.empty()); }

}  // namespace

std::string draw_of(const RunRecord& run, const std::string& split) { return run.recipe.data_of(split).follows_seed() ? run.seed() : ""; }

DataLikeness compare_run_data(const RunRecord& a, const RunRecord& b, const std::string& split) {
  const bool follow = a.recipe.data_of(split).follows_seed() && b.recipe.data_of(split).follows_seed();
  return follow && a.seed() != b.seed() ? DataLikeness::kUndetermined : compare_data_sets(a.data_sets, b.data_sets, split);
}

std::string shared_draws(const std::vector<const RunRecord*>& runs) {
  if (runs.size() < 2) return "";
  std::string splits;
  for (const char* split : {"train", "test"}) {
    const bool is_shared = std::ranges::all_of(runs, [&](const RunRecord* run) {
      const DataFacts& data = run->recipe.data_of(split);
      return is_drawn(data) && !data.follows_seed() && data.seed == runs.front()->recipe.data_of(split).seed;
    });
    if (is_shared) splits += (splits.empty() ? "data." : " and data.") + std::string(split);
  }
  return splits;
}

std::string shared_draw_words(const std::vector<std::vector<const RunRecord*>>& settings) {
  std::set<std::string> draws;
  for (const auto& runs : settings) draws.insert(shared_draws(runs));
  draws.erase("");
  if (draws.empty()) return "";
  return fmt::format("Conclusions are conditional on one draw of {}, which all seeds share; `seed: run` there draws anew for each seed",
                     *draws.rbegin());
}

std::string prediction_source(const EvaluationRecord& record, const std::string& metric, const MetricTitles& titles) {
  return titles.of(metric).of_predictions ? record.predictions : "";
}

std::string prediction_source(const RunRecord& run, const std::string& metric) {
  if (!run.titles->of(metric).of_predictions) return "";
  if (const EvaluationRecord* groups = run.evaluation("groups"); run.is_fixed() && groups != nullptr) return groups->predictions;
  const RecipeFacts& recipe = run.recipe;
  if (recipe.has_protocol("groups")) {
    const std::string& asked = recipe.groups_predictions;
    return asked != "auto" ? asked : recipe.has_classifier ? "classifier" : "knn";
  }
  if (metric == "acc1") return recipe.has_classifier ? "classifier" : "";
  return recipe.has_protocol("knn") ? "knn" : "";
}

std::vector<std::string> sources_in_order() {
  std::vector<std::string> sources;
  for (const auto& source : kPredictionsOf) sources.emplace_back(source.name);
  sources.emplace_back();
  return sources;
}

}  // namespace debias

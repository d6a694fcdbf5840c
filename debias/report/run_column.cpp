#include "debias/report/run_column.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <tuple>

#include "debias/core/flattened.h"
#include "debias/report/data_draw.h"

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

}  // namespace debias

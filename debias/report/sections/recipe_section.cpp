#include <algorithm>
#include <map>

#include "debias/core/flattened.h"
#include "debias/report/recipe_text.h"
#include "debias/report/sections/report_sections.h"

namespace debias {
namespace {

constexpr size_t kMostDifferences = 60;

// Values of each column's recipe by key, and the keys in order of appearance; without where and when a run was written.
struct RecipeKeys {
  std::vector<std::string> keys;
  std::vector<std::map<std::string, std::string>> values;
};

RecipeKeys recipe_keys(const std::vector<RunColumn>& columns) {
  RecipeKeys found;
  for (const auto& column : columns) {
    auto& values = found.values.emplace_back();
    for (auto& [key, value] : flattened(column.shown().config)) {
      if (key == "output" || key.starts_with("expected")) continue;
      if (std::ranges::find(found.keys, key) == found.keys.end()) found.keys.push_back(key);
      values[key] = key == "seed" ? seeds_text(column) : key == "name" ? recipe_name(column) : value;
    }
  }
  return found;
}

Table column_table(const std::vector<RunColumn>& columns, const std::string& head) {
  Table table;
  table.css_class = "numbers config";
  table.head.push_back({plain(head), "", ""});
  for (const auto& column : columns) table.head.push_back({plain(column.title()), "", ""});
  return table;
}

// A row of each run's value; left out if none has one. A column with seeds gives their value if they agree, else all values.
template <class ValueOf>
void add_row(Table& table, const std::vector<RunColumn>& columns, const std::string& name, ValueOf&& value_of) {
  Row row{{{plain(name), "", ""}}, false};
  bool any = false;
  for (const auto& column : columns) {
    std::vector<std::string> values;
    for (const RunRecord* run : column.runs) {
      const std::string value = value_of(*run);
      if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    }
    std::string text;
    for (const auto& value : values) text += (text.empty() ? "" : ", ") + value;
    any = any || !text.empty();
    row.cells.push_back({plain(text.empty() ? "–" : text), "", ""});
  }
  if (any) table.rows.push_back(std::move(row));
}

}  // namespace

void add_runs(Page& page, const ReportData& data) {
  for (const auto& column : data.columns) {
    const std::string words = column_words(column);
    page.paragraph(data.columns.size() > 1 ? strong(column.title()) + plain(": " + words) : plain(words));
    for (const RunRecord* run : column.runs) {
      for (const auto& note : run->notes) {
        page.paragraph(plain(data.runs.size() > 1 ? run->label + ": " + note : note), "note warning");
      }
    }
  }
}

void add_differences(Page& page, const ReportData& data) {
  if (data.columns.size() < 2) return;
  const RecipeKeys recipes = recipe_keys(data.columns);
  Table table = column_table(data.columns, "recipe key");
  size_t differing = 0;
  for (const auto& key : recipes.keys) {
    const auto of = [&](const auto& values) {
      const auto found = values.find(key);
      return found == values.end() || found->second.empty() ? std::string("–") : found->second;
    };
    const std::string first = of(recipes.values[0]);
    const bool differs = std::ranges::any_of(recipes.values, [&](const auto& values) { return of(values) != first; });
    if (!differs || ++differing > kMostDifferences) continue;
    Row row{{{code(key), "", ""}}, false};
    for (const auto& values : recipes.values) row.cells.push_back({plain(of(values)), "", ""});
    table.rows.push_back(std::move(row));
  }
  page.heading(2, "What differs");
  if (differing == 0) {
    page.paragraph(plain("The recipes are the same, but for where the runs are written."));
    return;
  }
  page.table(table);
  if (differing > kMostDifferences) {
    page.paragraph(plain(fmt::format("{} more keys differ; the recipes are at the end.", differing - kMostDifferences)), "note");
  }
}

void add_recipes(Page& page, const ReportData& data) {
  page.heading(2, "What was run");
  Table table = column_table(data.columns, "");
  add_row(table, data.columns, "folder", [](const RunRecord& run) { return run.path; });
  add_row(table, data.columns, "recipe", [](const RunRecord& run) { return run.recipe.name; });
  add_row(table, data.columns, "trained", progress_text);
  add_row(table, data.columns, "seed", [](const RunRecord& run) { return run.seed(); });
  for (const char* split : {"train", "valid", "test"}) {
    add_row(table, data.columns, fmt::format("seed of the {} data", split),
            [&](const RunRecord& run) { return run.recipe.data_of(split).seed; });
  }
  std::vector<std::string> keys;
  for (const auto& run : data.runs) {
    for (const auto& [key, value] : run.environment.items()) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  for (const auto& key : keys) {
    add_row(table, data.columns, key, [&](const RunRecord& run) { return run.of_environment(key.c_str()); });
  }
  page.table(table);
  for (const auto& run : data.shown) {
    page.folded(fmt::format("Recipe of {}, every default written out", run.label), {"<pre>" + escaped(run.config_text) + "</pre>"});
    page.paragraph(plain("To repeat it: ") +
                       code(fmt::format("debias {}train {}/config.yaml output=OTHER", run.of_agent() ? "rl " : "", shell_word(run.path))),
                   "note");
  }
}

}  // namespace debias

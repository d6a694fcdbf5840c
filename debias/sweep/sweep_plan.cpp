#include "debias/sweep/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "debias/core/error.h"
#include "debias/core/recipe_keys.h"
#include "debias/sweep/sweep_keys.h"
#include "debias/sweep/sweep_parts.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr int kMostRuns = 10000;
constexpr size_t kLongestName = 255;  // bytes of a folder's, on every file system in use

void assign_keys(Config& recipe, const Config& keys) {
  if (!keys.is_map()) return;
  for (const auto& [key, value] : keys.entries()) assign_key(recipe, key, value);
}

// All combinations of the grid's values, the last key fastest.
std::vector<std::vector<Config>> combinations(const std::vector<SweepAxis>& grid) {
  std::vector<std::vector<Config>> rows = {{}};
  for (const auto& axis : grid) {
    std::vector<std::vector<Config>> longer;
    for (const auto& row : rows) {
      for (const auto& value : axis.values) {
        longer.push_back(row);
        longer.back().push_back(value);
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

struct Words {
  std::vector<std::string> own, recipe;  // of the sweep itself, and of its recipes
};

Words sorted_words(const std::vector<std::string>& words, const Config& root) {
  Words sorted;
  const Config* grid = root.find("grid");
  for (const auto& word : words) {
    const std::string key = word.substr(0, word.find('='));
    if (key == "seeds" || key == "output" || key == "metric") {
      sorted.own.push_back(word);
      continue;
    }
    if (keys_overlap(key, "seed")) throw usage_error("sweep: '{}': the sweep sets the seed; write seeds=[1, 2]", word);
    if (keys_overlap(key, "output")) throw usage_error("sweep: '{}': the sweep sets the output; write output=DIR", word);
    if (grid != nullptr && grid->is_map()) {
      for (const auto& [axis, values] : grid->entries()) {
        if (keys_overlap(key, axis)) throw usage_error("sweep: '{}' would undo grid: {}; change it in '{}'", word, axis, values.where());
      }
    }
    sorted.recipe.push_back(word);
  }
  return sorted;
}

Config point_recipe(const Config& base, const SweepVariant& variant, const std::vector<SweepAxis>& grid, const std::vector<Config>& values,
                    const SweepParts& parts, const SweepPoint& point, const std::vector<std::string>& words) {
  Config recipe = base;
  if (parts.has_expected || parts.changes_base(point) || !words.empty())
    recipe.erase("expected");  // which is published of the base's own setting
  assign_keys(recipe, variant.keys);
  for (size_t i = 0; i < grid.size(); ++i) assign_key(recipe, grid[i].key, values[i]);
  for (const auto& [selector, keys] : parts.overrides) {
    if (selector.selects(point)) assign_keys(recipe, keys);
  }
  for (const auto& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) recipe.assign(word);  // which says how a word looks
    Config value = parse_yaml(word.substr(equals + 1), "command line");
    value.set_where("command line");
    assign_key(recipe, word.substr(0, equals), value);
  }
  Config expected = parts.expected_of(point);
  if (!expected.items().empty()) recipe.set("expected", std::move(expected));
  if (!variant.name.empty()) recipe.set("name", Config::string(variant.name));
  return recipe;
}

void require_short_names(const SweepPlan& plan, const SweepPoint& point) {
  constexpr size_t kShown = 60;
  for (const auto& folder : fs::path(point.folder())) {
    const std::string name = folder.string();
    if (name.size() <= kLongestName) continue;
    throw usage_error("sweep '{}': a run's folder '{}...' has a name of {} bytes, more than {}; set some keys in variants instead",
                      plan.file, name.substr(0, kShown), name.size(), kLongestName);
  }
}

void add_point(SweepPlan& plan, const SweepPoint& point, const Config& recipe) {
  require_short_names(plan, point);
  plan.points.push_back(point);
  for (const auto& seed : plan.seeds) {
    SweepRun run{point, seed, recipe};
    run.recipe.set("seed", Config::scalar(seed));
    run.recipe.set("output", Config::string((fs::path(plan.output) / run.name()).string()));
    plan.runs.push_back(std::move(run));
  }
}

// The shortest end of grid[i]'s key, in whole parts and not beginning with a number, that no other key ends in.
std::string short_key(const std::vector<std::pair<std::string, std::string>>& grid, size_t i) {
  const std::string& key = grid[i].first;
  const auto is_distinct = [&](const std::string& end) {
    return std::ranges::none_of(
        grid, [&](const auto& other) { return other.first != key && (other.first == end || other.first.ends_with("." + end)); });
  };
  for (size_t dot = key.rfind('.'); dot != std::string::npos && dot > 0; dot = key.rfind('.', dot - 1)) {
    const std::string end = key.substr(dot + 1);
    const bool is_number = end.find_first_not_of("0123456789") >= end.find('.');
    if (!is_number && is_distinct(end)) return end;
  }
  return key;
}

}  // namespace

std::string SweepPoint::folder() const {
  std::string values;
  for (const auto& [key, value] : grid) values += fmt::format("{}{}={}", values.empty() ? "" : ",", key, value);
  return variant.empty() || values.empty() ? variant + values : variant + "/" + values;
}

std::string SweepPoint::label(const std::string& without) const {
  std::string text = variant;
  for (size_t i = 0; i < grid.size(); ++i) {
    if (grid[i].first != without) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", short_key(grid, i), grid[i].second);
  }
  return text;
}

std::string SweepRun::name() const { return (fs::path(point.folder()) / ("seed-" + seed)).string(); }

std::vector<std::string> SweepRun::verb() const {
  if (is_agent_recipe(recipe)) return {"rl", "train"};
  return {"train"};
}

SweepPlan seeds_plan(const std::string& file, const Config& recipe, int64_t count) {
  if (count < 1 || count > kMostRuns) throw usage_error("train: --seeds {}: give 1 to {}", count, kMostRuns);
  const Config *output = recipe.find("output"), *own = recipe.find("seed");
  if (output == nullptr || !output->is_scalar() || output->text().empty())
    throw usage_error("train: '{}' names no output folder; add output=runs/NAME, below which each seed has a folder", file);
  int64_t first = 1;
  if (own != nullptr && (!own->is_scalar() || !parse_integer(own->text(), &first) || first < 0))
    throw usage_error("{}seed: expected a whole number from 0 on, the first of {} seeds", own->prefix(), count);
  SweepPlan plan{file, output->text(), "", {}, {}, {}, {}};
  for (int64_t i = 0; i < count; ++i) plan.seeds.push_back(std::to_string(first + i));
  add_point(plan, {}, recipe);
  return plan;
}

SweepPlan read_sweep(const std::string& path, const std::vector<std::string>& words, const FindBase& find_base) {
  Config root = read_yaml_file(path);
  if (!root.is_map() || root.find("base") == nullptr)
    throw usage_error("sweep '{}': no `base` is given; name the recipe that the runs start from", path);
  const Words sorted = sorted_words(words, root);
  const Config* published = root.find("metric");
  const std::string of_file = published == nullptr ? "" : published->text();
  for (const auto& word : sorted.own) root.assign(word);
  const SweepParts parts = read_sweep_parts(root, of_file);
  SweepPlan plan{path, parts.output, parts.metric, {}, parts.seeds, {}, {}, parts.axes};
  if (plan.output.empty()) throw usage_error("sweep '{}': no output folder is given; write `output: runs/sweeps/NAME`", path);
  for (const auto& axis : parts.grid) plan.grid.push_back(axis.key);
  double count = static_cast<double>(parts.variants.size() * plan.seeds.size());
  for (const auto& axis : parts.grid) count *= static_cast<double>(axis.values.size());
  if (count > kMostRuns)
    throw usage_error("sweep '{}': {:.0f} runs, more than the {} allowed; split it into several sweeps", path, count, kMostRuns);
  const auto rows = combinations(parts.grid);
  const Config base = read_base(root, path, find_base);
  for (const auto& variant : parts.variants) {
    for (const auto& values : rows) {
      SweepPoint point{variant.name, {}};
      for (size_t i = 0; i < values.size(); ++i) point.grid.emplace_back(parts.grid[i].key, values[i].text());
      add_point(plan, point, point_recipe(base, variant, parts.grid, values, parts, point, sorted.recipe));
    }
  }
  return plan;
}

}  // namespace debias

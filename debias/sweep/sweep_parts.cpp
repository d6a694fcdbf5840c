#include "debias/sweep/sweep_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/paths.h"
#include "debias/core/printable.h"
#include "debias/core/recipe_file.h"
#include "debias/sweep/sweep_record.h"

namespace debias {
namespace {

// The section `expected` of a sweep file: published numbers of its runs.

// Lists of an entry with `over: KEY`, one number for each of the key's values, and what such a number is called in an entry of its own.
struct ExpectedList {
  std::string_view list;
  const char* single;
};
constexpr std::array<ExpectedList, 3> kExpectedLists = {{{"values", "value"}, {"spreads", "spread"}, {"minutes", "minutes"}}};

void require_lists_over(const Config& entry, const SweepAxis& axis) {
  for (const auto& [name, single] : kExpectedLists) {
    const Config* list = entry.find(name);
    const bool is_left_out = list == nullptr && name != kExpectedLists.front().list;
    if (is_left_out || (list != nullptr && list->is_sequence() && list->items().size() == axis.values.size())) continue;
    throw usage_error("{}expected: over {}: {}: expected a list of {}, one for each of its values", entry.prefix(), axis.key, name,
                      axis.values.size());
  }
}

// The entry of the key's value number `i`.
Config expected_at(const Config& entry, const SweepAxis& axis, size_t i) {
  Config one = entry;
  one.erase("over");
  if (one.find("at") == nullptr) one.set("at", Config::map());
  one.find("at")->set(axis.key, axis.values[i]);
  for (const auto& [name, single] : kExpectedLists) {
    const Config* list = entry.find(name);
    one.erase(name);
    if (list != nullptr && !list->items()[i].is_null()) one.set(single, list->items()[i]);
  }
  return one;
}

// An entry with `over: KEY` as one entry for each of the key's values; any other as it is.
std::vector<Config> spelt_out(const Config& entry, const std::vector<SweepAxis>& grid) {
  const Config* over = entry.find("over");
  if (over == nullptr) return {entry};
  const std::string key = sweep_word(*over, "expected: over");
  const auto axis = std::ranges::find(grid, key, &SweepAxis::key);
  if (axis == grid.end()) throw usage_error("{}expected: over: '{}' is not in the grid", over->prefix(), key);
  if (const Config* at = entry.find("at"); at != nullptr && at->find(key) != nullptr)
    throw usage_error("{}expected: '{}' is in `at` and in `over`; keep one", at->find(key)->prefix(), key);
  require_lists_over(entry, *axis);
  std::vector<Config> entries;
  for (size_t i = 0; i < axis->values.size(); ++i) {
    const bool is_published = !entry.find(kExpectedLists.front().list)->items()[i].is_null();
    if (is_published) entries.push_back(expected_at(entry, *axis, i));
  }
  return entries;
}

void require_number_from_0(const Config& entry, const char* key) {
  double number = 0;
  const Config* value = entry.find(key);
  if (value == nullptr || value->is_null()) return;
  if (!value->is_scalar() || !parse_number(value->text(), &number) || number < 0)
    throw usage_error("{}expected: {}: expected a number from 0 on", value->prefix(), key);
}

void require_minutes(const Config& entry) {
  double minutes = 0;
  const Config* value = entry.find("minutes");
  if (value == nullptr || value->is_null()) return;
  if (!value->is_scalar() || !parse_number(value->text(), &minutes) || !(minutes > 0) || !std::isfinite(minutes))
    throw usage_error("{}expected: minutes: expected the published minutes of training, a number above 0", value->prefix());
}

// Epoch of a published number; 0: the end of training.
int64_t epoch_of(const Config& entry) {
  int64_t epoch = 0;
  const Config* value = entry.find("epoch");
  if (value == nullptr || value->is_null()) return 0;
  if (!value->is_scalar() || !parse_integer(value->text(), &epoch) || epoch < 1)
    throw usage_error("{}expected: epoch: expected a whole number from 1 on, the epoch that the number is of", value->prefix());
  return epoch;
}

// Number of runs that the number is the mean of; `spread` is their standard deviation.
void require_runs(const Config& entry) {
  int64_t runs = 0;
  const Config* value = entry.find("runs");
  if (value == nullptr || value->is_null()) return;
  if (!value->is_scalar() || !parse_integer(value->text(), &runs) || runs < 1)
    throw usage_error("{}expected: runs: expected a whole number from 1 on, the runs that the number is the mean of", value->prefix());
}

// Its words: a folded text of YAML ends in a new line, which would end a table's.
Config in_one_line(const Config& node) {
  if (!node.is_scalar()) return node;
  std::string words;
  bool apart = false;
  for (const char c : node.text()) {
    const bool is_space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!is_space && apart && !words.empty()) words += ' ';
    if (!is_space) words += c;
    apart = is_space;
  }
  words = without_control_characters(words);
  if (words == node.text()) return node;
  Config line = Config::string(std::move(words));
  line.set_where(node.where());
  return line;
}

void require_one_metric(const Config& entry, const Config& metric) {
  const std::string name = sweep_word(metric, "expected: metric");
  if (name.find(',') == std::string::npos) return;
  throw usage_error("{}expected: metric: '{}' are several; say here which one is published", entry.prefix(), name);
}

void add_expected(const Config& entry, SweepParts& parts) {
  require_known_keys(entry, {"variant", "at", "metric", "value", "spread", "runs", "tolerance", "minutes", "epoch", "source", "cost"},
                     "expected");
  double number = 0;
  const Config* value = entry.find("value");
  if (value == nullptr || !value->is_scalar() || !parse_number(value->text(), &number)) {
    throw usage_error("{}expected: value: expected the number that is published", entry.prefix());
  }
  require_number_from_0(entry, "spread");
  require_number_from_0(entry, "tolerance");
  require_runs(entry);
  require_minutes(entry);
  epoch_of(entry);
  Config expected = Config::map({{"metric", Config::string(parts.published)}});
  for (const auto& [key, given] : entry.entries()) {
    if (key != "variant" && key != "at") expected.set(key, key == "source" ? in_one_line(given) : given);
  }
  expected.set_where(entry.where());
  if (expected.find("metric")->text().empty()) {
    throw usage_error("{}expected: no metric is given; write it here or beside the grid", entry.prefix());
  }
  require_one_metric(entry, *expected.find("metric"));
  parts.expected.emplace_back(read_selector(entry, parts, "expected"), std::move(expected));
}

// Into `parts`, whose variants, grid and published metric have been read. Usage errors as of read_sweep().
void read_expected(const Config* node, SweepParts& parts) {
  for (const auto& entry : sweep_entries(node, "expected")) {
    if (!entry.is_map()) throw usage_error("{}expected: expected maps with a value and its source", entry.prefix());
    for (const auto& one : spelt_out(entry, parts.grid)) add_expected(one, parts);
  }
}

// Of a folder's name.
bool is_plain(const std::string& name) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("._+-").find(static_cast<char>(c)) != std::string_view::npos;
  };
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, plain);
}

// Applied to every run, it would replace the value of a variant, the grid or an override.
void refuse_own_keys(const std::string& key, const Config& value, const char* section) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kOwn = {{{"seed", "seeds"}, {"output", "output"}, {"expected", "expected"}}};
  for (const auto& [own, written] : kOwn) {
    if (!keys_overlap(key, own)) continue;
    throw usage_error("{}{}: '{}' is set by the sweep; write `{}` beside the {}", value.prefix(), section, key, written, section);
  }
}

// Files that a sweep writes into its output, beside the folders of variants; TensorBoard's end with a time and a number.
bool is_file_of_sweeps(const std::string& name) { return name.starts_with(kSweepFile) || name.starts_with("events.out.tfevents."); }

std::vector<SweepVariant> read_variants(const Config* node) {
  if (node == nullptr || node->is_null()) return {{"", Config::map()}};
  if (!node->is_map() || node->entries().empty()) {
    throw usage_error("{}variants: expected named sets of keys such as {{plain: {{}}, larger: {{encoder.width: 32}}}}", node->prefix());
  }
  std::vector<SweepVariant> variants;
  for (const auto& [name, keys] : node->entries()) {
    if (!is_plain(name)) {
      throw usage_error("{}variants: '{}' names a folder, so it may have letters, digits and ._+- only", keys.prefix(), name);
    }
    if (is_file_of_sweeps(name))
      throw usage_error("{}variants: '{}' names a file of the sweep's; choose another name", keys.prefix(), name);
    if (!keys.is_map() && !keys.is_null()) throw usage_error("{}variants: {}: expected keys of a recipe", keys.prefix(), name);
    for (const auto& [key, value] : keys.entries()) refuse_own_keys(key, value, "variants");
    variants.push_back({name, keys});
  }
  return variants;
}

bool are_one_number(const Config& a, const Config& b) {
  double one = 0, other = 0;
  return !a.quoted() && !b.quoted() && parse_number(a.text(), &one) && parse_number(b.text(), &other) && one == other;
}

SweepAxis read_axis(const std::string& key, const Config& values) {
  if (!values.is_sequence() || values.items().empty()) {
    throw usage_error("{}grid: {}: expected a list of values such as [0, 0.1]", values.prefix(), key);
  }
  std::vector<Config> seen;
  for (const auto& value : values.items()) {
    const std::string text = sweep_word(value, fmt::format("grid: {} (lists and maps can be variants)", key));
    if (!is_plain(text)) throw usage_error("{}grid: {}: '{}' cannot name a folder; make it a variant", value.prefix(), key, text);
    for (const auto& other : seen) {
      if (other.text() == text) throw usage_error("{}grid: {}: {} is given twice; keep one", value.prefix(), key, text);
      if (are_one_number(other, value))
        throw usage_error("{}grid: {}: {} is given twice, first as {}; keep one", value.prefix(), key, text, other.text());
    }
    seen.push_back(value);
  }
  return {key, values.items()};
}

std::vector<SweepAxis> read_grid(const Config* node) {
  std::vector<SweepAxis> grid;
  if (node == nullptr || node->is_null()) return grid;
  if (!node->is_map()) throw usage_error("{}grid: expected keys with lists such as {{objective.0.tau_plus: [0, 0.1]}}", node->prefix());
  for (const auto& [key, values] : node->entries()) {
    refuse_own_keys(key, values, "grid");
    for (const auto& other : grid) {
      if (keys_overlap(key, other.key)) throw usage_error("{}grid: '{}' and '{}' set the same; keep one", values.prefix(), other.key, key);
    }
    grid.push_back(read_axis(key, values));
  }
  return grid;
}

// The grid comes after the variants, whose keys above its own it leaves in place.
void require_kept_by_grid(const SweepVariant& variant, const std::vector<SweepAxis>& grid) {
  for (const auto& [key, value] : variant.keys.entries()) {
    for (const auto& axis : grid) {
      if (!key_lies_in(key, axis.key)) continue;
      throw usage_error("{}variants: {}: '{}' would be undone by grid: {}; take it out of the one or the other", value.prefix(),
                        variant.name, key, axis.key);
    }
  }
}

std::vector<std::string> read_seeds(const Config* node) {
  if (node == nullptr || node->is_null()) return {"1"};
  if (!node->is_sequence() || node->items().empty()) throw usage_error("{}seeds: expected a list such as [1, 2, 3]", node->prefix());
  std::vector<std::string> seeds;
  for (const auto& item : node->items()) {
    int64_t value = 0;
    if (!item.is_scalar() || !parse_integer(item.text(), &value) || value < 0) {
      throw usage_error("{}seeds: expected whole numbers from 0 on, such as [1, 2, 3]", item.prefix());
    }
    const std::string seed = fmt::format("{}", value);
    if (std::ranges::find(seeds, seed) != seeds.end()) throw usage_error("{}seed {} is given twice; keep one", item.prefix(), seed);
    seeds.push_back(seed);
  }
  return seeds;
}

std::vector<std::string> names_of(const std::vector<SweepVariant>& variants) {
  std::vector<std::string> names;
  for (const auto& variant : variants) names.push_back(variant.name);
  return names;
}

std::vector<std::string> selected_variants(const Config& node, const std::vector<SweepVariant>& variants, const char* what) {
  const std::vector<Config> items = node.is_sequence() ? node.items() : std::vector<Config>{node};
  const std::vector<std::string> known = names_of(variants);
  std::vector<std::string> names;
  for (const auto& item : items) {
    names.push_back(sweep_word(item, what));
    require_variant(names.back(), known, item, what);
  }
  return names;
}

std::string selected_value(const std::string& key, const Config& value, const std::vector<SweepAxis>& grid, const char* what) {
  std::vector<std::string> keys, texts;
  for (const auto& axis : grid) {
    keys.push_back(axis.key);
    if (axis.key != key) continue;
    for (const auto& item : axis.values) texts.push_back(item.text());
  }
  if (keys.empty()) throw usage_error("{}{}: '{}' is not in the grid: there is none; leave `at` out", value.prefix(), what, key);
  if (texts.empty()) throw usage_error("{}{}: '{}' is not in the grid{}", value.prefix(), what, key, suggestion(key, keys));
  const std::string text = sweep_word(value, what);
  if (std::ranges::find(texts, text) == texts.end()) {
    throw usage_error("{}{}: {} has no value {}{}", value.prefix(), what, key, text, suggestion(text, texts));
  }
  return text;
}

// Rows of the grid would be trained alike under different names.
void require_apart_from_grid(const std::string& key, const Config& value, const std::vector<SweepAxis>& grid) {
  for (const auto& axis : grid) {
    if (!keys_overlap(key, axis.key)) continue;
    throw usage_error("{}overrides: '{}' would undo grid: {}; set it in a variant, or take it out of the grid", value.prefix(), key,
                      axis.key);
  }
}

void read_overrides(const Config* node, SweepParts& parts) {
  for (const auto& entry : sweep_entries(node, "overrides")) {
    require_known_keys(entry, {"variant", "at", "set"}, "overrides");
    const Config* keys = entry.find("set");
    if (keys == nullptr || !keys->is_map()) throw usage_error("{}overrides: expected `set` with keys of a recipe", entry.prefix());
    for (const auto& [key, value] : keys->entries()) {
      refuse_own_keys(key, value, "overrides");
      require_apart_from_grid(key, value, parts.grid);
    }
    parts.overrides.emplace_back(read_selector(entry, parts, "overrides"), *keys);
  }
}

}  // namespace

Config SweepParts::expected_of(const SweepPoint& point) const {
  Config entries = Config::sequence();
  for (const auto& [selector, entry] : expected) {
    if (!selector.selects(point)) continue;
    for (const auto& other : entries.items()) {
      if (other.find("metric")->text() != entry.find("metric")->text() || epoch_of(other) != epoch_of(entry)) continue;
      const std::string label = point.label();
      throw usage_error("{}expected: {}{} is given twice ({} and {}); keep one", entry.prefix(), label.empty() ? "" : label + ": ",
                        entry.find("metric")->text(), other.find("value")->text(), entry.find("value")->text());
    }
    entries.items().push_back(entry);
  }
  return entries;
}

void require_known_keys(const Config& map, const std::vector<std::string>& known, const char* what) {
  if (!map.is_map()) throw usage_error("{}{}: expected a map such as {{{}: ...}}", map.prefix(), what, known.front());
  for (const auto& [key, value] : map.entries()) {
    if (std::ranges::find(known, key) == known.end()) {
      throw usage_error("{}{}: unknown key '{}'{}", value.prefix(), what, key, suggestion(key, known));
    }
  }
}

std::vector<Config> sweep_entries(const Config* node, const char* what) {
  if (node == nullptr || node->is_null()) return {};
  if (!node->is_sequence()) throw usage_error("{}{}: expected a list of maps", node->prefix(), what);
  return node->items();
}

void require_variant(const std::string& name, const std::vector<std::string>& known, const Config& node, const std::string& what) {
  if (known == std::vector<std::string>{""})
    throw usage_error("{}{}: variant '{}': the sweep has no variants; leave it out", node.prefix(), what, name);
  if (std::ranges::find(known, name) == known.end())
    throw usage_error("{}{}: no variant '{}'{}", node.prefix(), what, name, suggestion(name, known));
}

SweepSelector read_selector(const Config& entry, const SweepParts& parts, const char* what) {
  SweepSelector selector;
  if (const Config* variant = entry.find("variant")) selector.variants = selected_variants(*variant, parts.variants, what);
  const Config* at = entry.find("at");
  if (at == nullptr) return selector;
  if (!at->is_map()) throw usage_error("{}{}: at: expected grid keys with a value each", at->prefix(), what);
  for (const auto& [key, value] : at->entries()) selector.at.emplace_back(key, selected_value(key, value, parts.grid, what));
  return selector;
}

std::string sweep_word(const Config& node, const std::string& what) {
  if (!node.is_scalar()) throw usage_error("{}{}: expected one word or number", node.prefix(), what);
  return node.text();
}

bool SweepSelector::selects(const SweepPoint& point) const {
  if (!variants.empty() && std::ranges::find(variants, point.variant) == variants.end()) return false;
  return std::ranges::all_of(at, [&](const auto& entry) { return std::ranges::find(point.grid, entry) != point.grid.end(); });
}

bool SweepParts::changes_base(const SweepPoint& point) const {
  const auto variant = std::ranges::find(variants, point.variant, &SweepVariant::name);
  const bool has_keys = variant == variants.end() || !variant->keys.entries().empty();
  return has_keys || !grid.empty() || std::ranges::any_of(overrides, [&](const auto& entry) { return entry.first.selects(point); });
}

SweepParts read_sweep_parts(const Config& root, const std::string& published) {
  require_known_keys(root, keys_of_sweeps(), "sweep");
  SweepParts parts;
  if (const Config* metric = root.find("metric")) parts.metric = sweep_word(*metric, "metric");
  parts.published = published.empty() ? parts.metric : published;
  if (const Config* output = root.find("output")) parts.output = with_home(sweep_word(*output, "output"));
  parts.variants = read_variants(root.find("variants"));
  parts.grid = read_grid(root.find("grid"));
  for (const auto& variant : parts.variants) require_kept_by_grid(variant, parts.grid);
  parts.seeds = read_seeds(root.find("seeds"));
  read_overrides(root.find("overrides"), parts);
  read_expected(root.find("expected"), parts);
  parts.has_expected = root.find("expected") != nullptr;
  parts.axes = read_variant_axes(root.find("axes"), names_of(parts.variants));
  return parts;
}

std::optional<SweepParts> read_sweep_file(const std::string& path) {
  Config root = read_yaml_file(path);
  const Config* output = root.find("output");
  if (!is_sweep(root) || output == nullptr || !output->is_scalar()) return std::nullopt;
  const std::string folder = with_home(output->text());
  if (root.find("metric") == nullptr && has_sweep_record(folder)) root.set("metric", Config::string(read_sweep_record(folder).metric));
  return read_sweep_parts(root);
}

}  // namespace debias

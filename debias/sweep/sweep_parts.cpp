#include "debias/sweep/sweep_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string_view>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/paths.h"
#include "debias/core/recipe_file.h"
#include "debias/sweep/sweep_expected.h"
#include "debias/sweep/sweep_keys.h"
#include "debias/sweep/sweep_record.h"

namespace debias {
namespace {

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

#include "debias/sweep/sweep_expected.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "debias/core/error.h"
#include "debias/core/printable.h"

namespace debias {
namespace {

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

}  // namespace

void read_expected(const Config* node, SweepParts& parts) {
  for (const auto& entry : sweep_entries(node, "expected")) {
    if (!entry.is_map()) throw usage_error("{}expected: expected maps with a value and its source", entry.prefix());
    for (const auto& one : spelt_out(entry, parts.grid)) add_expected(one, parts);
  }
}

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

}  // namespace debias

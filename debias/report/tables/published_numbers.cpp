#include "debias/report/tables/published_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "debias/report/recipe_text.h"

namespace debias {
namespace {

std::vector<Config> expected_of(const RunRecord& run) {
  const Config* expected = run.config.find("expected");
  return expected == nullptr || !expected->is_sequence() ? std::vector<Config>() : expected->items();
}

std::optional<double> optional_number(const Config& item, const char* key) {
  double number = 0;
  return parse_number(text_at_path(item, {key}), &number) ? std::optional(number) : std::nullopt;
}

// The epoch that ours are of; 0 where each run has one of its own, which held-out images chose.
int64_t epoch_of_row(const TableRow& row, const EpochChoice& read) {
  if (read.which == TableEpoch::kNumber) return read.number;
  return read.which == TableEpoch::kLast ? row.epochs : 0;
}

}  // namespace

std::vector<Config> expectations(const ComparedRuns& compared, const ComparedRow& row) {
  if (row.expected) return row.expected->items();
  return row.runs.empty() ? std::vector<Config>() : expected_of(compared.runs[row.runs.front()]);
}

std::vector<Published> published_numbers(const std::vector<Config>& expected, const std::string& metric) {
  std::vector<Published> numbers;
  for (const auto& item : expected) {
    const auto value = optional_number(item, "value");
    if (text_at_path(item, {"metric"}) != metric || !value) continue;
    Published published{*value, optional_number(item, "spread"), text_at_path(item, {"source"}), optional_number(item, "minutes"), 0};
    if (!parse_integer(text_at_path(item, {"epoch"}), &published.epoch)) published.epoch = 0;
    if (int64_t runs = 0; parse_integer(text_at_path(item, {"runs"}), &runs) && runs > 0) published.runs = runs;
    numbers.push_back(std::move(published));
  }
  return numbers;
}

std::optional<Published> published_at(const std::vector<Published>& numbers, int64_t epoch) {
  const auto nearness = [&](const Published& number) {
    return std::tuple(number.epoch > 0 && number.epoch == epoch, number.epoch == 0, number.epoch);
  };
  const auto nearest = std::ranges::max_element(numbers, {}, nearness);
  return nearest == numbers.end() ? std::nullopt : std::optional(*nearest);
}

void note_other_expectations(const ComparedRuns& compared, std::vector<std::string>& notes) {
  for (const auto& row : compared.rows) {
    const auto expected = expectations(compared, row);
    const bool alike =
        row.expected || std::ranges::all_of(row.runs, [&](size_t run) { return expected_of(compared.runs[run]) == expected; });
    if (alike) continue;
    notes.push_back(
        fmt::format("runs of '{}' have different published numbers in their recipes, of which the first run's are shown; the "
                    "sweep's file, given in place of its output, has the current ones",
                    row.label));
    return;
  }
}

void note_shares_above_one(SeedTable& table) {
  for (const auto& row : table.rows) {
    if (row.unit != Unit::kShare || !row.published || std::fabs(row.published->value) <= 1) continue;
    table.notes.push_back(fmt::format("published for '{}' is {:g}, but {} is a share, from 0 to 1: write {:g} in `expected`", row.label,
                                      row.published->value, row.metric, row.published->value / 100));
  }
}

void note_published_epochs(SeedTable& table, const EpochChoice& read) {
  std::map<int64_t, std::vector<const TableRow*>> others;  // by the epoch that is published; 0: the end of training
  for (const auto& row : table.rows) {
    if (!row.published || row.values.empty()) continue;
    const int64_t ours = epoch_of_row(row, read), theirs = row.published->epoch;
    const bool is_alike = theirs == 0 ? read.which != TableEpoch::kNumber || ours == row.epochs : theirs == ours;
    if (!is_alike) others[theirs].push_back(&row);
  }
  for (const auto& [epoch, rows] : others) {
    const std::string settings = rows.size() == table.rows.size() ? "" : fmt::format(" for '{}'", rows.front()->label);
    const std::string more = settings.empty() || rows.size() == 1 ? "" : fmt::format(" and {} more", rows.size() - 1);
    const bool has_last = read.which == TableEpoch::kLast && rows.front()->epochs > 0;
    const std::string ours =
        (read.which == TableEpoch::kNumber ? "" : "the ") + table.epoch + (has_last ? fmt::format(", {}", rows.front()->epochs) : "");
    table.notes.push_back(fmt::format("published numbers{}{} are of {}, ours of {}", settings, more,
                                      epoch == 0 ? "the end of training" : fmt::format("epoch {}", epoch), ours));
  }
}

}  // namespace debias

#include "debias/report/tables/published_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace debias {
namespace {

// The epoch that ours are of; 0 where each run has one of its own, which held-out images chose.
int64_t epoch_of_row(const TableRow& row, const EpochChoice& read) {
  if (read.which == TableEpoch::kNumber) return read.number;
  return read.which == TableEpoch::kLast ? row.epochs : 0;
}

}  // namespace

std::vector<Published> expectations(const ComparedRuns& compared, const ComparedRow& row) {
  if (row.expected) return *row.expected;
  return row.runs.empty() ? std::vector<Published>() : compared.runs[row.runs.front()].recipe.expected;
}

std::vector<Published> published_numbers(std::vector<Published> expected, const std::string& metric) {
  std::erase_if(expected, [&](const Published& entry) { return entry.metric != metric || std::isnan(entry.value); });
  return expected;
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
    const auto expected_by = [&](size_t run) -> const Config& { return compared.runs[run].recipe.expected_section; };
    const bool alike =
        row.expected || std::ranges::all_of(row.runs, [&](size_t run) { return expected_by(run) == expected_by(row.runs.front()); });
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

#include "debias/report/tables/table_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "debias/core/config.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/report/seed_interval.h"

namespace debias {
namespace {

constexpr double kLevel = 0.05;  // of each test

// The published numbers' difference, with Welch's test of it where they can have one.
std::optional<PublishedDifference> published_difference(const TableRow& a, const TableRow& b) {
  if (!a.published || !b.published) return std::nullopt;
  const Published &of_a = *a.published, &of_b = *b.published;
  if (of_a.epoch != of_b.epoch) return std::nullopt;  // one may only have been trained for longer
  PublishedDifference found{of_a.value - of_b.value, {}, {}};
  if (found.mean == 0) found.conclusive = false;
  if (!of_a.spread || !of_b.spread) return found;
  found.spread = std::hypot(*of_a.spread, *of_b.spread);
  if (!of_a.runs || !of_b.runs) return found;
  const SeedInterval tested =
      welch_of_summaries(SampleSummary{of_a.value, *of_a.spread, *of_a.runs}, SampleSummary{of_b.value, *of_b.spread, *of_b.runs});
  if (!std::isnan(tested.p)) found.conclusive = tested.p < kLevel;
  return found;
}

Outcome outcome_of(const SeedInterval& ours, double p, const PublishedDifference& published) {
  if (published.conclusive == false) return Outcome::kInconclusiveInPaper;
  if (!(p < kLevel)) return Outcome::kInconclusive;  // or NaN: one seed, or seeds without any spread
  return (ours.mean > 0) == (published.mean > 0) ? Outcome::kConfirmed : Outcome::kContradicted;
}

TableDifference difference_of(const std::vector<TableRow>& rows, size_t a, size_t b) {
  const SeedDifference found = seed_difference({rows[a].seeds, rows[a].values}, {rows[b].seeds, rows[b].values});
  TableDifference difference{a, b, found.interval, found.paired};
  difference.published = published_difference(rows[a], rows[b]);
  return difference;
}

// Adjusts the p-values for each other, and decides the outcomes.
void decide(std::vector<TableDifference>& differences) {
  std::vector<double> p;
  for (const auto& difference : differences) p.push_back(difference.interval.p);
  const std::vector<double> adjusted = holm_adjusted(p);
  for (size_t i = 0; i < differences.size(); ++i) {
    TableDifference& difference = differences[i];
    difference.p_holm = adjusted[i];
    if (!difference.published) continue;
    difference.published->outcome = outcome_of(difference.interval, p[i], *difference.published);
    difference.published->outcome_holm = outcome_of(difference.interval, adjusted[i], *difference.published);
  }
}

bool has_variants(const std::vector<TableRow>& rows) {
  return std::ranges::any_of(rows, [&](const TableRow& row) { return row.variant != rows.front().variant; });
}

// Returns of different tasks say nothing of each other. A row without runs has none.
bool share_a_task(const TableRow& a, const TableRow& b) { return a.task.empty() || b.task.empty() || a.task == b.task; }

// Grid values of a row's data.
std::vector<std::pair<std::string, std::string>> data_of_grid(const TableRow& row) {
  std::vector<std::pair<std::string, std::string>> data;
  for (const auto& entry : row.grid) {
    if (parts_of_key(entry.first).front() == "data") data.push_back(entry);
  }
  return data;
}

// Which rows are compared with each other: variants at one point of the grid; without variants, all of a task and of the same data.
bool are_compared(const std::vector<TableRow>& rows, size_t a, size_t b) {
  if (!share_a_task(rows[a], rows[b])) return false;
  return has_variants(rows) ? rows[a].grid == rows[b].grid : data_of_grid(rows[a]) == data_of_grid(rows[b]);
}

// A share is not compared with a loss, nor what is to be large with what is to be small.
bool are_of_one_kind(const TableRow& a, const TableRow& b) { return a.unit == b.unit && a.lower_is_better == b.lower_is_better; }

}  // namespace

std::vector<TableDifference> differences_of(const std::vector<TableRow>& rows, const std::string& against) {
  std::vector<TableDifference> differences;
  size_t chosen = rows.size();
  if (!against.empty()) {
    std::vector<std::string> labels;
    for (const auto& row : rows) labels.push_back(row.label);
    chosen = static_cast<size_t>(std::ranges::find(labels, against) - labels.begin());
    if (chosen == rows.size()) throw usage_error("table: --against '{}': no such row{}", against, suggestion(against, labels));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    size_t reference = chosen;
    for (size_t other = 0; reference == rows.size() && other <= i; ++other) {
      if (are_compared(rows, other, i)) reference = other;
    }
    if (reference == i || rows[i].values.empty() || rows[reference].values.empty() || !share_a_task(rows[i], rows[reference])) continue;
    if (!are_of_one_kind(rows[i], rows[reference])) continue;
    differences.push_back(difference_of(rows, i, reference));
  }
  decide(differences);
  return differences;
}

std::vector<TableDifference> ordering_of(const std::vector<TableRow>& rows) {
  std::vector<TableDifference> ordering;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = i + 1; j < rows.size(); ++j) {
      if (rows[i].values.empty() || rows[j].values.empty() || !are_of_one_kind(rows[i], rows[j]) || !are_compared(rows, i, j)) continue;
      const auto published = published_difference(rows[i], rows[j]);
      if (!published || published->mean == 0) continue;
      const bool is_first_better = (published->mean > 0) != rows[i].lower_is_better;
      ordering.push_back(is_first_better ? difference_of(rows, i, j) : difference_of(rows, j, i));
    }
  }
  decide(ordering);
  return ordering;
}

OutcomeCounts outcome_counts(const std::vector<TableDifference>& ordering, Outcome PublishedDifference::*outcome) {
  OutcomeCounts counts = {
      {{Outcome::kConfirmed, 0}, {Outcome::kContradicted, 0}, {Outcome::kInconclusive, 0}, {Outcome::kInconclusiveInPaper, 0}}};
  for (const auto& difference : ordering) {
    for (auto& [each, count] : counts) count += difference.published && (*difference.published).*outcome == each;
  }
  return counts;
}

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

#include "debias/report/table_differences.h"

#include <algorithm>

#include "debias/core/config.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"

namespace debias {
namespace {

// Over the seeds that both rows have; of means of different seeds where these are too few to tell a spread.
TableDifference difference_of(const std::vector<TableRow>& rows, size_t a, size_t b) {
  std::vector<double> of_a, of_b;
  for (size_t i = 0; i < rows[a].seeds.size(); ++i) {
    const auto other = std::ranges::find(rows[b].seeds, rows[a].seeds[i]);
    if (other == rows[b].seeds.end()) continue;
    of_a.push_back(rows[a].values[i]);
    of_b.push_back(rows[b].values[static_cast<size_t>(other - rows[b].seeds.begin())]);
  }
  const bool more_tell = std::min(rows[a].values.size(), rows[b].values.size()) > 1;
  if (of_a.size() > 1 || (!of_a.empty() && !more_tell)) return {a, b, paired_difference(of_a, of_b), true};
  return {a, b, welch_difference(rows[a].values, rows[b].values), false};
}

bool has_variants(const std::vector<TableRow>& rows) {
  return std::ranges::any_of(rows, [&](const TableRow& row) { return row.variant != rows.front().variant; });
}

// Returns of different tasks say nothing of each other. A row without runs has none.
bool share_a_task(const TableRow& a, const TableRow& b) { return a.task.empty() || b.task.empty() || a.task == b.task; }

// What the grid says of a row's data.
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

// Whether our difference has the sign of the published one.
OrderingVerdict verdict_of(const SeedInterval& ours, double published) {
  if (!(ours.half_width > 0)) return OrderingVerdict::kOpen;  // one seed, or seeds without any spread
  if (ours.low() <= 0 && ours.high() >= 0) return OrderingVerdict::kOpen;
  return (ours.mean > 0) == (published > 0) ? OrderingVerdict::kHolds : OrderingVerdict::kReversed;
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
  return differences;
}

std::vector<TableOrdering> ordering_of(const std::vector<TableRow>& rows) {
  std::vector<TableOrdering> ordering;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = i + 1; j < rows.size(); ++j) {
      if (!rows[i].published || !rows[j].published || !are_of_one_kind(rows[i], rows[j]) || !are_compared(rows, i, j)) continue;
      if (rows[i].published->epoch != rows[j].published->epoch) continue;  // one may only have been trained for longer
      const double published = rows[i].published->value - rows[j].published->value;
      if (published == 0 || rows[i].values.empty() || rows[j].values.empty()) continue;
      const bool is_first_better = (published > 0) != rows[i].lower_is_better;
      const TableDifference ours = is_first_better ? difference_of(rows, i, j) : difference_of(rows, j, i);
      const double of_better = is_first_better ? published : -published;
      ordering.push_back({ours, of_better, verdict_of(ours.interval, of_better)});
    }
  }
  return ordering;
}

}  // namespace debias

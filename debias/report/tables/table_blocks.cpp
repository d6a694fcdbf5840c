#include "debias/report/tables/table_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "debias/report/tables/table_differences.h"

namespace debias {
namespace {

// Shares in percent; other numbers as they are, with one decimal where they reach 100: 0.6931 of a loss, 850.3 of a return.
struct NumberStyle {
  bool percent = false;
  int decimals = 4;

  std::string shown(double value, bool sign = false) const {
    if (std::isnan(value)) return "";
    const double scaled = percent ? 100 * value : value;
    return sign ? fmt::format("{:+.{}f}", scaled, decimals) : fmt::format("{:.{}f}", scaled, decimals);
  }
  std::string with_width(double mean, double half_width, bool sign = false) const {
    const std::string value = shown(mean, sign);
    return value.empty() || std::isnan(half_width) ? value : value + " ± " + shown(half_width);
  }
};

// Format of a table's numbers in one unit; a table of several metrics may have two.
NumberStyle style_of(const SeedTable& table, Unit unit) {
  if (unit == Unit::kShare) return {true, 2};
  double largest = 0;
  for (const auto& row : table.rows) {
    if (row.unit == unit) largest = std::fmax(largest, std::fabs(row.interval.mean));  // NaN of an empty row is ignored
  }
  return {false, largest < 100 ? 4 : 1};
}

// Format of a table's numbers, and whether heads can say that all of them are percents.
class Styles {
 public:
  explicit Styles(const SeedTable& table) : table_(table) {
    bool any_other = false, any_share = false;
    for (const auto& row : table.rows) {
      if (row.values.empty() && !row.published) continue;  // nothing is written of it
      (row.unit == Unit::kShare ? any_share : any_other) = true;
    }
    all_percent_ = any_share && !any_other;
    mixed_ = any_share && any_other;
  }

  std::string head(const char* percent, const char* other) const { return all_percent_ ? percent : other; }
  // With the unit if heads do not show it.
  std::string cell(const TableRow& row, double value, double half_width, bool sign = false) const {
    const NumberStyle style = style_of(table_, row.unit);
    const std::string text = style.with_width(value, half_width, sign);
    return text.empty() || !mixed_ || !style.percent ? text : text + (sign ? " points" : " %");
  }

 private:
  const SeedTable& table_;
  bool all_percent_ = false, mixed_ = false;
};

std::string p_text(double p) { return std::isnan(p) ? "" : p < 0.0001 ? "<0.0001" : fmt::format("{:.4f}", p); }

// "contradicted (inconclusive by Holm)".
std::string outcome_text(const PublishedDifference& published) {
  const std::string alone = to_text(published.outcome);
  return published.outcome == published.outcome_holm ? alone : fmt::format("{} ({} by Holm)", alone, to_text(published.outcome_holm));
}

}  // namespace

TableBlock settings_block(const SeedTable& table, MinutesColumn minutes) {
  const Styles styles(table);
  const bool published = std::ranges::any_of(table.rows, [](const TableRow& row) { return row.published.has_value(); });
  const bool several = table.metric.find(',') != std::string::npos;
  TableBlock block;
  block.head = {"setting", "seeds", (several ? "mean" : table.metric) + styles.head(" %", "")};
  if (minutes == MinutesColumn::kShown) block.head.emplace_back("minutes");
  if (published) block.head.insert(block.head.end(), {styles.head("published %", "published"), "source"});
  block.ends_in_words = published;
  for (const auto& row : table.rows) {
    std::string label = row.label.empty() ? "(all)" : row.label;
    if (several && !row.metric.empty()) label += " (" + row.metric + ")";
    std::vector<std::string> cells = {label, fmt::format("{}", row.values.size()),
                                      styles.cell(row, row.interval.mean, row.interval.half_width)};
    if (cells[2].empty()) cells[2] = "–";
    if (minutes == MinutesColumn::kShown) cells.push_back(std::isnan(row.minutes) ? "–" : fmt::format("{:.1f}", row.minutes));
    if (published) {
      const std::string theirs = row.published ? styles.cell(row, row.published->value, row.published->spread.value_or(NAN)) : "";
      cells.insert(cells.end(), {theirs, row.published ? row.published->source : ""});
    }
    block.rows.push_back(std::move(cells));
  }
  return block;
}

TableBlock differences_block(const SeedTable& table) {
  const Styles styles(table);
  TableBlock block;
  block.head = {"difference", "seeds", styles.head("points", "difference"), "p", "p (Holm)"};
  for (const auto& difference : table.differences) {
    const TableRow &a = table.rows[difference.a], &b = table.rows[difference.b];
    block.rows.push_back({fmt::format("{} – {}", a.label, b.label), difference.paired ? fmt::format("{}", difference.interval.n) : "other",
                          styles.cell(a, difference.interval.mean, difference.interval.half_width, true), p_text(difference.interval.p),
                          p_text(difference.p_holm)});
  }
  return block;
}

TableBlock orderings_block(const SeedTable& table) {
  const Styles styles(table);
  TableBlock block;
  block.head = {"published as better", "than", styles.head("points", "difference"), "p", "p (Holm)", "published", "outcome"};
  block.words = 2;
  block.ends_in_words = true;
  for (const auto& ours : table.ordering) {
    const TableRow& better = table.rows[ours.a];
    block.rows.push_back({better.label, table.rows[ours.b].label, styles.cell(better, ours.interval.mean, ours.interval.half_width, true),
                          p_text(ours.interval.p), p_text(ours.p_holm), styles.cell(better, ours.published->mean, NAN, true),
                          outcome_text(*ours.published)});
  }
  return block;
}

std::string ordering_words(const SeedTable& table) {
  if (table.ordering.empty()) return "";
  const OutcomeCounts raw = outcome_counts(table.ordering, &PublishedDifference::outcome);
  const OutcomeCounts holm = outcome_counts(table.ordering, &PublishedDifference::outcome_holm);
  const auto counts = [](const OutcomeCounts& of) {
    return fmt::format("{} confirmed, {} contradicted, {} inconclusive", of[0].second, of[1].second, of[2].second);
  };
  std::string words = fmt::format("Published orderings: {}; inconclusive in the paper itself: {}. The others, each tested alone at 5 %: {}",
                                  table.ordering.size(), raw[3].second, counts(raw));
  words += fmt::format("; adjusted for the number of tests (Holm): {}.", counts(holm));
  const auto untested = std::ranges::count_if(table.ordering, [](const auto& difference) { return !difference.published->conclusive; });
  if (untested > 0) {
    words +=
        fmt::format(" {} published differences are taken as they are: a test of them needs `spread` and `runs` in `expected`.", untested);
  }
  return words;
}

}  // namespace debias

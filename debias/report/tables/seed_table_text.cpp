#include "debias/report/tables/seed_table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "debias/report/tables/table_differences.h"

namespace debias {
namespace {

// Columns on a terminal, a code point each.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string as_text(const TableBlock& block) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < block.head.size(); ++i) {
    widths.push_back(width_of(block.head[i]));
    for (const auto& row : block.rows) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  const auto add = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string pad(widths[i] - width_of(cells[i]), ' ');
      line += (i == 0 ? "" : "  ") + (block.is_number(i) ? pad + cells[i] : cells[i] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add(block.head);
  for (const auto& row : block.rows) add(row);
  return out;
}

std::string replaced(const std::string& text, const std::vector<std::pair<char, std::string>>& by) {
  std::string out;
  for (const char c : text) {
    const auto found = std::ranges::find(by, c, &std::pair<char, std::string>::first);
    out += found == by.end() ? std::string(1, c) : found->second;
  }
  return out;
}

std::string as_markdown(const TableBlock& block) {
  std::string out;
  const auto add = [&](const std::vector<std::string>& cells) {
    for (const auto& cell : cells) out += "| " + replaced(cell, {{'|', "\\|"}, {'\n', " "}}) + " ";
    out += "|\n";
  };
  add(block.head);
  for (size_t i = 0; i < block.head.size(); ++i) out += block.is_number(i) ? "|---:" : "|---";
  out += "|\n";
  for (const auto& row : block.rows) add(row);
  return out + "\n";
}

std::string latex_words(std::string text) {
  text = replaced(text, {{'\\', "\\textbackslash{}"},
                         {'&', "\\&"},
                         {'%', "\\%"},
                         {'_', "\\_"},
                         {'#', "\\#"},
                         {'$', "\\$"},
                         {'{', "\\{"},
                         {'}', "\\}"},
                         {'~', "\\textasciitilde{}"},
                         {'^', "\\textasciicircum{}"}});
  for (const auto& [sign, latex] : {std::pair{"±", "$\\pm$"}, std::pair{"–", "--"}}) {
    for (size_t at = text.find(sign); at != std::string::npos; at = text.find(sign, at))
      text.replace(at, std::string_view(sign).size(), latex);
  }
  return text;
}

std::string as_latex(const TableBlock& block) {
  std::string out = "\\begin{tabular}{";
  for (size_t i = 0; i < block.head.size(); ++i) out += block.is_number(i) ? 'r' : 'l';
  out += "}\n\\hline\n";
  const auto add = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) out += (i == 0 ? "" : " & ") + latex_words(cells[i]);
    out += " \\\\\n";
  };
  add(block.head);
  out += "\\hline\n";
  for (const auto& row : block.rows) add(row);
  return out + "\\hline\n\\end{tabular}\n\n";
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  return "\"" + replaced(text, {{'"', "\"\""}}) + "\"";
}

std::string csv_number(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

using CsvLines = std::vector<std::vector<std::string>>;  // the first names the columns

CsvLines csv_settings(const SeedTable& table, MinutesColumn minutes) {
  CsvLines lines = {{"setting", "variant", "metric", "seeds", "mean", "half_width", "published", "spread", "source"}};
  const bool has_minutes = minutes == MinutesColumn::kShown;
  if (has_minutes) lines.front().emplace_back("minutes");
  for (const auto& row : table.rows) {
    const Published published = row.published.value_or(Published{.value = NAN});
    lines.push_back({row.label, row.variant, row.metric, fmt::format("{}", row.values.size()), csv_number(row.interval.mean),
                     csv_number(row.interval.half_width), csv_number(published.value), csv_number(published.spread.value_or(NAN)),
                     published.source});
    if (has_minutes) lines.back().push_back(csv_number(row.minutes));
  }
  return lines;
}

CsvLines csv_differences(const SeedTable& table) {
  CsvLines lines = {{"difference", "against", "seeds", "paired", "mean", "half_width", "p", "p_holm"}};
  for (const auto& difference : table.differences) {
    const SeedInterval& interval = difference.interval;
    lines.push_back({table.rows[difference.a].label, table.rows[difference.b].label, fmt::format("{}", interval.n),
                     difference.paired ? "true" : "false", csv_number(interval.mean), csv_number(interval.half_width),
                     csv_number(interval.p), csv_number(difference.p_holm)});
  }
  return lines;
}

CsvLines csv_orderings(const SeedTable& table) {
  CsvLines lines = {
      {"better", "than", "published_difference", "published_spread", "mean", "half_width", "p", "p_holm", "verdict", "verdict_holm"}};
  for (const auto& ours : table.ordering) {
    const PublishedDifference& published = *ours.published;
    lines.push_back({table.rows[ours.a].label, table.rows[ours.b].label, csv_number(published.mean),
                     csv_number(published.spread.value_or(NAN)), csv_number(ours.interval.mean), csv_number(ours.interval.half_width),
                     csv_number(ours.interval.p), csv_number(ours.p_holm), to_text(published.outcome), to_text(published.outcome_holm)});
  }
  return lines;
}

std::string as_csv(const CsvLines& lines) {
  std::string out;
  for (const auto& cells : lines) {
    for (size_t i = 0; i < cells.size(); ++i) out += (i == 0 ? "" : ",") + csv_cell(cells[i]);
    out += "\n";
  }
  return out;
}

std::string written(const TableBlock& block, TableFormat format) {
  if (block.rows.empty()) return "";
  if (format == TableFormat::kMarkdown) return as_markdown(block);
  return format == TableFormat::kLatex ? as_latex(block) : as_text(block) + "\n";
}

std::string line_of(const std::string& words, TableFormat format) {
  if (words.empty()) return "";
  if (format == TableFormat::kLatex) return "% " + words + "\n";
  return words + (format == TableFormat::kMarkdown ? "\n\n" : "\n");
}

}  // namespace

std::string seed_table_text(const SeedTable& table, TableFormat format, MinutesColumn minutes) {
  if (format == TableFormat::kCsv) return as_csv(csv_settings(table, minutes));
  if (format == TableFormat::kCsvDifferences) return as_csv(csv_differences(table));
  if (format == TableFormat::kCsvOrderings) return as_csv(csv_orderings(table));
  std::string out = line_of(fmt::format("{}, {}: mean ± two-sided 95 % t-interval over seeds.", table.metric, table.epoch), format);
  if (format == TableFormat::kText) out += "\n";
  out += written(settings_block(table, minutes), format) + written(differences_block(table), format);
  out += line_of(ordering_words(table), format);
  if (format == TableFormat::kText && !table.ordering.empty()) out += "\n";
  out += written(orderings_block(table), format);
  for (const auto& note : table.notes) out += line_of("Note: " + note + ".", format);
  return out;
}

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

#include "debias/report/seed_table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace debias {
namespace {

struct Grid {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  size_t words = 1;  // columns of words at the left; those after them are numbers, but for the last where `ends_in_words`
  bool ends_in_words = false;

  bool is_number(size_t column) const { return column >= words && !(ends_in_words && column + 1 == head.size()); }
};

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

// Of a table's numbers in one unit; a table of several metrics may have two.
NumberStyle style_of(const SeedTable& table, Unit unit) {
  if (unit == Unit::kShare) return {true, 2};
  double largest = 0;
  for (const auto& row : table.rows) {
    if (row.unit == unit) largest = std::fmax(largest, std::fabs(row.interval.mean));  // NaN of an empty row is passed over
  }
  return {false, largest < 100 ? 4 : 1};
}

// How numbers of a table are written, and whether heads can say that all of them are percents.
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
  // With the unit where heads do not tell it.
  std::string cell(const TableRow& row, double value, double half_width, bool sign = false) const {
    const NumberStyle style = style_of(table_, row.unit);
    const std::string text = style.with_width(value, half_width, sign);
    return text.empty() || !mixed_ || !style.percent ? text : text + (sign ? " points" : " %");
  }

 private:
  const SeedTable& table_;
  bool all_percent_ = false, mixed_ = false;
};

Grid settings_grid(const SeedTable& table) {
  const Styles styles(table);
  const bool published = std::ranges::any_of(table.rows, [](const TableRow& row) { return row.published.has_value(); });
  const bool several = table.metric.find(',') != std::string::npos;
  Grid grid;
  grid.head = {"setting", "seeds", (several ? "mean" : table.metric) + styles.head(" %", "")};
  if (published) grid.head.insert(grid.head.end(), {styles.head("published %", "published"), "source"});
  grid.ends_in_words = published;
  for (const auto& row : table.rows) {
    std::string label = row.label.empty() ? "(all)" : row.label;
    if (several && !row.metric.empty()) label += " (" + row.metric + ")";
    std::vector<std::string> cells = {label, fmt::format("{}", row.values.size()),
                                      styles.cell(row, row.interval.mean, row.interval.half_width)};
    if (cells[2].empty()) cells[2] = "–";
    if (published) {
      const std::string theirs = row.published ? styles.cell(row, row.published->value, row.published->spread.value_or(NAN)) : "";
      cells.insert(cells.end(), {theirs, row.published ? row.published->source : ""});
    }
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

Grid differences_grid(const SeedTable& table) {
  const Styles styles(table);
  Grid grid;
  grid.head = {"difference", "seeds", styles.head("points", "difference")};
  for (const auto& difference : table.differences) {
    const TableRow &a = table.rows[difference.a], &b = table.rows[difference.b];
    grid.rows.push_back({fmt::format("{} – {}", a.label, b.label), difference.paired ? fmt::format("{}", difference.interval.n) : "other",
                         styles.cell(a, difference.interval.mean, difference.interval.half_width, true)});
  }
  return grid;
}

Grid ordering_grid(const SeedTable& table) {
  const Styles styles(table);
  Grid grid;
  grid.head = {"published as better", "than", styles.head("points", "difference"), "published", ""};
  grid.words = 2;
  grid.ends_in_words = true;
  for (const auto& ordering : table.ordering) {
    const TableDifference& ours = ordering.difference;
    const TableRow& better = table.rows[ours.a];
    grid.rows.push_back({better.label, table.rows[ours.b].label, styles.cell(better, ours.interval.mean, ours.interval.half_width, true),
                         styles.cell(better, ordering.published, NAN, true), to_text(ordering.verdict)});
  }
  return grid;
}

// Columns on a terminal, a code point each.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string as_text(const Grid& grid) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < grid.head.size(); ++i) {
    widths.push_back(width_of(grid.head[i]));
    for (const auto& row : grid.rows) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  const auto add = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string pad(widths[i] - width_of(cells[i]), ' ');
      line += (i == 0 ? "" : "  ") + (grid.is_number(i) ? pad + cells[i] : cells[i] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add(grid.head);
  for (const auto& row : grid.rows) add(row);
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

std::string as_markdown(const Grid& grid) {
  std::string out;
  const auto add = [&](const std::vector<std::string>& cells) {
    for (const auto& cell : cells) out += "| " + replaced(cell, {{'|', "\\|"}, {'\n', " "}}) + " ";
    out += "|\n";
  };
  add(grid.head);
  for (size_t i = 0; i < grid.head.size(); ++i) out += grid.is_number(i) ? "|---:" : "|---";
  out += "|\n";
  for (const auto& row : grid.rows) add(row);
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

std::string as_latex(const Grid& grid) {
  std::string out = "\\begin{tabular}{";
  for (size_t i = 0; i < grid.head.size(); ++i) out += grid.is_number(i) ? 'r' : 'l';
  out += "}\n\\hline\n";
  const auto add = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) out += (i == 0 ? "" : " & ") + latex_words(cells[i]);
    out += " \\\\\n";
  };
  add(grid.head);
  out += "\\hline\n";
  for (const auto& row : grid.rows) add(row);
  return out + "\\hline\n\\end{tabular}\n\n";
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  return "\"" + replaced(text, {{'"', "\"\""}}) + "\"";
}

std::string csv_number(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

std::string as_csv(const SeedTable& table) {
  std::string out = "setting,variant,metric,seeds,mean,half_width,published,spread,source\n";
  for (const auto& row : table.rows) {
    const double published = row.published ? row.published->value : NAN, spread = row.published ? row.published->spread.value_or(NAN) : NAN;
    out += fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_cell(row.label), csv_cell(row.variant), csv_cell(row.metric), row.values.size(),
                       csv_number(row.interval.mean), csv_number(row.interval.half_width), csv_number(published), csv_number(spread),
                       csv_cell(row.published ? row.published->source : ""));
  }
  return out;
}

std::string written(const Grid& grid, TableFormat format) {
  if (grid.rows.empty()) return "";
  if (format == TableFormat::kMarkdown) return as_markdown(grid);
  return format == TableFormat::kLatex ? as_latex(grid) : as_text(grid) + "\n";
}

std::string line_of(const std::string& words, TableFormat format) {
  if (words.empty()) return "";
  if (format == TableFormat::kLatex) return "% " + words + "\n";
  return words + (format == TableFormat::kMarkdown ? "\n\n" : "\n");
}

}  // namespace

std::string ordering_words(const SeedTable& table) {
  if (table.ordering.empty()) return "";
  const auto count = [&](OrderingVerdict verdict) { return std::ranges::count(table.ordering, verdict, &TableOrdering::verdict); };
  return fmt::format("Of {} published orderings {} hold beyond the seeds' spread, {} are reversed beyond it, {} are open.",
                     table.ordering.size(), count(OrderingVerdict::kHolds), count(OrderingVerdict::kReversed),
                     count(OrderingVerdict::kOpen));
}

std::string seed_table_text(const SeedTable& table, TableFormat format) {
  if (format == TableFormat::kCsv) return as_csv(table);
  std::string out = line_of(fmt::format("{}, {}: mean ± two-sided 95 % t-interval over seeds.", table.metric, table.epoch), format);
  if (format == TableFormat::kText) out += "\n";
  out += written(settings_grid(table), format) + written(differences_grid(table), format);
  out += line_of(ordering_words(table), format);
  if (format == TableFormat::kText && !table.ordering.empty()) out += "\n";
  out += written(ordering_grid(table), format);
  for (const auto& note : table.notes) out += line_of("Note: " + note + ".", format);
  return out;
}

}  // namespace debias

#include "debias/report/tables/seed_table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

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

}  // namespace debias

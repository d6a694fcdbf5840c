// A table of seeds in the forms that people paste: for the terminal, Markdown, CSV, LaTeX.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/report/tables/seed_table.h"

namespace debias {

// The parts of a seed table as text, for the terminal, Markdown, LaTeX and a report's page.
struct TableBlock {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  size_t words = 1;  // number of text columns on the left; the others are numbers, except the last if `ends_in_words`
  bool ends_in_words = false;

  bool is_number(size_t column) const { return column >= words && !(ends_in_words && column + 1 == head.size()); }
};

enum class MinutesColumn { kLeftOut, kShown };  // of training

// Means over seeds and published numbers.
TableBlock settings_block(const SeedTable& table, MinutesColumn minutes);
// Differences between settings with their intervals; no rows where there are none.
TableBlock differences_block(const SeedTable& table);
// Which setting is published as better than which, ours beside it and the outcome; no rows where nothing is published.
TableBlock orderings_block(const SeedTable& table);

// "Of 12 published orderings, 7 are confirmed, ..." by each test alone and adjusted for all of them; empty where nothing is published.
std::string ordering_words(const SeedTable& table);

enum class TableFormat { kText, kMarkdown, kLatex, kCsv, kCsvDifferences, kCsvOrderings };

inline constexpr std::array<std::pair<std::string_view, TableFormat>, 6> kTableFormats = {
    {{"text", TableFormat::kText},
     {"markdown", TableFormat::kMarkdown},
     {"latex", TableFormat::kLatex},
     {"csv", TableFormat::kCsv},
     {"csv_differences", TableFormat::kCsvDifferences},
     {"csv_orderings", TableFormat::kCsvOrderings}}};

constexpr bool is_csv(TableFormat format) { return format >= TableFormat::kCsv; }

// Settings, differences, whether the published ordering holds, and notes. CSV has one of the first three, with numbers as they are.
std::string seed_table_text(const SeedTable& table, TableFormat format, MinutesColumn minutes = MinutesColumn::kLeftOut);

}  // namespace debias

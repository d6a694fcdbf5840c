// A table of seeds in the forms that people paste: for the terminal, Markdown, CSV, LaTeX.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "debias/report/tables/seed_table.h"
#include "debias/report/tables/table_blocks.h"

namespace debias {

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

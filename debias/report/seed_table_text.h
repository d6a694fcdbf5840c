// A table of seeds in the forms that people paste: for the terminal, Markdown, CSV, LaTeX.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "debias/report/seed_table.h"
#include "debias/report/table_blocks.h"

namespace debias {

enum class TableFormat { kText, kMarkdown, kCsv, kLatex };

inline constexpr std::array<std::pair<std::string_view, TableFormat>, 4> kTableFormats = {
    {{"text", TableFormat::kText}, {"markdown", TableFormat::kMarkdown}, {"csv", TableFormat::kCsv}, {"latex", TableFormat::kLatex}}};

// Settings, differences, whether the published ordering holds, and notes. CSV has blocks of these, an empty line between them, with numbers
// as they are, and no notes.
std::string seed_table_text(const SeedTable& table, TableFormat format, MinutesColumn minutes = MinutesColumn::kLeftOut);

}  // namespace debias

// A table of seeds in the forms that people paste: for the terminal, Markdown, CSV, LaTeX.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "debias/report/seed_table.h"

namespace debias {

enum class TableFormat { kText, kMarkdown, kCsv, kLatex };

inline constexpr std::array<std::pair<std::string_view, TableFormat>, 4> kTableFormats = {
    {{"text", TableFormat::kText}, {"markdown", TableFormat::kMarkdown}, {"csv", TableFormat::kCsv}, {"latex", TableFormat::kLatex}}};

// Settings, differences, whether the published ordering holds, and notes. CSV has the settings alone, with numbers as they are.
std::string seed_table_text(const SeedTable& table, TableFormat format);

// "7 of 12 published orderings hold, 1 is reversed, 4 are open"; empty where nothing is published.
std::string ordering_words(const SeedTable& table);

}  // namespace debias

#include <fmt/format.h>

#include "debias/report/sections/grid_figures.h"
#include "debias/report/sections/report_sections.h"
#include "debias/report/tables/table_blocks.h"

namespace debias {
namespace {

constexpr size_t kMostRows = 12;  // of a table that is not folded

Table table_of(const TableBlock& block, const std::string& caption = "") {
  Table table;
  table.caption = caption;
  table.css_class = "numbers";
  const auto css_class = [&](size_t column) {
    return block.is_number(column) ? "n" : column > 0 && column + 1 == block.head.size() ? "text" : "";
  };
  for (size_t i = 0; i < block.head.size(); ++i) table.head.push_back({plain(block.head[i]), css_class(i), ""});
  for (const auto& cells : block.rows) {
    Row row;
    for (size_t i = 0; i < cells.size(); ++i) row.cells.push_back({plain(cells[i]), css_class(i), ""});
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Nothing of a block without rows.
void add_block(Page& page, const TableBlock& block, const std::string& caption) {
  if (block.rows.empty()) return;
  if (block.rows.size() <= kMostRows) {
    page.table(table_of(block, caption));
  } else {
    page.folded(caption, table_in_scroller(table_of(block)));
  }
}

}  // namespace

void add_comparison(Page& page, const SeedTable& table) {
  page.heading(2, "Settings: " + table.metric);
  if (!table.rows.empty()) {
    page.paragraph(plain(fmt::format("The {}; mean and two-sided 95 % t-interval over seeds, and what is published.", table.epoch)));
    page.table(table_of(settings_block(table, MinutesColumn::kLeftOut)));
  }
  add_block(page, differences_block(table),
            "Differences with their interval and p-value, alone and adjusted for the number of tests (Holm)");
  if (const std::string words = ordering_words(table); !words.empty()) page.paragraph(plain(words));
  add_block(page, orderings_block(table), "Published orderings: our difference, the published one and the outcome");
  for (const auto& note : table.notes) page.paragraph(plain(note + "."), "note warning");
  const Figures figures = grid_figures(table);
  if (!figures.empty()) page.figures(figures);
}

}  // namespace debias

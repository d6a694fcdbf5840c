#include <fmt/format.h>

#include <cmath>

#include "debias/report/grid_figures.h"
#include "debias/report/metric_title.h"
#include "debias/report/report_sections.h"
#include "debias/report/seed_table_text.h"

namespace debias {
namespace {

std::string mean_text(Unit unit, double mean, double half_width) {
  if (std::isnan(mean)) return "–";
  return metric_number(unit, mean) + (std::isnan(half_width) ? "" : " ± " + metric_number(unit, half_width));
}

Table settings_table(const SeedTable& table) {
  Table found;
  found.css_class = "numbers";
  for (const char* head : {"setting", "seeds", "mean", "published", "source"}) found.head.push_back({plain(head), "", ""});
  for (size_t i = 1; i < 4; ++i) found.head[i].css_class = "n";
  const bool several = table.metric.find(',') != std::string::npos;
  for (const auto& row : table.rows) {
    const std::string published =
        row.published ? mean_text(row.unit, row.published->value, row.published->spread.value_or(NAN)) : std::string();
    const std::string label = several && !row.metric.empty() ? fmt::format("{} ({})", row.label, row.metric) : row.label;
    found.rows.push_back({{{plain(label), "", ""},
                           {plain(fmt::format("{}", row.values.size())), "n", ""},
                           {plain(mean_text(row.unit, row.interval.mean, row.interval.half_width)), "n", ""},
                           {plain(published), "n", ""},
                           {plain(row.published ? row.published->source : ""), "text", ""}},
                          false});
  }
  return found;
}

}  // namespace

void add_comparison(Page& page, const SeedTable& table) {
  page.heading(2, "Settings: " + table.metric);
  if (!table.rows.empty()) {
    page.paragraph(plain(fmt::format("The {}; mean and two-sided 95 % t-interval over seeds, and what is published.", table.epoch)));
    page.table(settings_table(table));
  }
  if (const std::string words = ordering_words(table); !words.empty()) page.paragraph(plain(words));
  for (const auto& note : table.notes) page.paragraph(plain(note + "."), "note warning");
  const Figures figures = grid_figures(table);
  if (!figures.empty()) page.figures(figures);
}

}  // namespace debias

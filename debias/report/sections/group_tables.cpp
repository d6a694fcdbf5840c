#include "debias/report/sections/group_tables.h"

#include <fmt/format.h>

#include <cmath>

namespace debias {
namespace {

Cell share_cell(double share) {
  if (std::isnan(share)) return {plain("–"), "", "--v:0"};
  return {plain(fmt::format("{:.1f}", 100 * share)), "", fmt::format("--v:{:.3f}", share)};
}

}  // namespace

Table group_table(const EvaluationRecord& record, const EvaluatedSet& set, const std::string& caption) {
  const GroupTable& groups = record.groups.at(set.split);
  const bool has_own = record.metric(set.split + ".aligned_acc") != nullptr;
  const double* worst = record.metric(set.split + ".worst_group_acc");
  Table table;
  table.caption = caption;
  table.css_class = "heat";
  table.head.push_back({plain("label \\ bias"), "", ""});
  for (const auto& bias : groups.biases) table.head.push_back({plain(bias), "", ""});
  for (size_t y = 0; y < groups.labels.size(); ++y) {
    Row row;
    row.cells.push_back({plain(groups.labels[y]), "", ""});
    for (size_t b = 0; b < groups.biases.size(); ++b) {
      const double accuracy = groups.accuracy[y][b];
      Cell cell = share_cell(accuracy);
      if (!std::isnan(accuracy)) cell.content += element("span", "small", plain(fmt::format("{}", groups.count[y][b])));
      if (has_own && record.is_aligned(groups, y, b).value_or(false)) cell.css_class = "own";
      if (worst != nullptr && accuracy == *worst) cell.css_class = "least";
      row.cells.push_back(std::move(cell));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table rates_table(const GroupTable& groups, const std::string& caption) {
  Table table;
  table.caption = caption;
  table.css_class = "heat";
  for (const char* head : {"bias", "images", "errors"}) table.head.push_back({plain(head), "", ""});
  for (const auto& label : groups.labels) table.head.push_back({plain("as " + label), "", ""});
  for (const auto& rates : groups.rates) {
    Row row{{{plain(rates.bias), "", ""}, {plain(fmt::format("{}", rates.count)), "", "--v:0"}, share_cell(rates.error_rate)}, false};
    for (const double rate : rates.selection_rate) row.cells.push_back(share_cell(rate));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace debias

#include "debias/report/sections/comparison_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "debias/report/sections/report_sections.h"
#include "debias/report/tables/seed_table_text.h"
#include "debias/sweep/sweep_plan.h"

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
  page.heading(2, "Settings: " + table.metric, "each setting's mean, differences, published numbers and curves");
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

namespace {

constexpr size_t kMostCurves = 12;  // that are distinguishable

// A curve without anything beside it has to have a shape.
size_t fewest_points(bool has_published) { return has_published ? 2 : 3; }

bool has_published(const SeedTable& table) {
  return std::ranges::any_of(table.rows, [](const TableRow& row) { return row.published.has_value(); });
}

// The value of a key as a number; NaN where the row does not have it, or as a word.
double grid_number(const TableRow& row, const std::string& key) {
  double value = NAN;
  for (const auto& [name, text] : row.grid) {
    if (name == key && !parse_number(text, &value)) return NAN;
  }
  return value;
}

std::vector<std::string> numeric_keys(const SeedTable& table) {
  std::vector<std::string> keys;
  if (table.rows.empty()) return keys;
  for (const auto& entry : table.rows.front().grid) {
    std::set<double> values;
    bool all = true;
    for (const auto& row : table.rows) {
      const double value = grid_number(row, entry.first);
      all = all && std::isfinite(value);
      values.insert(value);
    }
    if (all && values.size() >= fewest_points(has_published(table))) keys.push_back(entry.first);
  }
  return keys;
}

std::vector<std::string> axes_of(const SeedTable& table) {
  std::vector<std::string> axes;
  for (const auto& row : table.rows) {
    for (const auto& place : row.places) {
      if (std::ranges::find(axes, place.over) == axes.end()) axes.push_back(place.over);
    }
  }
  return axes;
}

// Position of a row along x, and its line.
struct PlacedRow {
  const TableRow* row;
  double x;
  std::string line;
};

// Lines are of the variant and the other keys of the grid.
std::vector<PlacedRow> rows_along_key(const SeedTable& table, const std::string& key) {
  std::vector<PlacedRow> rows;
  for (const auto& row : table.rows) rows.push_back({&row, grid_number(row, key), SweepPoint{row.variant, row.grid}.label(key)});
  return rows;
}

// Lines are those of the axis, at each point of the grid.
std::vector<PlacedRow> rows_along_axis(const SeedTable& table, const std::string& axis) {
  std::vector<PlacedRow> rows;
  for (const auto& row : table.rows) {
    for (const auto& place : row.places) {
      if (place.over == axis) rows.push_back({&row, place.number, SweepPoint{place.line, row.grid}.label()});
    }
  }
  return rows;
}

// Ours, and what is published of the same.
struct GridLine {
  std::string name;
  Series ours, published;

  bool is_empty() const { return ours.x.empty() && published.x.empty(); }
};

GridLine& line_named(std::vector<GridLine>& lines, const std::string& name) {
  const auto found = std::ranges::find(lines, name, &GridLine::name);
  return found != lines.end() ? *found : lines.emplace_back(GridLine{name, {}, {}});
}

void add_ours(GridLine& line, const SeedInterval& interval, double x) {
  if (interval.n == 0 || !std::isfinite(x)) return;
  const double half = interval.half_width > 0 ? interval.half_width : 0;
  line.ours.x.push_back(x);
  line.ours.y.push_back(interval.mean);
  line.ours.low.push_back(interval.mean - half);
  line.ours.high.push_back(interval.mean + half);
}

void add_published(GridLine& line, double value, double x) {
  line.published.x.push_back(x);
  line.published.y.push_back(value);
}

// In the order of the table, each from left to right.
std::vector<GridLine> lines_of_rows(std::vector<PlacedRow> rows) {
  std::vector<GridLine> lines;
  for (const auto& placed : rows) line_named(lines, placed.line);
  std::ranges::stable_sort(rows, {}, &PlacedRow::x);
  for (const auto& placed : rows) {
    GridLine& line = line_named(lines, placed.line);
    add_ours(line, placed.row->interval, placed.x);
    if (placed.row->published) add_published(line, placed.row->published->value, placed.x);
  }
  return lines;
}

// Keeps as many lines as are distinguishable, those with published numbers first.
Html keep_lines_apart(std::vector<GridLine>& lines) {
  const size_t all = lines.size();
  if (all <= kMostCurves) return {};
  // clang 14 has no such ranges
  std::stable_partition(lines.begin(), lines.end(), [](const GridLine& line) { return !line.published.x.empty(); });
  lines.resize(kMostCurves);
  return plain(fmt::format("{} of {} lines are drawn.", kMostCurves, all));
}

// A line's colour is its own; its marker, too, where nothing is published, which else differs by it.
void add_lines(Chart& chart, std::vector<GridLine>& lines) {
  const bool any_published = std::ranges::any_of(lines, [](const GridLine& line) { return !line.published.x.empty(); });
  for (size_t i = 0; i < lines.size(); ++i) {
    GridLine& line = lines[i];
    line.ours.name = line.name.empty() && any_published ? "ours" : line.name;
    line.published.name = line.name.empty() ? "published" : line.name + ", published";
    line.ours.look = line.published.look = static_cast<int>(i);
    line.ours.shape = any_published ? 0 : -1;
    line.published.shape = 1;
    for (Series* series : {&line.ours, &line.published}) {
      if (!series->x.empty()) chart.series.push_back(std::move(*series));
    }
  }
}

Chart empty_grid_chart(const SeedTable& table, const std::string& title, bool percent) {
  Chart chart;
  chart.title = title;
  chart.y.label = table.metric;
  chart.y.percent = percent;
  return chart;
}

Axis axis_over(const std::string& label, const std::vector<PlacedRow>& rows) {
  constexpr double kWide = 16;
  const auto [least, largest] = std::ranges::minmax(rows, {}, &PlacedRow::x);
  Axis axis;
  axis.label = label == "train.batch_size" ? "batch size B (2 B - 2 negatives of an anchor in two views)" : label;
  if (least.x > 0 && largest.x / least.x >= kWide) axis.scale = Scale::kLog;
  return axis;
}

// Nothing where no row has a number.
void add_curve(Figures& figures, const SeedTable& table, const std::string& over, const std::vector<PlacedRow>& rows, bool percent) {
  std::vector<GridLine> lines = lines_of_rows(rows);
  std::erase_if(lines, [](const GridLine& line) { return line.is_empty(); });
  if (lines.empty()) return;
  Chart chart = empty_grid_chart(table, fmt::format("{} over {}", table.metric, over), percent);
  chart.x = axis_over(over, rows);
  const Html caption = keep_lines_apart(lines);
  add_lines(chart, lines);
  figures.emplace_back(std::move(chart), caption);
}

// A point for each setting, and one for what is published of it.
void add_minutes(Figures& figures, const SeedTable& table, bool percent) {
  std::vector<GridLine> lines;
  bool any_published = false;
  for (const auto& row : table.rows) {
    GridLine line{row.label, {}, {}};
    add_ours(line, row.interval, row.minutes);
    if (row.published && row.published->minutes) add_published(line, row.published->value, *row.published->minutes);
    any_published = any_published || !line.published.x.empty();
    if (!line.is_empty()) lines.push_back(std::move(line));
  }
  if (lines.size() < fewest_points(any_published) || lines.size() > kMostCurves) return;
  Chart chart = empty_grid_chart(table, table.metric + " against training time", percent);
  chart.draw = Draw::kPoints;
  chart.x.label = "minutes";
  add_lines(chart, lines);
  figures.emplace_back(std::move(chart), Html{});
}

// Our course of training; if it was evaluated at its end alone, that.
Series course_of(const TableRow& row) {
  GridLine line;
  line.ours = {.name = "", .x = row.curve.x, .y = row.curve.y, .low = row.curve.low, .high = row.curve.high};
  if (line.ours.x.empty()) add_ours(line, row.interval, static_cast<double>(row.epochs));
  return line.ours;
}

// Where a number is published of an epoch: it is a point there.
void add_epochs(Figures& figures, const SeedTable& table, bool percent) {
  std::vector<GridLine> lines;
  bool any_published = false;
  for (const auto& row : table.rows) {
    GridLine line{row.label, course_of(row), {}};
    std::vector<Published> numbers = row.all_published;
    std::erase_if(numbers, [](const Published& number) { return number.epoch == 0; });
    std::ranges::stable_sort(numbers, {}, &Published::epoch);
    for (const auto& number : numbers) add_published(line, number.value, static_cast<double>(number.epoch));
    any_published = any_published || !numbers.empty();
    if (!line.is_empty()) lines.push_back(std::move(line));
  }
  if (!any_published) return;
  Chart chart = empty_grid_chart(table, table.metric + " over epochs", percent);
  chart.x.label = "epoch";
  chart.x.whole = true;
  const Html caption = keep_lines_apart(lines);
  add_lines(chart, lines);
  figures.emplace_back(std::move(chart), caption);
}

}  // namespace

Figures grid_figures(const SeedTable& table) {
  Figures figures;
  std::set<Unit> units;
  for (const auto& row : table.rows) {
    if (!row.values.empty() || row.published) units.insert(row.unit);
  }
  if (units.size() != 1) return figures;  // shares and other numbers have no axis in common
  const bool percent = *units.begin() == Unit::kShare;
  for (const auto& key : numeric_keys(table)) add_curve(figures, table, key, rows_along_key(table, key), percent);
  for (const auto& axis : axes_of(table)) add_curve(figures, table, axis, rows_along_axis(table, axis), percent);
  add_minutes(figures, table, percent);
  add_epochs(figures, table, percent);
  return figures;
}

}  // namespace debias

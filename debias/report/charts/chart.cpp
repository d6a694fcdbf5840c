#include "debias/report/charts/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "debias/report/charts/chart_parts.h"

namespace debias {
namespace {

void check(const Chart& chart) {
  for (const auto& series : chart.series) {
    const size_t x = chart.draw == Draw::kSteps && !series.y.empty() ? series.y.size() + 1 : series.y.size();
    const bool by_category = chart.draw == Draw::kBars || chart.draw == Draw::kDots;
    const bool places = by_category ? series.y.size() == chart.categories.size() : series.x.size() == x;
    const bool intervals = series.low.size() == series.high.size() && (series.low.empty() || series.low.size() == series.y.size());
    if (!places || !intervals) {
      throw std::invalid_argument(fmt::format("chart '{}': series '{}' has lists of other lengths than its {} values need", chart.title,
                                              series.name, series.y.size()));
    }
  }
}

}  // namespace

Html svg(const Chart& chart, std::string_view id) {
  check(chart);
  if (chart.draw == Draw::kDots) return dot_chart(chart, id);
  return chart.draw == Draw::kBars ? bar_chart(chart, id) : xy_chart(chart, id);
}

namespace {

constexpr double kBar = 13, kBarGap = 3, kCategoryGap = 9;

std::string value_text(const Axis& axis, double value) { return axis.percent ? percent_text(value) : short_number(value); }

struct BarFrame {
  double left = kLeft, right = 0;
  PlacedAxis x;
  const Axis* axis = nullptr;

  double at(double value) const { return x.place(value, left, right); }
};

std::string bar(const BarFrame& frame, const Series& series, size_t category, size_t number, double y) {
  const double value = series.y[category], middle = y + kBar / 2;
  if (!frame.x.has_place(value)) return text_at(frame.at(0) + 4, middle + 4, "muted", "start", "n/a");
  const double zero = frame.at(0), end = frame.at(value);
  const std::string colour = colour_class(number);
  std::string out = fmt::format("<path class=\"bar {}\" d=\"M{} {}H{}v{}H{}z\"/>", colour, coordinate(zero), coordinate(y), coordinate(end),
                                coordinate(kBar), coordinate(zero));
  double beyond = std::max(zero, end);
  if (!series.low.empty() && frame.x.has_place(series.low[category]) && frame.x.has_place(series.high[category])) {
    const double low = frame.at(series.low[category]), high = frame.at(series.high[category]);
    out += fmt::format("<path class=\"whisker {}\" d=\"M{} {}v6M{} {}H{}M{} {}v6\"/>", colour, coordinate(low), coordinate(middle - 3),
                       coordinate(low), coordinate(middle), coordinate(high), coordinate(high), coordinate(middle - 3));
    beyond = std::max(beyond, high);
  }
  out += fmt::format("<path class=\"mark {}\" d=\"{}\"/>", colour, marker(number, end, middle, 3));
  return out + text_at(beyond + 6, middle + 4, "", "start", value_text(*frame.axis, value));
}

}  // namespace

Html bar_chart(const Chart& chart, std::string_view id) {
  std::vector<double> values = {0};
  double widest = 0;
  for (const auto& series : chart.series) {
    for (const auto* list : {&series.y, &series.low, &series.high}) values.insert(values.end(), list->begin(), list->end());
    for (const double value : series.y) widest = std::max(widest, text_width(value_text(chart.x, value), kFont));
  }
  const Block title = title_block(chart.title);
  BarFrame frame;
  frame.axis = &chart.x;
  frame.x = place_axis(chart.x, values, Ends::kTicks, 4);
  frame.right = kChartWidth - widest - 10;
  const double top = title.height + 4;
  const double group = kLine + static_cast<double>(chart.series.size()) * (kBar + kBarGap) + kCategoryGap;
  const double bottom = top + group * static_cast<double>(chart.categories.size());

  std::string grid, content = title.source;
  for (size_t i = 0; i < frame.x.ticks.values.size(); ++i) {
    const double x = frame.at(frame.x.ticks.values[i]);
    grid += fmt::format("M{} {}V{}", coordinate(x), coordinate(top), coordinate(bottom));
    const bool first = x < frame.left + text_width(frame.x.ticks.labels[i], kFont) / 2;
    content += text_at(x, bottom + 13, "", first ? "start" : "middle", frame.x.ticks.labels[i]);
  }
  if (!grid.empty()) content += fmt::format("<path class=\"grid\" d=\"{}\"/>", grid);
  for (size_t category = 0; category < chart.categories.size(); ++category) {
    double y = top + group * static_cast<double>(category);
    content += text_at(kLeft, y + 12, "halo", "start", fitted(chart.categories[category], kFont, kChartWidth - 8));
    y += kLine + 2;
    for (size_t i = 0; i < chart.series.size(); ++i, y += kBar + kBarGap)
      content += bar(frame, chart.series[i], category, look_of(chart, i), y);
  }
  double end = bottom + 18;
  if (!chart.x.label.empty()) {
    content += text_at(frame.right, end + 10, "muted", "end", fitted(chart.x.label, kFont, frame.right));
    end += kLine + 2;
  }
  const Block legend = legend_block(chart, end + 2);
  return wrapped(chart, id, end + legend.height + 4, content + legend.source);
}

namespace {

constexpr double kDotRow = 15, kDotGap = 7, kDot = 5;

// A place between two dots, with what their whiskers take.
struct DotSpan {
  double left = kChartWidth, right = 0;

  void take(double x, double margin) {
    left = std::min(left, x - margin);
    right = std::max(right, x + margin);
  }
};

std::string dot_text(const Chart& chart, const Series& series, size_t category) {
  return series.texts.empty() ? value_text(chart.x, series.y[category]) : series.texts[category];
}

std::string dot(size_t series, double x, double y, std::string_view colour) {
  return fmt::format("<path class=\"{} {}\" d=\"{}\"/>", series == 0 ? "mark" : "ring", colour, marker(0, x, y, kDot));
}

// The dots of a category, the line between them, and their values beside them.
std::string dot_row(const BarFrame& frame, const Chart& chart, size_t category, double y) {
  const std::string colour = static_cast<int>(category) == chart.highlighted ? "c0" : "cm";
  std::string lines, dots;
  DotSpan span;
  std::vector<std::pair<double, std::string>> values;  // by place
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    const double value = series.y[category];
    if (!frame.x.has_place(value)) continue;
    const double x = frame.at(value);
    span.take(x, kDot);
    values.emplace_back(x, dot_text(chart, series, category));
    dots += dot(i, x, y, colour);
    if (series.low.empty() || !frame.x.has_place(series.low[category]) || !frame.x.has_place(series.high[category])) continue;
    const double low = frame.at(series.low[category]), high = frame.at(series.high[category]);
    span.take(low, 0);
    span.take(high, 0);
    lines += fmt::format("<path class=\"whisker {}\" d=\"M{} {}v8M{} {}H{}M{} {}v8\"/>", colour, coordinate(low), coordinate(y - 4),
                         coordinate(low), coordinate(y), coordinate(high), coordinate(high), coordinate(y - 4));
  }
  if (values.empty()) return text_at(frame.at(frame.x.low) + 4, y + 4, "muted", "start", "not evaluated");
  std::ranges::sort(values);
  if (values.size() > 1) {
    lines = fmt::format("<path class=\"bond {}\" d=\"M{} {}H{}\"/>", colour, coordinate(values[0].first), coordinate(y),
                        coordinate(values[1].first)) +
            lines;
    lines += text_at(span.left - 5, y + 4, "halo", "end", values[0].second);
  }
  return lines + dots + text_at(span.right + 5, y + 4, "halo", "start", values.back().second);
}

std::string dot_legend(const Chart& chart, double y) {
  std::string out;
  double x = kLeft;
  const auto name = [&](double swatch, std::string_view text) {
    out += text_at(x + swatch, y + 4, "muted", "start", text);
    x += swatch + text_width(text, kFont) + 8;
  };
  for (size_t i = 0; i < chart.series.size(); ++i) {
    if (chart.series[i].name.empty()) continue;
    out += dot(i, x + kDot, y, "cm");
    name(2 * kDot + 4, chart.series[i].name);
  }
  if (chart.reference) {
    out += fmt::format("<path class=\"reference\" d=\"M{} {}v12\"/>", coordinate(x + 2), coordinate(y - 6));
    name(7, chart.reference_name);
  }
  return out;
}

}  // namespace

Html dot_chart(const Chart& chart, std::string_view id) {
  std::vector<double> values;
  double widest = 0;
  for (const auto& series : chart.series) {
    for (const auto* list : {&series.y, &series.low, &series.high}) values.insert(values.end(), list->begin(), list->end());
    for (size_t i = 0; i < series.y.size(); ++i) widest = std::max(widest, text_width(dot_text(chart, series, i), kFont));
  }
  const Block title = title_block(chart.title);
  BarFrame frame;
  frame.axis = &chart.x;
  frame.x = place_axis(chart.x, values, Ends::kTicks, 4);
  frame.left = widest + 12;
  frame.right = kChartWidth - widest - 12;
  const double top = title.height + 4, group = kLine + kDotRow + kDotGap;
  const double bottom = top + group * static_cast<double>(chart.categories.size());
  std::string grid, content = title.source, rows;
  for (size_t i = 0; i < frame.x.ticks.values.size(); ++i) {
    const double x = frame.at(frame.x.ticks.values[i]);
    grid += fmt::format("M{} {}V{}", coordinate(x), coordinate(top), coordinate(bottom));
    content += text_at(x, bottom + 13, "muted", "middle", frame.x.ticks.labels[i]);
  }
  if (!grid.empty()) content += fmt::format("<path class=\"grid\" d=\"{}\"/>", grid);
  std::string reference;  // beside the dots, not through the names above them
  for (size_t category = 0; category < chart.categories.size(); ++category) {
    const double y = top + group * static_cast<double>(category);
    const bool best = static_cast<int>(category) == chart.highlighted;
    content +=
        text_at(kLeft, y + 12, best ? "halo best" : "halo", "start", fitted(chart.categories[category], kFont, (kChartWidth - 8) / 1.12));
    rows += dot_row(frame, chart, category, y + kLine + kDotRow / 2);
    if (chart.reference && frame.x.has_place(*chart.reference))
      reference += fmt::format("M{} {}V{}", coordinate(frame.at(*chart.reference)), coordinate(y + kLine), coordinate(y + group));
  }
  if (!reference.empty()) content += fmt::format("<path class=\"reference\" d=\"{}\"/>", reference);
  const double end = bottom + 18 + kLine;
  return wrapped(chart, id, end + 6, content + rows + dot_legend(chart, end - 3));
}

}  // namespace debias

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
    const bool places = chart.draw == Draw::kBars ? series.y.size() == chart.categories.size() : series.x.size() == x;
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

}  // namespace debias

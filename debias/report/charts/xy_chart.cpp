#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "debias/report/charts/chart_parts.h"

namespace debias {
namespace {

constexpr double kPlotHeight = 170, kTop = 6;
constexpr size_t kAllMarked = 24;  // a longer line has a marker here and there
constexpr double kColumn = 1.5;    // of a line: more points than four in such a width cannot be seen

struct Point {
  double x = 0, y = 0;
};

struct Frame {
  double left = 0, right = 0, top = 0, bottom = 0;
  PlacedAxis x, y;

  std::optional<Point> place(double at, double value) const {
    if (!x.has_place(at) || !y.has_place(value)) return std::nullopt;
    return Point{x.place(at, left, right), y.place(value, bottom, top)};
  }
  // An interval's end; one that has no place on a log axis is at the edge.
  double end(double value) const { return y.has_place(value) ? y.place(value, bottom, top) : bottom; }
};

using Stretch = std::vector<Point>;  // points without a gap between them

std::string path_of(const Stretch& points) {
  std::string path;
  for (const auto& point : points) path += fmt::format("{}{} {}", path.empty() ? "M" : "L", coordinate(point.x), coordinate(point.y));
  return path;
}

// First, lowest, highest and last of each column, in their order.
Stretch thinned(const Stretch& points) {
  Stretch out;
  for (size_t begin = 0; begin < points.size();) {
    const double column = std::floor(points[begin].x / kColumn);
    size_t end = begin, low = begin, high = begin;
    for (; end < points.size() && std::floor(points[end].x / kColumn) == column; ++end) {
      if (points[end].y < points[low].y) low = end;
      if (points[end].y > points[high].y) high = end;
    }
    size_t kept[] = {begin, std::min(low, high), std::max(low, high), end - 1};
    for (size_t i = 0; i < 4; ++i) {
      if (i == 0 || kept[i] != kept[i - 1]) out.push_back(points[kept[i]]);
    }
    begin = end;
  }
  return out;
}

std::vector<Stretch> stretches(const Frame& frame, const Series& series) {
  std::vector<Stretch> out;
  bool open = false;
  for (size_t i = 0; i < series.y.size(); ++i) {
    const auto point = frame.place(series.x[i], series.y[i]);
    if (point && !open) out.emplace_back();
    if (point) out.back().push_back(*point);
    open = point.has_value();
  }
  return out;
}

std::string band(const Frame& frame, const Series& series, size_t number) {
  std::string path;
  Stretch upper, lower;
  const auto close = [&] {
    if (upper.size() > 1) {
      std::reverse(lower.begin(), lower.end());
      upper.insert(upper.end(), lower.begin(), lower.end());
      path += path_of(upper) + "z";
    }
    upper.clear();
    lower.clear();
  };
  for (size_t i = 0; i < series.low.size(); ++i) {
    const auto point = frame.place(series.x[i], series.y[i]);
    if (!point || !std::isfinite(series.low[i]) || !std::isfinite(series.high[i])) {
      close();
      continue;
    }
    upper.push_back({point->x, frame.end(series.high[i])});
    lower.push_back({point->x, frame.end(series.low[i])});
  }
  close();
  return path.empty() ? "" : fmt::format("<path class=\"band {}\" d=\"{}\"/>", colour_class(number), path);
}

std::string lines(const Frame& frame, const Series& series, size_t number, size_t shape) {
  std::string line, marks;
  const auto parts = stretches(frame, series);
  size_t points = 0;
  for (const auto& part : parts) points += part.size();
  const size_t every = points <= kAllMarked ? 1 : points / 8;
  size_t count = (number + shape) * every / 8;  // so that markers of overlapping lines do not coincide
  for (const auto& part : parts) {
    if (part.size() > 1) line += path_of(points > kAllMarked ? thinned(part) : part);
    for (const auto& point : part) {
      if (count++ % every == 0 || part.size() == 1) marks += marker(shape, point.x, point.y, 2.8);
    }
  }
  const std::string colour = colour_class(number);
  std::string out = band(frame, series, number);
  if (!line.empty()) out += fmt::format("<path class=\"line {}{}\" d=\"{}\"/>", colour, line_dash(series), line);
  if (!marks.empty()) out += fmt::format("<path class=\"mark {}\" d=\"{}\"/>", colour, marks);
  return out;
}

std::string scatter(const Frame& frame, const Series& series, size_t number) {
  std::string spots;
  for (size_t i = 0; i < series.y.size(); ++i) {
    if (const auto point = frame.place(series.x[i], series.y[i])) spots += spot(number, point->x, point->y);
  }
  return spots.empty() ? "" : fmt::format("<path class=\"{}\" d=\"{}\"/>", spot_class(number), spots);
}

std::string points(const Frame& frame, const Series& series, size_t number, size_t shape) {
  std::string marks, whiskers;
  for (size_t i = 0; i < series.y.size(); ++i) {
    const auto point = frame.place(series.x[i], series.y[i]);
    if (!point) continue;
    marks += marker(shape, point->x, point->y, 3.2);
    if (series.low.empty() || !std::isfinite(series.low[i]) || !std::isfinite(series.high[i])) continue;
    const std::string x = coordinate(point->x), left = coordinate(point->x - 3);
    const std::string low = coordinate(frame.end(series.low[i])), high = coordinate(frame.end(series.high[i]));
    whiskers += fmt::format("M{} {}h6M{} {}V{}M{} {}h6", left, high, x, high, low, left, low);
  }
  std::string out;
  if (!whiskers.empty()) out += fmt::format("<path class=\"whisker {}\" d=\"{}\"/>", colour_class(number), whiskers);
  if (!marks.empty()) out += fmt::format("<path class=\"mark {}\" d=\"{}\"/>", colour_class(number), marks);
  return out;
}

std::string steps(const Frame& frame, const Series& series, size_t number) {
  const std::string base = coordinate(frame.end(0));
  std::string path;
  bool open = false;
  for (size_t i = 0; i < series.y.size(); ++i) {
    const auto from = frame.place(series.x[i], series.y[i]), to = frame.place(series.x[i + 1], series.y[i]);
    if (!from || !to) {
      if (open) path += "V" + base;
      open = false;
      continue;
    }
    if (!open) path += fmt::format("M{} {}", coordinate(from->x), base);
    path += fmt::format("V{}H{}", coordinate(from->y), coordinate(to->x));
    open = true;
  }
  if (open) path += "V" + base;
  return path.empty() ? "" : fmt::format("<path class=\"step {} {}\" d=\"{}\"/>", colour_class(number), dash_class(number), path);
}

std::string drawn(const Frame& frame, const Chart& chart, size_t place) {
  const Series& series = chart.series[place];
  const size_t number = look_of(chart, place);
  switch (chart.draw) {
    case Draw::kLines:
      return lines(frame, series, number, shape_of(chart, place));
    case Draw::kPoints:
      return points(frame, series, number, shape_of(chart, place));
    case Draw::kScatter:
      return scatter(frame, series, number);
    case Draw::kSteps:
      return steps(frame, series, number);
    case Draw::kBars:
    case Draw::kDots:
      break;
  }
  return "";
}

// Values along x, and along y; a value without a counterpart is not drawn.
std::pair<std::vector<double>, std::vector<double>> drawn_values(const Chart& chart) {
  std::vector<double> x, y;
  const auto has_place = [](const Axis& axis, double value) { return std::isfinite(value) && (axis.scale == Scale::kLinear || value > 0); };
  for (const auto& series : chart.series) {
    for (size_t i = 0; i < series.y.size(); ++i) {
      if (!has_place(chart.x, series.x[i]) || !has_place(chart.y, series.y[i])) continue;
      x.push_back(series.x[i]);
      y.push_back(series.y[i]);
      if (chart.draw == Draw::kSteps) x.push_back(series.x[i + 1]);
      if (!series.low.empty()) y.insert(y.end(), {series.low[i], series.high[i]});
    }
  }
  if (chart.draw == Draw::kSteps) y.push_back(0);
  return {std::move(x), std::move(y)};
}

double widest(const Ticks& ticks) {
  double width = 0;
  for (const auto& label : ticks.labels) width = std::max(width, text_width(label, kFont));
  return width;
}

std::string axes(const Frame& frame, const Chart& chart) {
  std::string grid, out;
  const std::string left = coordinate(frame.left), right = coordinate(frame.right), bottom = coordinate(frame.bottom);
  for (size_t i = 0; i < frame.y.ticks.values.size(); ++i) {
    const double y = frame.y.place(frame.y.ticks.values[i], frame.bottom, frame.top);
    grid += fmt::format("M{} {}H{}", left, coordinate(y), right);
    out += text_at(frame.left - 5, y + 4, "", "end", frame.y.ticks.labels[i]);
  }
  std::string marks = fmt::format("M{} {}H{}", left, bottom, right);
  double free = -1e9;  // from here on there is room for a label
  for (size_t i = 0; i < frame.x.ticks.values.size(); ++i) {
    const double x = frame.x.place(frame.x.ticks.values[i], frame.left, frame.right);
    const double half = text_width(frame.x.ticks.labels[i], kFont) / 2;
    marks += fmt::format("M{} {}v4", coordinate(x), bottom);
    if (x - half < free) continue;
    out += text_at(std::min(x, kChartWidth - half), frame.bottom + 16, "", "middle", frame.x.ticks.labels[i]);  // within the chart
    free = x + half + 4;
  }
  if (chart.x.bare) marks = fmt::format("M{0} {1}H{2}V{3}H{0}z", left, bottom, right, coordinate(frame.top));
  if (!grid.empty()) grid = fmt::format("<path class=\"grid\" d=\"{}\"/>", grid);
  return grid + fmt::format("<path class=\"axis\" d=\"{}\"/>", marks) + out;
}

}  // namespace

Html xy_chart(const Chart& chart, std::string_view id) {
  const auto [x, y] = drawn_values(chart);
  const Block title = title_block(chart.title);
  Frame frame;
  frame.y = place_axis(chart.y, y, chart.y.bare ? Ends::kTight : Ends::kTicks, 5);
  frame.x = place_axis(chart.x, x, Ends::kTight, 6);
  frame.left = chart.y.bare ? kLeft : widest(frame.y.ticks) + 7;
  frame.right = kChartWidth - (chart.x.bare ? kLeft : kRightMargin);
  if (chart.draw == Draw::kScatter || chart.draw == Draw::kPoints) {  // room for the outermost markers
    frame.left += 5;
    frame.right -= 5;
  }
  frame.top = title.height + (chart.y.label.empty() ? kTop : kLine + kTop);
  frame.bottom = frame.top + (chart.square ? frame.right - frame.left : kPlotHeight);
  std::string content = title.source;
  if (!chart.y.label.empty()) content += text_at(kLeft, title.height + 10, "muted", "start", fitted(chart.y.label, kFont, kChartWidth - 8));
  Frame box = frame;
  if (chart.draw == Draw::kScatter || chart.draw == Draw::kPoints) {
    box.left -= 5;
    box.right += 5;
  }
  if (chart.square) {
    frame.top += 5;
    frame.bottom += 5;
    box.bottom += 10;
  }
  content += x.empty() ? text_at(kChartWidth / 2, (frame.top + frame.bottom) / 2, "muted", "middle", "no values") : axes(box, chart);
  for (size_t i = 0; i < chart.series.size(); ++i) content += drawn(frame, chart, i);
  double bottom = box.bottom + (chart.x.bare ? 6 : 22);
  if (!chart.x.label.empty()) {
    content += text_at(frame.right, bottom + 10, "muted", "end", fitted(chart.x.label, kFont, kChartWidth - 8));
    bottom += kLine + 2;
  }
  const Block legend = legend_block(chart, bottom + 2);
  return wrapped(chart, id, bottom + legend.height + 4, content + legend.source);
}

}  // namespace debias

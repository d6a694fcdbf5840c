#include "debias/report/charts/chart_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace debias {
namespace {

constexpr size_t kColours = 10, kShapes = 8, kDashes = 4;
constexpr double kBold = 1.12;  // a bold letter's width over a usual one's
constexpr double kSwatch = 22;  // of a legend entry, with the gap behind it

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// In widths of the font size, of the wider of the usual fonts.
double character_width(char lead) {
  constexpr std::string_view kNarrow = "iljtfrI.,:;'|!()[]{} -", kWide = "mwMW%@";
  const auto byte = static_cast<unsigned char>(lead);
  if (byte >= 0xE3) return 1;  // about where the full-width scripts begin
  if (kNarrow.find(lead) != std::string_view::npos) return 0.37;
  if (kWide.find(lead) != std::string_view::npos) return 0.95;
  return lead >= 'A' && lead <= 'Z' ? 0.7 : 0.63;
}

std::string circle(double x, double y, double r) {
  return fmt::format("M{} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z", coordinate(x - r), coordinate(y), fmt::arg("r", coordinate(r)),
                     fmt::arg("d", coordinate(2 * r)));
}

std::string polygon(double x, double y, double r, std::initializer_list<std::pair<double, double>> corners) {
  std::string path;
  for (const auto& [dx, dy] : corners) {
    path += fmt::format("{}{} {}", path.empty() ? "M" : "L", coordinate(x + r * dx), coordinate(y + r * dy));
  }
  return path + "z";
}

std::string swatch(const Chart& chart, size_t place, double x, double y) {
  const size_t series = shape_of(chart, place);
  const std::string colour = colour_class(look_of(chart, place));
  std::string out;
  if (chart.draw == Draw::kBars) {
    out += fmt::format("<path class=\"bar {}\" d=\"M{} {}h16v7h-16z\"/>", colour, coordinate(x), coordinate(y - 3.5));
    out += fmt::format("<path class=\"mark {}\" d=\"{}\"/>", colour, marker(series, x + 16, y, 3));
    return out;
  }
  if (chart.draw == Draw::kScatter) {
    return fmt::format("<path class=\"{}\" transform=\"translate({} {}) scale(1.7)\" d=\"{}\"/>", spot_class(series), coordinate(x + 8),
                       coordinate(y), spot(series, 0, 0));
  }
  const bool lines = chart.draw == Draw::kLines, steps = chart.draw == Draw::kSteps;
  if (lines || steps) {
    out += fmt::format("<path class=\"line {}{}\" d=\"M{} {}h16\"/>", colour,
                       steps ? " " + dash_class(series) : line_dash(chart.series[place]), coordinate(x), coordinate(y));
  }
  if (!steps) out += fmt::format("<path class=\"mark {}\" d=\"{}\"/>", colour, marker(series, x + 8, y, 3.2));
  return out;
}

std::string places(const Series& series, const Axis& axis) {
  const auto number = [&](double value) { return axis.percent ? percent_text(value) : short_number(value); };
  double low = NAN, high = NAN, first = NAN, last = NAN;
  for (const double y : series.y) {
    if (!std::isfinite(y)) continue;
    if (std::isnan(first)) first = y;
    last = y;
    low = std::fmin(low, y);
    high = std::fmax(high, y);
  }
  if (std::isnan(first)) return "no values";
  if (first == last && low == high) return number(first);
  return fmt::format("from {} to {}, smallest {}, largest {}", number(first), number(last), number(low), number(high));
}

// Description of the chart from its numbers, for screen readers, unless one is given.
std::string described(const Chart& chart) {
  if (!chart.description.empty()) return chart.description;
  std::string out;
  for (const auto& series : chart.series) {
    if (!out.empty()) out += "; ";
    if (!series.name.empty()) out += series.name + ": ";
    switch (chart.draw) {
      case Draw::kLines:
      case Draw::kPoints:
        out += places(series, chart.y);
        break;
      case Draw::kScatter:
        out += fmt::format("{} points", series.x.size());
        break;
      case Draw::kSteps:
        out += fmt::format("{} bins", series.y.size());
        break;
      case Draw::kBars:
      case Draw::kDots:
        for (size_t i = 0; i < series.y.size(); ++i) {
          const double y = series.y[i];
          out += fmt::format("{}{} {}", i > 0 ? ", " : "", chart.categories[i], chart.x.percent ? percent_text(y) : short_number(y));
        }
        break;
    }
  }
  return out.empty() ? "no values" : out;
}

}  // namespace

std::string coordinate(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

double text_width(std::string_view text, double font) {
  double width = 0;
  for (const char c : text) {
    if (starts_character(c)) width += character_width(c);
  }
  return width * font;
}

std::string fitted(std::string_view text, double font, double width) {
  if (text_width(text, font) <= width) return std::string(text);
  const double room = width - font;  // the ellipsis
  double used = 0;
  size_t end = 0;
  while (end < text.size()) {
    size_t next = end + 1;
    while (next < text.size() && !starts_character(text[next])) ++next;
    used += character_width(text[end]) * font;
    if (used > room) break;
    end = next;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string text_at(double x, double y, std::string_view css_class, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>", coordinate(x), coordinate(y),
                     css_class.empty() ? "" : fmt::format(" class=\"{}\"", css_class),
                     anchor == "start" ? "" : fmt::format(" text-anchor=\"{}\"", anchor), escaped(text));
}

std::string marker(size_t series, double x, double y, double radius) {
  const double r = radius;
  switch (series % kShapes) {
    case 0:
      return circle(x, y, r);
    case 1:
      return polygon(x, y, r, {{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}});
    case 2:
      return polygon(x, y, r, {{0, -1.2}, {1.1, 0.8}, {-1.1, 0.8}});
    case 3:
      return polygon(x, y, r, {{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}});
    case 4:
      return polygon(x, y, r, {{0, 1.2}, {1.1, -0.8}, {-1.1, -0.8}});
    case 5:  // a plus
      return polygon(x, y, r,
                     {{-0.4, -1.3},
                      {0.4, -1.3},
                      {0.4, -0.4},
                      {1.3, -0.4},
                      {1.3, 0.4},
                      {0.4, 0.4},
                      {0.4, 1.3},
                      {-0.4, 1.3},
                      {-0.4, 0.4},
                      {-1.3, 0.4},
                      {-1.3, -0.4},
                      {-0.4, -0.4}});
    case 6:  // a cross
      return polygon(x, y, r,
                     {{0, -0.55},
                      {0.75, -1.3},
                      {1.3, -0.75},
                      {0.55, 0},
                      {1.3, 0.75},
                      {0.75, 1.3},
                      {0, 0.55},
                      {-0.75, 1.3},
                      {-1.3, 0.75},
                      {-0.55, 0},
                      {-1.3, -0.75},
                      {-0.75, -1.3}});
    default:  // a flat bar
      return polygon(x, y, r, {{-1.4, -0.55}, {1.4, -0.55}, {1.4, 0.55}, {-1.4, 0.55}});
  }
}

std::string spot(size_t series, double x, double y) {
  const auto from = [&](double dx, double dy) { return fmt::format("M{} {}", coordinate(x + dx), coordinate(y + dy)); };
  switch (series % kShapes) {
    case 0:  // dots are the caps of a line without length, as good as
    case 1:
      return from(0, 0) + "h.1";
    case 2:
      return from(0, -2.2) + "l2 3.6h-4z";
    case 3:
      return from(0, -2.4) + "l2.4 2.4l-2.4 2.4l-2.4-2.4z";
    case 4:
      return from(0, 2.2) + "l2-3.6h-4z";
    case 5:
      return from(-2.2, 0) + "h4.4m-2.2-2.2v4.4";
    case 6:
      return from(-1.6, -1.6) + "l3.2 3.2m0-3.2l-3.2 3.2";
    default:
      return from(-2.4, 0) + "h4.8";
  }
}

std::string spot_class(size_t series) { return fmt::format("spot s{} {}", series % kShapes, colour_class(series)); }

std::string colour_class(size_t series) { return fmt::format("c{}", series % kColours); }
std::string dash_class(size_t series) { return fmt::format("d{}", series % kDashes); }

size_t look_of(const Chart& chart, size_t place) {
  const int look = chart.series[place].look;
  return look < 0 ? place : static_cast<size_t>(look);
}

size_t shape_of(const Chart& chart, size_t place) {
  const int shape = chart.series[place].shape;
  return shape < 0 ? look_of(chart, place) : static_cast<size_t>(shape);
}

std::string line_dash(const Series& series) { return series.shape < 0 ? "" : " " + dash_class(static_cast<size_t>(series.shape)); }

Block title_block(std::string_view title) {
  const double room = (kChartWidth - 2 * kLeft) / kBold;
  std::string first(title), second;
  if (text_width(title, kTitleFont) > room) {
    size_t cut = std::string_view::npos;
    for (size_t space = title.find(' '); space != std::string_view::npos; space = title.find(' ', space + 1)) {
      if (text_width(title.substr(0, space), kTitleFont) <= room) cut = space;
    }
    if (cut != std::string_view::npos) {
      first = title.substr(0, cut);
      second = title.substr(cut + 1);
    }
  }
  Block block;
  block.source = text_at(kLeft, 14, "title", "start", fitted(first, kTitleFont, room));
  block.height = 20;
  if (!second.empty()) {
    block.source += text_at(kLeft, 30, "title", "start", fitted(second, kTitleFont, room));
    block.height = 36;
  }
  return block;
}

Block legend_block(const Chart& chart, double top) {
  Block block;
  if (chart.series.empty() || (chart.series.size() == 1 && chart.series[0].name.empty())) return block;
  double x = kLeft, y = top + kLine / 2;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const std::string name = fitted(chart.series[i].name, kFont, kChartWidth - kSwatch - 12);
    const double width = kSwatch + text_width(name, kFont) + 12;
    if (x > kLeft && x + width > kChartWidth) {
      x = kLeft;
      y += kLine + 1;
    }
    block.source += swatch(chart, i, x, y) + text_at(x + kSwatch, y + 4, "", "start", name);
    x += width;
  }
  block.height = y + kLine / 2 + 3 - top;
  return block;
}

Html wrapped(const Chart& chart, std::string_view id, double height, const std::string& content) {
  const std::string name = escaped(id);
  return {
      fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">"
                  "<title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>{}</svg>",
                  coordinate(kChartWidth), coordinate(std::ceil(height)), escaped(chart.title), escaped(described(chart)), content,
                  fmt::arg("id", name))};
}

}  // namespace debias

// Parts of all kinds of charts. Only chart.cpp and the files beside it include this.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "debias/report/charts/chart.h"

namespace debias {

inline constexpr double kChartWidth = 360;
inline constexpr double kFont = 12.5, kTitleFont = 14;
inline constexpr double kLine = 16;  // height of a line of kFont
inline constexpr double kLeft = 1;   // of titles and legends
inline constexpr double kRightMargin = 14;

// Coordinates with one decimal, "12" or "12.5".
std::string coordinate(double value);

// An estimate for a proportional sans serif; and the text cut to a width, with an ellipsis.
double text_width(std::string_view text, double font);
std::string fitted(std::string_view text, double font, double width);

// <text>, `anchor` start, middle or end.
std::string text_at(double x, double y, std::string_view css_class, std::string_view anchor, std::string_view text);

// The outline of a series' marker, for the `d` of a path. Eight shapes; `series` counts on beyond.
std::string marker(size_t series, double x, double y, double radius);
// The same for thousands of them: strokes, for a path of spot_class.
std::string spot(size_t series, double x, double y);
std::string spot_class(size_t series);
// "c3": the class that sets a series' colour.
std::string colour_class(size_t series);
std::string dash_class(size_t series);

// The number of a series' colour and, without a shape of its own, of its marker and dash.
size_t look_of(const Chart& chart, size_t place);
// The number of its marker; and " d2", the class of a line's dash, where it has one of its own.
size_t shape_of(const Chart& chart, size_t place);
std::string line_dash(const Series& series);

// A title in one or two lines from y = 0; `height` is what it takes.
struct Block {
  std::string source;
  double height = 0;
};
Block title_block(std::string_view title);
// Names with their marker, line, dash or bar, in rows from `top`. Empty for a single series without a name.
Block legend_block(const Chart& chart, double top);

// The <svg> around `content`, with <title> and <desc>.
Html wrapped(const Chart& chart, std::string_view id, double height, const std::string& content);

Html xy_chart(const Chart& chart, std::string_view id);
Html bar_chart(const Chart& chart, std::string_view id);
Html dot_chart(const Chart& chart, std::string_view id);

}  // namespace debias

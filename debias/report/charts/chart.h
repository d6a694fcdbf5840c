// Charts as SVG text: lines, points, histograms, maps and bars, each with the intervals that its numbers have.
//
//   Chart chart;
//   chart.title = "Training loss";
//   chart.x.label = "epoch";
//   chart.series = {{.name = "infonce-1", .x = {1, 2, 3}, .y = {5.4, 5.1, 5.0}}};
//   page.figures({{svg(chart, "loss"), plain("caption")}});
//
// A chart is 360 units wide and as high as it needs: it scales to its container, and at the width of a phone its text keeps its size.
// Colours are CSS custom properties of page.h, so that light and dark are the style sheet's affair; series differ by marker or dash
// as well. Numbers and names are text. The same chart gives the same bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "debias/report/charts/axis.h"
#include "debias/report/markup.h"

namespace debias {

struct Series {
  std::string name;
  std::vector<double> x, y;             // of equal length; see Draw for steps and bars
  std::vector<double> low, high;        // empty, or an interval for each y: a band around a line, a whisker of a point or bar
  int look = -1;                        // number of its colour, marker and dash, so that a run looks the same in all charts; -1: its index
  int shape = -1;                       // of lines and points: number of marker and dash where a colour has several; -1: those of its look
  std::vector<std::string> texts = {};  // of dots: a value as text; empty: as the axis has it
};

enum class Draw {
  kLines,    // y over x in the order given; non-finite values (or non-positive ones, on a log axis) leave a gap
  kPoints,   // a marker each, for few points; whiskers
  kScatter,  // a small marker each, for thousands of points; no intervals
  kSteps,    // a histogram: x are the edges, one more than y
  kBars,     // horizontal, y by category, x not used; whiskers and the value as text
  kDots      // the same as one row of dots a category, joined by a line; one or two series, a disk and a ring
};

struct Chart {
  std::string title;
  std::string description;  // in words, for those who do not see it; empty: made of the series' first, last, least and largest values
  Draw draw = Draw::kLines;
  Axis x, y;                            // bars: x is the axis of values
  std::vector<std::string> categories;  // of bars
  std::vector<Series> series;
  bool square = false;              // the plot as high as wide
  int highlighted = -1;             // of dots: the category in colour, the others are grey
  std::optional<double> reference;  // of dots: a dashed line
  std::string reference_name;
};

// `id` must be unique in the page: <title> and <desc> are referred to by it. Throws std::invalid_argument when lists have other lengths
// than said above.
Html svg(const Chart& chart, std::string_view id);

}  // namespace debias

#include "debias/report/charts/chart.h"
#include "debias/report/charts/chart_parts.h"
#include "tests/report/reports.h"

namespace debias::chart_test {

Chart line_chart(std::vector<double> y) {
  Chart chart;
  chart.title = "Loss";
  Series series{.name = "a", .x = {}, .y = std::move(y), .low = {}, .high = {}};
  for (size_t i = 0; i < series.y.size(); ++i) series.x.push_back(static_cast<double>(i));
  chart.series.push_back(std::move(series));
  return chart;
}

// The `d` of the paths of a class, of one series.
std::string path(const Html& svg, const std::string& css_class) {
  for (const auto& element : well_formed(svg.source).elements) {
    if (element.tag == "path" && element.attribute("class").starts_with(css_class)) return element.attribute("d");
  }
  return "";
}

size_t times(const std::string& text, char c) { return static_cast<size_t>(std::count(text.begin(), text.end(), c)); }

std::vector<Chart> one_of_each() {
  std::vector<Chart> charts;
  for (const Draw draw : {Draw::kLines, Draw::kPoints, Draw::kScatter, Draw::kSteps, Draw::kBars}) {
    Chart chart = line_chart({0.2, 0.5, kNaN, 0.4});
    chart.draw = draw;
    chart.x.label = "<x>";
    chart.y.label = "y & more";
    chart.title = "a \"title\" of <many> words that does not fit on a single line of the chart, and goes on and on, further & further";
    chart.series.push_back(chart.series[0]);
    chart.series[1].name = "<b> & \"c\" 'd' with a name that is much longer than the chart is wide, so that it has to end somewhere";
    for (auto& series : chart.series) {
      if (draw == Draw::kSteps) series.x.push_back(4);
      if (draw == Draw::kBars) series.x.clear();
      if (draw == Draw::kScatter || draw == Draw::kSteps) continue;
      series.low = {0.1, 0.4, kNaN, 0.3};
      series.high = {0.3, 0.6, kNaN, kInfinity};
    }
    if (draw == Draw::kBars) chart.categories = {"one", "<two>", "three & four", "five"};
    charts.push_back(std::move(chart));
  }
  return charts;
}

TEST(Chart, EveryKindIsWellFormedWhateverTheNames) {
  for (const Chart& chart : one_of_each()) {
    const Html drawn = svg(chart, "id");
    EXPECT_EQ(well_formed(drawn.source).fault, "") << drawn.source;
    expect_parts(drawn.source, {"&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;"}, {"nan", "inf"});
  }
}

TEST(Chart, PointsOfOneColourMayHaveMarkersOfTheirOwn) {
  Chart chart = line_chart({3});
  chart.draw = Draw::kPoints;
  chart.series[0].look = 2;
  const std::string of_its_look = path(svg(chart, "id"), "mark c2");
  chart.series[0].shape = 1;
  EXPECT_NE(path(svg(chart, "id"), "mark c2"), of_its_look);
}

TEST(Chart, TheLastTickOfAnAxisIsWithinIt) {
  Chart chart = line_chart({0.2, 0.5});
  chart.series[0].x = {2000, 4000};
  const std::string source = svg(chart, "id").source;
  const size_t end = source.find(">4000<"), begin = source.rfind("x=\"", end) + 3;
  ASSERT_NE(end, std::string::npos);
  EXPECT_LE(std::stod(source.substr(begin)) + text_width("4000", kFont) / 2, kChartWidth);
}

TEST(Chart, AReferenceIsDrawnBesideTheDotsAndNotThroughTheirNames) {
  Chart chart;
  chart.draw = Draw::kDots;
  chart.categories = {"one", "two"};
  chart.series = {{.name = "", .x = {}, .y = {0.2, 0.4}, .low = {}, .high = {}}};
  chart.reference = 0.1;
  const std::string source = svg(chart, "id").source, line = source.substr(source.find("<path class=\"reference\" d=\""));
  EXPECT_EQ(times(line.substr(0, line.find("/>")), 'M'), 2u);  // a piece for each category
}

TEST(Chart, SaysWhatItIsInTitleAndDescription) {
  const WellFormed drawn = well_formed(svg(line_chart({3, 1, 2}), "loss").source);
  EXPECT_EQ(drawn.elements[0].attribute("role"), "img");
  EXPECT_EQ(drawn.elements[0].attribute("aria-labelledby"), "loss-t loss-d");
  EXPECT_EQ(drawn.elements[1].tag, "title");
  EXPECT_EQ(drawn.elements[2].tag, "desc");
  EXPECT_THAT(svg(line_chart({3, 1, 2}), "loss").source, HasSubstr(">a: from 3 to 2, smallest 1, largest 3</desc>"));
  Chart written = line_chart({3, 1, 2});
  written.description = "it falls";
  EXPECT_THAT(svg(written, "loss").source, HasSubstr(">it falls</desc>"));
}

TEST(Chart, TheSameChartGivesTheSameBytes) {
  for (const Chart& chart : one_of_each()) EXPECT_EQ(svg(chart, "a").source, svg(chart, "a").source);
}

TEST(Chart, ScalesToItsContainer) {
  const Element root = well_formed(svg(line_chart({1, 2}), "a").source).elements[0];
  EXPECT_TRUE(root.attribute("viewBox").starts_with("0 0 360 "));
  EXPECT_EQ(root.attribute("width"), "");
}

TEST(Chart, WhatIsNotFiniteLeavesAGap) {
  EXPECT_EQ(times(path(svg(line_chart({1, 2, 3, 4, 5}), "a"), "line"), 'M'), 1u);
  for (const double hole : {kNaN, kInfinity, -kInfinity}) {
    const Html drawn = svg(line_chart({1, 2, hole, 4, 5}), "a");
    EXPECT_EQ(times(path(drawn, "line"), 'M'), 2u);
    EXPECT_EQ(times(path(drawn, "line"), 'L'), 2u);
    EXPECT_EQ(times(path(drawn, "mark"), 'M'), 4u);
  }
  Chart steps = line_chart({1, kNaN, 2});
  steps.draw = Draw::kSteps;
  steps.series[0].x = {0, 1, 2, 3};
  EXPECT_EQ(times(path(svg(steps, "a"), "step"), 'M'), 2u);
}

TEST(Chart, APointBetweenGapsIsSeen) {
  std::vector<double> y(101, kNaN);
  y[0] = y[1] = 1;
  y[50] = 2;
  for (size_t i = 70; i < y.size(); ++i) y[i] = 3;  // so many that not every point has a marker
  const std::string marks = path(svg(line_chart(y), "a"), "mark");
  EXPECT_LT(times(marks, 'M'), 20u);
  const std::string alone = path(svg(line_chart({1, kNaN, 2, kNaN}), "a"), "mark");
  EXPECT_EQ(times(alone, 'M'), 2u);
  y[50] = kNaN;
  EXPECT_EQ(times(path(svg(line_chart(y), "a"), "mark"), 'M') + 1, times(marks, 'M'));
}

TEST(Chart, OnALogAxisZeroAndBelowLeaveAGap) {
  Chart chart = line_chart({1e-4, 1e-2, 0, -1, 1, 100});
  chart.y.scale = Scale::kLog;
  const Html drawn = svg(chart, "a");
  EXPECT_EQ(times(path(drawn, "line"), 'M'), 2u);
  expect_parts(drawn.source, {">0.01</text>", ">100</text>"});
}

TEST(Chart, ABandIsClosedAndEndsAtTheEdgeOfALogAxis) {
  Chart chart = line_chart({1, 10, kNaN, 10, 1});
  chart.y.scale = Scale::kLog;
  chart.series[0].low = {-1, 5, kNaN, 5, 0};
  chart.series[0].high = {2, 20, kNaN, 20, 2};
  const std::string band = path(svg(chart, "a"), "band");
  EXPECT_EQ(times(band, 'z'), 2u);
  EXPECT_EQ(times(band, 'L'), 6u);
  EXPECT_EQ(band.find("nan"), std::string::npos);
}

TEST(Chart, ALongLineKeepsItsExtremes) {
  std::vector<double> y;
  for (int i = 0; i < 20000; ++i) y.push_back(std::sin(i * 0.7));
  y[9999] = 50;
  y[10001] = -40;
  const Html drawn = svg(line_chart(y), "a");
  EXPECT_LT(drawn.source.size(), 20000u);
  EXPECT_THAT(drawn.source, HasSubstr("smallest -40, largest 50"));
  const std::string line = path(drawn, "line");
  double top = 1e9, bottom = 0;  // of the drawing, downwards
  for (size_t at = line.find(' '); at != std::string::npos; at = line.find(' ', at + 1)) {
    const double value = std::stod(line.substr(at + 1));
    top = std::min(top, value);
    bottom = std::max(bottom, value);
  }
  EXPECT_NEAR(bottom - top, 170 * 90.0 / 100, 0.2);  // 50 to -40 on an axis from -40 to 60
}

TEST(Chart, SeriesDifferByMarkerAndDashAsWellAsColour) {
  Chart chart = line_chart({1, 2});
  for (int i = 1; i < 10; ++i) chart.series.push_back(chart.series[0]);
  const WellFormed drawn = well_formed(svg(chart, "a").source);
  std::set<std::string> looks;
  for (const auto& element : drawn.elements) {
    const std::string& marker = element.attribute("d");
    if (element.attribute("class").starts_with("mark"))
      looks.insert(element.attribute("class") + std::string(1, marker.back()) + marker.substr(0, 3));
  }
  EXPECT_GE(looks.size(), 10u);
  for (int i = 0; i < 10; ++i) EXPECT_THAT(svg(chart, "a").source, HasSubstr("\"mark c" + std::to_string(i)));
}

TEST(Chart, BarsCarryTheirValuesAsText) {
  Chart chart;
  chart.title = "Groups";
  chart.draw = Draw::kBars;
  chart.x.percent = true;
  chart.categories = {"worst", "best", "none"};
  chart.series = {{.name = "", .x = {}, .y = {0.25, -0.5, kNaN}, .low = {0.2, kNaN, kNaN}, .high = {0.3, kNaN, kNaN}}};
  const Html drawn = svg(chart, "a");
  expect_parts(drawn.source, {">25.0 %</text>", ">-50.0 %</text>", ">n/a</text>", "worst 25.0 %, best -50.0 %, none n/a</desc>"});
  size_t whiskers = 0;
  for (const auto& element : well_formed(drawn.source).elements) whiskers += element.attribute("class").starts_with("whisker");
  EXPECT_EQ(whiskers, 1u);
}

TEST(Chart, WithoutAnyValueSaysSo) {
  for (const Draw draw : {Draw::kLines, Draw::kPoints, Draw::kScatter}) {
    Chart chart = line_chart({kNaN, kNaN});
    chart.draw = draw;
    EXPECT_THAT(svg(chart, "a").source, HasSubstr(">no values</text>"));
  }
  Chart empty;
  EXPECT_EQ(well_formed(svg(empty, "a").source).fault, "");
}

TEST(Chart, ThousandsOfPointsAreOnePathASeries) {
  Chart chart = line_chart(std::vector<double>(3000, 1));
  chart.draw = Draw::kScatter;
  chart.x.bare = chart.y.bare = true;
  const Html drawn = svg(chart, "a");
  EXPECT_EQ(times(path(drawn, "spot"), 'M'), 3000u);
  EXPECT_LT(drawn.source.size(), 60000u);
}

TEST(Chart, RefusesListsOfOtherLengths) {
  Chart chart = line_chart({1, 2});
  chart.series[0].x.pop_back();
  EXPECT_THROW(svg(chart, "a"), std::invalid_argument);
  chart = line_chart({1, 2});
  chart.series[0].low = {0, 0};
  EXPECT_THROW(svg(chart, "a"), std::invalid_argument);
  chart = line_chart({1, 2});
  chart.draw = Draw::kSteps;
  EXPECT_THROW(svg(chart, "a"), std::invalid_argument);
  chart.draw = Draw::kBars;
  EXPECT_THROW(svg(chart, "a"), std::invalid_argument);
}

}  // namespace debias::chart_test

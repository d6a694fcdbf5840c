#include "debias/report/charts/chart.h"

#include <fmt/format.h>

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

}  // namespace debias

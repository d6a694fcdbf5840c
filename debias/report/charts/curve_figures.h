// Charts of training metrics: one for each metric, one line for each column of the report. For several seeds the line is the
// mean, in a band from the smallest to the largest. A column has one colour in all charts; terms of an objective differ by marker and dash.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "debias/report/charts/chart.h"
#include "debias/report/run_column.h"

namespace debias {

// A line, with the least and largest of the seeds where there are several.
struct ColumnCurve {
  std::vector<double> x, y, low, high;

  bool can_be_drawn() const;
};

// At what all runs have that have the metric.
ColumnCurve column_curve(const RunColumn& column, const std::string& metric, bool by_step);

using Figures = std::vector<std::pair<Chart, Html>>;  // charts and captions

// Loss, metrics of the evaluated splits, gradient norm, learning rate, the classifier. A metric with fewer than two values is left out.
Figures learning_figures(const std::vector<RunColumn>& columns);

// Diagnostics of the objective's terms (clamped share, min estimate, effective sample size, their losses) and values that a schedule
// changes. By epoch, or by step where runs have few epochs. Terms share a chart unless it would have more than six lines.
Figures diagnostics_figures(const std::vector<RunColumn>& columns);

}  // namespace debias

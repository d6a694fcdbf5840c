// What training said about itself, as charts: one for each metric, one line for each run.
#pragma once

#include <utility>
#include <vector>

#include "debias/report/chart.h"
#include "debias/report/run_record.h"

namespace debias {

using Figures = std::vector<std::pair<Chart, Html>>;  // charts and captions

// Loss, metrics of the judged splits, gradient norm, learning rate, the classifier. A metric with fewer than two values is left out.
Figures learning_figures(const std::vector<RunRecord>& runs);

// What the terms of the objective say (clamp share, least estimate, effective sample size, their losses) and values that a schedule
// changes. By epoch, or by step where a run has few epochs. Terms share a chart unless it would have more than six lines.
Figures evidence_figures(const std::vector<RunRecord>& runs);

}  // namespace debias

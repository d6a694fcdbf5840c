// Metrics that the training of an agent writes into metrics.jsonl.
#pragma once

#include <vector>

#include "debias/results/metric.h"

namespace debias {

std::vector<Metric> agent_metrics();

}  // namespace debias

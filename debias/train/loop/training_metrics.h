// Metrics that training writes into metrics.jsonl and times.jsonl, described for everyone who shows them.
#pragma once

#include <vector>

#include "debias/results/metric.h"

namespace debias {

// Metrics of the loop, of the objective's terms and the classifier, and of the registered methods, in the order of tables.
std::vector<Metric> training_metrics();

}  // namespace debias

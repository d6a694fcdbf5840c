// Descriptions of all metrics that training and evaluation write.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "debias/results/metric.h"

namespace debias {

struct ListedMetric : Metric {
  std::vector<std::string> protocols;  // whose results can have it; empty for a training metric
};

// Each name once: the metrics of protocols in the order of their registry, then those of training.
std::vector<ListedMetric> listed_metrics();

nlohmann::ordered_json metric_json(const ListedMetric& metric);
std::string metric_text(const ListedMetric& metric);  // one line

}  // namespace debias

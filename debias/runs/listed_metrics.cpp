#include "debias/runs/listed_metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "debias/evaluate/protocol_registry.h"
#include "debias/train/loop/train_log.h"

namespace debias {
namespace {

const char* unit_name(Unit unit) { return unit == Unit::kShare ? "share" : "number"; }

const char* direction(Better better) {
  switch (better) {
    case Better::kHigher:
      return "higher";
    case Better::kLower:
      return "lower";
    case Better::kLowerOfOneObjective:
      return "lower, within one objective";
    case Better::kNeither:
      break;
  }
  return "neither";
}

std::vector<std::string> protocols_with(const std::string& metric) {
  std::vector<std::string> names;
  for (const auto& protocol : protocol_registry()) {
    if (std::ranges::find(protocol.metrics, metric, &Metric::name) != protocol.metrics.end()) names.push_back(protocol.name);
  }
  return names;
}

}  // namespace

std::vector<ListedMetric> listed_metrics() {
  std::vector<Metric> all = protocol_metrics();
  const std::vector<Metric> of_training = training_metrics();
  all.insert(all.end(), of_training.begin(), of_training.end());
  std::vector<ListedMetric> listed;
  for (const auto& metric : all) {
    if (std::ranges::find(listed, metric.name, &Metric::name) == listed.end()) listed.push_back({metric, protocols_with(metric.name)});
  }
  return listed;
}

nlohmann::ordered_json metric_json(const ListedMetric& metric) {
  return {{"name", metric.name},     {"title", metric.title},        {"unit", unit_name(metric.unit)}, {"better", direction(metric.better)},
          {"chance", metric.chance}, {"protocols", metric.protocols}};
}

std::string metric_text(const ListedMetric& metric) {
  const std::string from = metric.protocols.empty() ? "" : fmt::format("; of {}", fmt::join(metric.protocols, ", "));
  return fmt::format("{}: {} ({}; better: {}{})\n", metric.name, metric.title, unit_name(metric.unit), direction(metric.better), from);
}

}  // namespace debias

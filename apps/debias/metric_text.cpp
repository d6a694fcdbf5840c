#include "apps/debias/metric_text.h"

#include <fmt/format.h>

#include "apps/debias/agent_runs.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/train/loop/train_log.h"

namespace debias {

std::shared_ptr<const MetricTitles> metric_titles() {
  static const auto titles = [] {
    std::vector<Metric> all = protocol_metrics();
    const auto add = [&all](const std::vector<Metric>& more) { all.insert(all.end(), more.begin(), more.end()); };
    add(training_metrics());
    add(listed_agents().metrics);
    return std::make_shared<const MetricTitles>(all);
  }();
  return titles;
}

std::string metric_text(const std::string& name, double value) {
  return metric_titles()->unit(name) == Unit::kShare ? fmt::format("{:6.2f} %", 100 * value) : fmt::format("{:8.5g}", value);
}

}  // namespace debias

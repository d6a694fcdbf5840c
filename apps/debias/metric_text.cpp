#include "apps/debias/metric_text.h"

#include <fmt/format.h>

#include "debias/evaluate/protocol_registry.h"

namespace debias {

std::shared_ptr<const MetricTitles> metric_titles() {
  static const auto titles = std::make_shared<const MetricTitles>(protocol_metrics());
  return titles;
}

std::string metric_text(const std::string& name, double value) {
  return metric_titles()->unit(name) == Unit::kShare ? fmt::format("{:6.2f} %", 100 * value) : fmt::format("{:8.5g}", value);
}

}  // namespace debias

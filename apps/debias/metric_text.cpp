#include "apps/debias/metric_text.h"

#include <fmt/format.h>

#include "debias/report/metric_title.h"

namespace debias {

std::string metric_text(const std::string& name, double value) {
  return shown_in_percent(name) ? fmt::format("{:6.2f} %", 100 * value) : fmt::format("{:8.5g}", value);
}

}  // namespace debias

#include "apps/debias/metric_text.h"

#include <fmt/format.h>

namespace debias {

bool is_fraction(const std::string& name) {
  for (const char* part : {"acc", "_auc", "_rate", "_difference", "_share"}) {
    if (name.find(part) != std::string::npos) return name.find("learning_rate") == std::string::npos;
  }
  return false;
}

std::string metric_text(const std::string& name, double value) {
  return is_fraction(name) ? fmt::format("{:6.2f} %", 100 * value) : fmt::format("{:8.5g}", value);
}

}  // namespace debias

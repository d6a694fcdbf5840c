#include "apps/debias/fail_condition.h"

#include <fmt/format.h>

#include "debias/core/error.h"

namespace debias {

void check_condition(const Condition& condition, const NamedMetrics& metrics, const std::string& verb) {
  for (const auto& [name, value] : metrics_of(condition, metrics)) {
    if (!condition.holds(value)) continue;
    throw Error(ErrorKind::kFailure, fmt::format("{}: {} is {:.6g}, so --fail-if '{}' holds", verb, name, value, condition.text));
  }
}

}  // namespace debias

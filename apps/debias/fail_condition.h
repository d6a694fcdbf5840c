// `--fail-if` of `debias eval` and `debias audit`.
#pragma once

#include <string>

#include "debias/evaluate/condition.h"

namespace debias {

// A failure, exit code 1, that names the first metric for which the condition holds. A usage error where there is no such metric.
void check_condition(const Condition& condition, const NamedMetrics& metrics, const std::string& verb = "eval");

}  // namespace debias

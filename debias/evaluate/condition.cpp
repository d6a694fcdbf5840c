#include "debias/evaluate/condition.h"

#include <cmath>
#include <regex>

#include "debias/core/config.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"

namespace debias {
namespace {

Comparison comparison_of(const std::string& sign) {
  if (sign == "<") return Comparison::kLess;
  if (sign == "<=") return Comparison::kLessEqual;
  if (sign == ">") return Comparison::kGreater;
  if (sign == ">=") return Comparison::kGreaterEqual;
  return Comparison::kEqual;
}

}  // namespace

bool Condition::holds(double value) const {
  switch (comparison) {
    case Comparison::kLess:
      return value < threshold;
    case Comparison::kLessEqual:
      return value <= threshold;
    case Comparison::kGreater:
      return value > threshold;
    case Comparison::kGreaterEqual:
      return value >= threshold;
    case Comparison::kEqual:
      break;
  }
  return value == threshold;
}

Condition parse_condition(const std::string& text) {
  static const std::regex form(R"(\s*([A-Za-z_][A-Za-z0-9_.]*)\s*(<=|>=|==|<|>)\s*(\S+)\s*)");
  std::smatch parts;
  double threshold;
  if (text.size() > 200 || !std::regex_match(text, parts, form) || !parse_number(parts[3].str(), &threshold) || !std::isfinite(threshold)) {
    throw usage_error("--fail-if '{}': expected METRIC, one of < <= > >= ==, and a number, e.g. 'test.knn_acc1<0.7'", text.substr(0, 200));
  }
  return {parts[1].str(), comparison_of(parts[2].str()), threshold, text};
}

NamedMetrics metrics_of(const Condition& condition, const NamedMetrics& all) {
  NamedMetrics matching;
  std::vector<std::string> names;
  for (const auto& metric : all) {
    names.push_back(metric.first);
    if (metric.first == condition.metric || metric.first.ends_with("." + condition.metric)) matching.push_back(metric);
  }
  if (matching.empty()) throw usage_error("--fail-if: unknown metric '{}'{}", condition.metric, suggestion(condition.metric, names));
  return matching;
}

void check_condition(const Condition& condition, const NamedMetrics& metrics, const std::string& command) {
  for (const auto& [name, value] : metrics_of(condition, metrics)) {
    if (!condition.holds(value)) continue;
    throw Error(ErrorKind::kFailure, fmt::format("{}: {} is {:.6g}, so --fail-if '{}' holds", command, name, value, condition.text));
  }
}

}  // namespace debias

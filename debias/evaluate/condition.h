// A condition on metrics, as `--fail-if 'test.knn_acc1<0.7'` gives it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace debias {

enum class Comparison { kLess, kLessEqual, kGreater, kGreaterEqual, kEqual };

struct Condition {
  std::string metric;  // "test.knn_acc1", or "knn_acc1" for that of any split
  Comparison comparison = Comparison::kLess;
  double threshold = 0;
  std::string text;  // as written

  bool holds(double value) const;
};

// METRIC then < <= > >= or == then a finite number, blanks allowed between. A usage error says what was expected.
Condition parse_condition(const std::string& text);

using NamedMetrics = std::vector<std::pair<std::string, double>>;
// The metrics that the condition speaks of, at least one; a usage error with the nearest name otherwise.
NamedMetrics metrics_of(const Condition& condition, const NamedMetrics& all);

// A failure, exit code 1, that names the first of these metrics for which the condition holds, and the command that found it.
void check_condition(const Condition& condition, const NamedMetrics& metrics, const std::string& command = "eval");

}  // namespace debias

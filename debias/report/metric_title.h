// Metric names as a person reads them.
#pragma once

#include <string>
#include <string_view>

namespace debias {

enum class Better { kHigher, kLower, kNeither };

struct MetricTitle {
  std::string title;  // "kNN accuracy"
  Better better = Better::kNeither;
  int place = 0;  // in a table: lower ones first
};

// Of a name without its split; a name that is not known is its own title and comes last.
MetricTitle metric_title(const std::string& name);

// "test.knn_acc1" -> "test" and "knn_acc1"; a name without one of the splits train, valid and test before its first dot has none.
struct SplitName {
  std::string split, name;
};
SplitName split_of(const std::string& metric);

// Fractions are shown in percent; their names have acc, auc, rate, difference or share in them.
bool shown_in_percent(std::string_view name);

// In percent with two decimals, as `debias eval` prints it, or with four digits.
std::string metric_number(const std::string& name, double value);

}  // namespace debias

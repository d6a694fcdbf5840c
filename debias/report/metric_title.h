// Metric names as a person reads them.
#pragma once

#include <string>
#include <vector>

#include "debias/results/metric.h"

namespace debias {

struct MetricTitle {
  std::string title;  // "kNN accuracy"
  Better better = Better::kNeither;
  Unit unit = Unit::kNumber;
  int place = 0;                         // in a table: lower ones first
  std::vector<std::string> chance = {};  // as Metric::chance
  bool of_predictions = false;           // as Metric::of_predictions
  bool of_batch = false;                 // as Metric::of_batch
};

// "test.knn_acc1" -> "test" and "knn_acc1"; a name without one of the splits train, valid and test before its first dot has none.
struct SplitName {
  std::string split, name;
};
SplitName split_of(const std::string& metric);

// The names of a list such as "test.acc1, test.knn_acc1".
std::vector<std::string> metric_names(const std::string& list);

class MetricTitles {
 public:
  // Titles from the descriptions of the metrics' makers; for equal names the first counts.
  explicit MetricTitles(const std::vector<Metric>& described);

  // Takes a name with or without split; for one of several terms, with the term's label in front. An undescribed one (of another
  // version's file) is its own title, a plain number, and comes last.
  MetricTitle of(const std::string& metric) const;
  Unit unit(const std::string& metric) const { return of(metric).unit; }
  // Covers every loss, too: a report calls none better, as its runs may have other objectives, but an order of published losses means that.
  bool lower_is_better(const std::string& metric) const;
  std::string last_epoch_of(const std::string& metric) const;  // the metric of the last epoch beside one of the best; "" without one

 private:
  std::vector<Metric>::const_iterator find(const std::string& name) const;

  std::vector<Metric> known_;  // in the order of tables
};

// A share in percent with two decimals, as `debias eval` prints it, else four digits.
std::string metric_number(Unit unit, double value);

}  // namespace debias

// The numbers of several runs beside each other: what evaluation files say, else the last epoch line of training.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/report/metric_title.h"
#include "debias/report/run_record.h"

namespace debias {

struct KeyNumber {
  double value = 0;  // NaN: undefined, as the file says
  std::optional<std::pair<double, double>> interval;
  std::string source;  // "groups.json", "epoch 6"
};

struct NumberRow {
  std::string heading;  // "test", "test of glyphs" (another data set than the run's own)
  std::string metric;   // "test.knn_acc1"
  MetricTitle title;
  std::vector<std::optional<KeyNumber>> by_run;
  int best = -1;  // the run whose interval is on the good side of, and apart from, those of all others; -1: none
};

// Rows by heading (test first, then valid, train, other data), then by title. Where several files have a metric, that of `groups` counts. A
// row has a best run only where all runs have an interval and were judged on the same data (`root` aside).
std::vector<NumberRow> key_numbers(const std::vector<RunRecord>& runs);

// "95 %" of the bootstrap intervals, where all runs that have some agree; "" otherwise.
std::string interval_level(const std::vector<RunRecord>& runs);

}  // namespace debias

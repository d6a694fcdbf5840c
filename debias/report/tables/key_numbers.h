// The numbers of several runs beside each other: what evaluation files say, else the last epoch line of training; of runs that differ in
// their seed alone, the mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/report/metric_title.h"
#include "debias/report/run_column.h"

namespace debias {

enum class IntervalKind {
  kNone,
  kImages,  // of one run, over the evaluated images, from the file
  kDraws,   // of one run, over draws of labelled training images, from the file; not valid for other evaluated images
  kSeeds    // Student's t over the seeds
};

struct KeyNumber {
  double value = 0;  // the mean over the seeds that have it; NaN: undefined, as the file says
  IntervalKind kind = IntervalKind::kNone;
  std::pair<double, double> interval = {};       // unless kNone
  std::string source = {};                       // "groups.json", "epoch 6"
  std::vector<double> by_seed = {};              // by run of the column; NaN where one lacks it
  const EvaluationRecord* evaluation = nullptr;  // the file that it is from, of the first run that has it; null of what training said
  bool evaluated_otherwise = false;              // by other options or on other data in another run of the column: no mean, value is NaN
  std::string title = {};                        // of a metric that is of this run alone; empty: the program has it

  int64_t seeds() const;  // how many have it
  // True of a percentile interval that does not hold its own estimate.
  bool outside() const { return kind == IntervalKind::kImages && (value < interval.first || value > interval.second); }
};

inline constexpr const char* kBefore = "before";  // the data of what debias fix has evaluated without its correction

struct NumberRow {
  std::string heading;  // "test", "test of glyphs" (another data set than the run's own)
  std::string data;     // that data set, or "untrained" of what training has evaluated before its first step
  std::string metric;   // "test.knn_acc1"
  std::string source;   // whose predictions are evaluated: "knn", "linear", "classifier"; empty if the metric names it or has none
  MetricTitle title;    // with the source where there is one: "accuracy, bias-aligned, kNN"
  std::vector<std::optional<KeyNumber>> by_column;
  int best = -1;  // the column that is better than every other; -1: none
};

// Rows by heading (test first, then valid, train, other data, training), then by title. A row never mixes predictions of different sources.
// If several files have a metric, that of `groups` counts.
//
// A row has a best column only where all were evaluated on the same data (except `root`, which counts for image folders only), in batches
// of one size where that matters, and either all have two or more seeds and the difference to every other is larger than the seeds' spread
// (column_difference), or none has and the intervals over images do not overlap.
std::vector<NumberRow> key_numbers(const std::vector<RunColumn>& columns);

const NumberRow* find_row(const std::vector<NumberRow>& rows, const std::string& data, const std::string& metric,
                          const std::string& source = "");  // null where there is none

// The row of a metric in which a column has a number, that of `groups` first; null where there is none.
const NumberRow* row_with_number(const std::vector<NumberRow>& rows, const std::string& data, const std::string& metric, size_t column);

// Chance level: the largest of the metrics that the row's metric names for it (Metric::chance). NaN if none is known.
double chance_of(const std::vector<NumberRow>& rows, const NumberRow& row, size_t column);

// "95 %" of the bootstrap intervals, where all runs that have some agree; "" otherwise.
std::string interval_level(const std::vector<RunColumn>& columns);

// True where all columns were evaluated on the same data, as far as the files say, and no run saw other images there than another.
bool evaluated_alike(const std::vector<RunColumn>& columns, const std::string& data, const std::string& split);

// What intervals of single runs are over: "images", or "groups (column patient)" where images belong together,
// or both where that holds for some.
std::string sampled_units(const std::vector<RunColumn>& columns);

}  // namespace debias

// A metric of many runs as a table: each setting's mean over its seeds, differences between settings, and what is published.
//
// Numbers are those of the last epoch, of the epoch that the recipe's `select` chose on held-out images, or of one epoch of every run, as a
// curve has it. An epoch chosen by test images is no choice here: it would be told by the images that it is to be judged on.
//
// Sentence tasks (debias eval sentences): numbers of the trained run alone, by the whole protocol or, where more runs of the table have
// these, by --cheap; a note says so, and another how many runs have numbers of the other kind alone, which are left out. An untrained
// encoder's, several runs' together and those of expanded words are in no table.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/report/compared_runs.h"
#include "debias/report/curve_figures.h"
#include "debias/report/seed_interval.h"
#include "debias/report/table_reading.h"

namespace debias {

struct SeedTableOptions {
  std::vector<std::string> metrics;  // the first of them that a row has; empty: what the sweep names, or what the runs expect
  std::string against;               // label of the row that others of its task are compared with; empty: the first of each grid point
  EpochChoice epoch;
};

struct Published {
  double value = 0;
  std::optional<double> spread = {};
  std::string source = {};
  std::optional<double> minutes = {};  // of training
  int64_t epoch = 0;                   // that it is of; 0: of the end of training
};

struct TableRow {
  std::string label, variant;
  std::vector<std::pair<std::string, std::string>> grid;
  std::vector<AxisPlace> places;  // of its variant, on the sweep's axes
  std::string metric;             // that the row has; "" where it has no value
  Unit unit = Unit::kNumber;      // of that metric; without one, of the first that was asked for
  bool lower_is_better = false;   // likewise
  std::vector<std::string> seeds;
  std::vector<double> values;  // by seed
  SeedInterval interval;
  double minutes = 0;  // of training, evaluations aside, the mean over its runs; NaN where none tells
  std::optional<Published> published;
  std::vector<Published> all_published;  // with those of other epochs
  std::string task;                      // of an agent; rows of different ones are not compared
  int64_t epochs = 0;                    // of training
  ColumnCurve curve;                     // of that metric over the epochs
};

struct TableDifference {
  size_t a = 0, b = 0;    // rows
  SeedInterval interval;  // a - b; n: seeds that both have, where it is paired
  bool paired = false;
};

enum class OrderingVerdict { kHolds, kReversed, kOpen };  // open: the interval holds 0, or there is none
const char* to_text(OrderingVerdict verdict);

// Two rows whose published numbers differ, the better one first: the larger one, or the smaller where lower is better.
struct TableOrdering {
  TableDifference difference;
  double published = 0;  // of the better one less that of the other
  OrderingVerdict verdict = OrderingVerdict::kOpen;
};

struct SeedTable {
  std::string metric;  // as asked for
  std::string epoch;   // in words: "last epoch", "epoch chosen by valid.knn_acc1", "epoch 10"
  std::vector<TableRow> rows;
  std::vector<TableDifference> differences;
  std::vector<TableOrdering> ordering;
  std::vector<std::string> notes;
};

// Usage errors: no metric is told or no run has it (with the nearest name, or the epochs that have it), runs of different data, runs of a
// row that differ in more than their seed or were judged otherwise (table_likeness.h) or on different texts, `against` is no row.
SeedTable seed_table(const ComparedRuns& compared, const SeedTableOptions& options);

// interfaces: {"metric", "epoch", "rows": [{"label", "variant", "grid", "metric", "seeds", "values", "mean", "half_width", "expected",
// "spread", "source"}], "differences": [{"a", "b", "mean", "half_width", "n", "paired"}], "ordering": [...], "notes"}; null where there is
// no number.
nlohmann::ordered_json to_json(const SeedTable& table);

}  // namespace debias

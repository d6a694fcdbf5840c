// A metric of many runs as a table: each setting's mean over its seeds, differences between settings, and published numbers.
//
// Numbers are those of the last epoch, of the epoch that the recipe's `select` chose on held-out images, or of one epoch of every run, as a
// curve has it. An epoch cannot be chosen by test images: these are the images that it is evaluated on.
//
// Sentence tasks (debias eval sentences): numbers of the trained run alone, by the whole protocol or, where more runs of the table have
// these, by --cheap; a note says so, and another how many runs have numbers of the other kind alone, which are left out. An untrained
// encoder's, several runs' together and those of expanded words are in no table.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/report/charts/curve_figures.h"
#include "debias/report/compared_runs.h"
#include "debias/report/recipe_facts.h"
#include "debias/report/seed_interval.h"
#include "debias/report/tables/table_reading.h"

namespace debias {

struct SeedTableOptions {
  std::vector<std::string> metrics;  // the first of them that a row has; empty: what the sweep names, or what the runs expect
  std::string against;               // label of the row that others of its task are compared with; empty: the first of each grid point
  EpochChoice epoch;
};

struct TableRow {
  std::string label, variant;
  std::vector<std::pair<std::string, std::string>> grid;
  std::vector<AxisPlace> places;  // of its variant, on the sweep's axes
  std::string metric;             // that the row has; "" where it has no value
  Unit unit = Unit::kNumber;      // of that metric; without one, of the first that was requested
  bool lower_is_better = false;   // likewise
  std::vector<std::string> seeds;
  std::vector<double> values;  // by seed
  SeedInterval interval;
  double minutes = 0;  // mean training time over its runs, without evaluations; NaN if unknown
  std::optional<Published> published;
  std::vector<Published> all_published;  // with those of other epochs
  std::string task;                      // of an agent; rows of different ones are not compared
  int64_t epochs = 0;                    // of training
  ColumnCurve curve;                     // of that metric over the epochs
};

// Our difference against the published one, each tested at 5 %, two-sided.
enum class Outcome {
  kConfirmed,           // ours differs from 0 and has the published sign
  kContradicted,        // ours differs from 0 and has the other sign
  kInconclusive,        // ours may be 0, or has no test
  kInconclusiveInPaper  // the published one may be 0 itself, so that there is nothing to confirm or to contradict
};
constexpr auto enum_words(Outcome) { return named("confirmed", "contradicted", "inconclusive", "inconclusive_in_paper"); }
inline std::string to_text(Outcome outcome) { return std::string(enum_name(outcome)); }

struct PublishedDifference {
  double mean = 0;
  std::optional<double> spread;    // standard deviation of a difference of one run each, sqrt(s_a^2 + s_b^2)
  std::optional<bool> conclusive;  // by Welch's test; none: a spread or a number of two runs or more is not published
  Outcome outcome = Outcome::kInconclusive;
  Outcome outcome_holm = Outcome::kInconclusive;  // with our p-value adjusted
};

struct TableDifference {
  size_t a = 0, b = 0;    // rows
  SeedInterval interval;  // a - b; n: seeds that both have, where it is paired
  bool paired = false;
  double p_holm = std::numeric_limits<double>::quiet_NaN();  // adjusted over the list that it is in (seed_interval.h)
  std::optional<PublishedDifference> published = {};         // none: of a side nothing is published, or of another epoch
};

struct SeedTable {
  std::string metric;  // as requested
  std::string epoch;   // in words: "last epoch", "epoch chosen by valid.knn_acc1", "epoch 10"
  std::vector<TableRow> rows;
  std::vector<TableDifference> differences;
  // Pairs whose published numbers differ, the better one first: the larger one, or the smaller where lower is better.
  std::vector<TableDifference> ordering;
  std::vector<std::string> notes;
};

// Usage errors: no metric is given or no run has it (with the nearest name, or the epochs that have it), runs of different data, runs of a
// row that differ in more than their seed or were evaluated otherwise (table_likeness.h) or on different texts, `against` is not a row.
SeedTable seed_table(const ComparedRuns& compared, const SeedTableOptions& options);

// interfaces: {"metric", "epoch", "rows": [{"label", "variant", "grid", "metric", "seeds", "values", "mean", "half_width", "expected",
// "spread", "source"}], "differences": [{"a", "b", "mean", "half_width", "n", "paired", "p", "p_holm", "published": {"mean", "spread",
// "conclusive"}, "outcome", "outcome_holm"}], "ordering": the same with "expected" and "verdict", "ordering_counts": {"raw": {OUTCOME: N},
// "holm": the same}, "notes"}; null without a number.
nlohmann::ordered_json to_json(const SeedTable& table);

}  // namespace debias

// The columns of a report: runs that differ in their seed alone are one column, with the mean over their seeds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/report/run_record.h"
#include "debias/report/seed_interval.h"
#include "debias/results/predictions.h"  // IWYU pragma: export
#include "debias/results/run_files.h"

namespace debias {

struct RunColumn {
  std::string label;                   // of one run its own; of several what their labels share
  std::vector<const RunRecord*> runs;  // by seed, at least one; they must outlive the column

  bool has_seeds() const { return runs.size() > 1; }
  const RunRecord& shown() const { return *runs.front(); }  // for what is of a single run: groups, maps, neighbours
  const MetricTitles& titles() const { return *shown().titles; }
  std::string title() const;  // "infonce (3 seeds)"
};

// In the order of the runs. One column: the recipes are the same except for `seed`, `output`, `name` and `expected`, as many epochs are
// done, and the data sets are the same according to data/sets.json. A seed that is there twice, a repetition and no further seed, begins
// another column.
std::vector<RunColumn> run_columns(const std::vector<RunRecord>& runs);

// A column for each run.
std::vector<RunColumn> single_columns(const std::vector<RunRecord>& runs);

// The run of each column that is shown, labelled "infonce, seed 1" where there are others.
std::vector<RunRecord> shown_runs(const std::vector<RunColumn>& columns);

// Describes a run in a few words.
std::string progress_text(const RunRecord& run);  // "2 of 4 epochs, unfinished"; "corrected features" of debias fix

// "1, 2, 3"; empty where the recipes have none.
std::string seeds_text(const RunColumn& column);

// The recipe's name; empty where that of each seed is another.
std::string recipe_name(const RunColumn& column);

// "demo, objective infonce, encoder resnet18, trained on glyphs, seeds 1, 2, 3, 4 of 4 epochs".
std::string column_words(const RunColumn& column);

// The difference of a number between two columns, against the spread of their seeds.
struct ColumnDifference : SeedDifference {  // no half width where a side has one seed
  // A difference that is the same in every seed has an interval without width, which is no evidence about further seeds.
  bool has_width() const { return interval.half_width > 0; }
  bool larger_than_spread() const { return has_width() && (interval.low() > 0 || interval.high() < 0); }
};

// Values by run of each column; NaN where a run lacks the number. Paired or not as seed_difference() says.
ColumnDifference column_difference(const RunColumn& a, const std::vector<double>& of_a, const RunColumn& b,
                                   const std::vector<double>& of_b);

// Random draws of data sets: which images are bias-conflicting, which are held out. A draw has a fixed `data.SPLIT.seed`, or
// the run's seed (`seed: run`), and then each training seed has another.

// Which draw of the split a run has: its seed where the data follow it, "" where they do not.
std::string draw_of(const RunRecord& run, const std::string& split);

// As compare_data_sets(), but kUndetermined for two runs whose data follow their different seeds: they must differ.
DataLikeness compare_run_data(const RunRecord& a, const RunRecord& b, const std::string& split);

// The splits that are drawn (a `correlation`, or images held out) and that all runs have from one fixed seed: "data.train", "data.train and
// data.test". "" if there is none, and for a single run.
std::string shared_draws(const std::vector<const RunRecord*>& runs);

// The sentence that conclusions over several seeds need then: "Conditional on one draw of data.train ..."; "" without a shared draw.
std::string shared_draw_words(const std::vector<std::vector<const RunRecord*>>& settings);

// Whose predictions a number evaluates: aligned_acc of kNN and aligned_acc of a classifier are different numbers.

// "knn", "linear" or "classifier" of a metric (without its split) that can be of either; empty for one whose name includes it ("knn_acc1"),
// that evaluates no predictions, or if neither the file nor the recipe names it.
std::string prediction_source(const EvaluationRecord& record, const std::string& metric, const MetricTitles& titles);
// Source of the numbers in metrics.jsonl, from the recipe's `evaluate`.
std::string prediction_source(const RunRecord& run, const std::string& metric);

// Sources in the order of kPredictionsOf, then "", for a file that does not name whose predictions it evaluates.
std::vector<std::string> sources_in_order();

}  // namespace debias

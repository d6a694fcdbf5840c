// The runs of a table: those of sweeps, by setting, or any run folders, those that differ in their seed alone as one row.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/report/recipe_facts.h"
#include "debias/report/run_record.h"
#include "debias/sweep/sweep_keys.h"

namespace debias {

struct ComparedRow {
  std::string label;                                      // "end, correlation 0.99"
  std::string variant;                                    // "" of plain runs and of a sweep without variants
  std::vector<std::pair<std::string, std::string>> grid;  // of a sweep: key and value
  std::vector<size_t> runs;                               // those that are finished, by seed
  size_t planned = 0;                                     // with those that are not
  std::optional<std::vector<Published>> expected = {};    // that a sweep's file has for it; none: what its runs' recipes have
  std::vector<AxisPlace> places = {};                     // of its variant, on the sweep's axes
};

struct ComparedRuns {
  std::vector<RunRecord> runs;
  std::vector<ComparedRow> rows;  // a row without a finished run stays, so that it is seen to be missing
  std::string metric;             // that the sweeps name; "" where they name none, or several
  std::vector<std::string> notes;
  std::shared_ptr<const MetricTitles> titles;  // of this program
};

// `paths`: outputs of sweeps, sweep files, whose `output` is meant and whose `metric`, `expected` and `axes` count as they are now, or run
// folders. Unfinished runs are left out, with a note. Data errors as of read_run() and read_sweep_record(); a
// usage error for a run given twice.
ComparedRuns read_compared_runs(const std::vector<std::string>& paths, const ReadingProgram& program);

// Expands these into run folders; a sweep gives its runs that have begun.
std::vector<std::string> run_folders(const std::vector<std::string>& paths);

// Numbers of a task are compared only if they are of the same texts. Files name them by a digest; those of older versions do
// not, and are taken as they are.
struct TaskEvaluation {
  const RunRecord* run = nullptr;
  const EvaluationRecord* record = nullptr;
};

// Throws a usage error, prefixed with `verb`, if two of these name different texts of the task.
void require_same_texts(const std::string& verb, const std::string& task, const std::vector<TaskEvaluation>& evaluations);

// The same of every task of these runs, each kind of evaluation by itself: the whole protocol, --cheap, the untrained encoder and so on.
void require_same_texts(const std::string& verb, const std::vector<RunRecord>& runs);

}  // namespace debias

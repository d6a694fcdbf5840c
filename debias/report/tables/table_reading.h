// Which of a run's numbers a table takes: of which epoch, and of sentence tasks by which of the two protocols.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/report/compared_runs.h"

namespace debias {

enum class TableEpoch {
  kAuto,  // kSelected where every run has a `select`, else kLast
  kLast,
  kSelected,
  kNumber  // one of every run, by its number
};

struct EpochChoice {
  TableEpoch which = TableEpoch::kAuto;
  int64_t number = 0;  // of kNumber, from 1
};

struct TableReading {
  EpochChoice epoch = {TableEpoch::kLast};  // never kAuto
  bool cheap = false;  // of sentence tasks those of --cheap, else of the whole protocol; one is never taken for the other
};

// kAuto is no more in it. A usage error where epochs that were chosen on held-out images are requested and a run has none.
EpochChoice chosen_epoch(const ComparedRuns& compared, const EpochChoice& asked);
std::string epoch_words(const ComparedRuns& compared, const TableReading& reading);

// The epoch at which the recipe's `select` is highest; 0 where it was never measured.
double selected_epoch(const RunRecord& run);

// All runs of all rows.
std::vector<const RunRecord*> runs_of_rows(const ComparedRuns& compared);

// The evaluation file of the epoch that has the metric; null if there is none.
const EvaluationRecord* record_at(const RunRecord& run, const std::string& metric, const TableReading& reading);

// Value from an epoch line, else from a record; NaN if neither has it.
double value_at(const RunRecord& run, const std::string& metric, const TableReading& reading);

// Names of all metrics that a run has at some epoch, in order.
std::vector<std::string> measured_metrics(const ComparedRuns& compared);

// Lists all epochs at which a run has one of the metrics: "10, 20", "40 of them, 1 to 40"; "" if there is none.
std::string epochs_with(const ComparedRuns& compared, const std::vector<std::string>& metrics);

}  // namespace debias

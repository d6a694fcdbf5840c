// Random draws of data sets: which images are bias-conflicting, which are held out. A draw has a fixed `data.SPLIT.seed`, or
// the run's seed (`seed: run`), and then each training seed has another.
#pragma once

#include <string>
#include <vector>

#include "debias/report/run_record.h"
#include "debias/results/run_files.h"

namespace debias {

// Which draw of the split a run has: its seed where the data follow it, "" where they do not.
std::string draw_of(const RunRecord& run, const std::string& split);

// As compare_data_sets(), but kUndetermined for two runs whose data follow their different seeds: they must differ.
DataLikeness compare_run_data(const RunRecord& a, const RunRecord& b, const std::string& split);

// The splits that are drawn (a `correlation`, or images held out) and that all runs have from one fixed seed: "data.train", "data.train and
// data.test". "" if there is none, and for a single run.
std::string shared_draws(const std::vector<const RunRecord*>& runs);

// The sentence that conclusions over several seeds need then: "Conditional on one draw of data.train ..."; "" without a shared draw.
std::string shared_draw_words(const std::vector<std::vector<const RunRecord*>>& settings);

}  // namespace debias

// Next step after a report: one command that works on the runs as they are, and how long it takes.
#pragma once

#include <limits>
#include <string>

#include "debias/report/run_column.h"

namespace debias {

struct NextStep {
  std::string command;                                        // empty: nothing follows
  std::string why;                                            // what it adds, a clause: "an interval over seeds"
  double minutes = std::numeric_limits<double>::quiet_NaN();  // estimated from the run's own training time; NaN: not known
};

// "Next, for an interval over seeds: debias train ... (about 12 minutes)"; empty without a command.
std::string step_words(const NextStep& step);
// The part of it before and after the command.
std::string step_head(const NextStep& step);
std::string step_time(const NextStep& step);  // " (about 12 minutes)"; "" where it is not known

// Three seeds of the run's recipe, in a new folder beside it; beside the group of seeds or the sweep that it lies in, if there is one.
NextStep train_more_seeds(const RunColumn& column);

// Protocols on the run's own images. The time is that of one epoch, which is more than one pass over them takes.
NextStep evaluate_protocols(const RunRecord& run, const std::string& protocols, const std::string& why);

// Groups by bias labels from a file, where the data have none.
NextStep give_bias_values(const RunRecord& run);

// Both after another; empty where either is.
NextStep both_steps(const NextStep& first, const NextStep& second);

}  // namespace debias

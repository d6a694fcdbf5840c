// The protocol `sentences`, of runs on sentences: six tasks that vectors of sentences are evaluated by (sentence_tasks.h), each on a published
// set of texts (text/sentence_sets.h) below `root`. Sets without a file there are named in the notes and left out.
//
// TASK_acc and msrp_f1, with intervals of 95 %; of each task what was chosen and on which texts (EvaluatedTask).
#pragma once

#include <string>
#include <vector>

#include "debias/core/options.h"
#include "debias/evaluate/protocol.h"
#include "debias/evaluate/sentence_tasks.h"

namespace debias {

struct SentencesProtocolOptions {
  std::string root = {};
  std::vector<std::string> tasks = {};  // known ones, each once; empty: all six
  TaskMode mode = TaskMode::kFull;
  void describe(OptionVisitor& o);
};

// Usage error: no root. Data errors: not one set below the root, and those of read_sentence_set.
EvaluationResult run_sentence_tasks(const EvaluationInput& input, EvaluationCache& cache, const SentencesProtocolOptions& options,
                                    Progress& progress);

}  // namespace debias

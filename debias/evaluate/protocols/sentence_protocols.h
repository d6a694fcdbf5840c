// Protocols of runs on sentences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/options.h"
#include "debias/evaluate/protocol.h"
#include "debias/evaluate/sentence_tasks.h"

namespace debias {

// The protocol `neighbours`, of runs on sentences: how often the sentence whose score with another is largest is next to it, among the
// consecutive sentences of a batch (sentence_reader.h).
//
// SPLIT.neighbour_acc, with Wilson's interval of 95 %, over data.valid and data.test. A guess is right in 2 of `batch_size` cases.

struct NeighboursOptions {
  Auto<int64_t> batch_size = {};
  void describe(OptionVisitor& o) {
    o("batch_size", batch_size, Range::closed(2, 1e6),
      "number of consecutive sentences among which a neighbour is searched for; auto: the batch size of training");
  }
};

std::vector<Metric> neighbours_metrics();

// Usage errors: no valid and no test set; batches longer than every book (SentenceBatches).
EvaluationResult run_neighbours(const EvaluationInput& input, EvaluationCache& cache, const NeighboursOptions& options, Progress& progress);

// The protocol `sentences`, of runs on sentences: six tasks that vectors of sentences are evaluated by (sentence_tasks.h), each on a published
// set of texts (text/sentence_sets.h) below `root`. Sets without a file there are named in the notes and left out.
//
// TASK_acc and msrp_f1, with intervals of 95 %; of each task what was chosen and on which texts (EvaluatedTask).

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

// The protocol `neighbours`, of runs on sentences: how often the sentence whose score with another is largest is next to it, among the
// consecutive sentences of a batch (neighbour_retrieval.h).
//
// SPLIT.neighbour_acc, with Wilson's interval of 95 %, over data.valid and data.test. A guess is right in 2 of `batch_size` cases.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/core/options.h"
#include "debias/evaluate/protocol.h"

namespace debias {

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

}  // namespace debias

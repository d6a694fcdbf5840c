// The batches of a training in several processes: each makes the views of its rows, and all know of all rows.
//
// Before each step the ranks exchange a header: ids, occurrences, labels and biases of the rows (a substitute's differ from the sampler's),
// whether one was asked to stop, whether rank 0 wants a checkpoint, and whether a rank cannot continue; then all end at the same step.
#pragma once

#include <cstdint>

#include "debias/loader/batch_source.h"
#include "debias/ranks/ranks.h"

namespace debias {

// Orders for the current step, the same on all ranks.
struct StepOrders {
  int stop_signal = 0;  // that some rank was sent
  int64_t stopped_rank = 0;
  bool save = false;
};

class RankBatches {
 public:
  RankBatches(BatchSource& source, int64_t batch_size, const Ranks& ranks) : source_(source), batch_size_(batch_size), ranks_(ranks) {}

  // As BatchSource::next(), with the rows of all ranks; `own` is this rank's message. A rank's error ends all of them.
  const Batch* next(const StepOrders& own);
  const StepOrders& orders() const { return orders_; }

 private:
  void merge(const at::Tensor& headers);
  void join_notes();

  BatchSource& source_;
  int64_t batch_size_;
  const Ranks& ranks_;
  Batch batch_;
  StepOrders orders_;
};

}  // namespace debias

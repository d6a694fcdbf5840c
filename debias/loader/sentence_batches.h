// Batches of consecutive sentences, as Quick-Thoughts is trained on.
//
// A batch is `batch_size` sentences that follow each other in one book; batches begin anew at each book, and what is left at its end is a
// batch of its own, or with drop_last none. The order of batches is drawn for each epoch from the seed, or that of the corpus.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "debias/data/readers/sentences.h"
#include "debias/loader/batch_source.h"

namespace debias {

enum class BatchOrder { kShuffled, kSequential };
constexpr auto enum_words(BatchOrder) { return named("shuffled", "sequential"); }

struct SentenceBatchOptions {
  int64_t batch_size = 400;
  int64_t least = 3;  // sentences of a batch; a shorter end of a book is left out
  bool drop_last = true;
  BatchOrder order = BatchOrder::kShuffled;
  uint64_t seed = 1;
  int64_t rank = 0;  // has the rows [B rank / ranks, B (rank + 1) / ranks) of a batch of B
  int64_t ranks = 1;
  ;
};

// Inputs: "words" int64 [1, B, T], each row word ids and then -1, T the longest sentence of the batch.
class SentenceBatches final : public BatchSource {
 public:
  // Usage errors: a batch below `least`, or no book that has one batch.
  SentenceBatches(std::shared_ptr<const Sentences> sentences, const SentenceBatchOptions& options);

  std::string what() const override { return "sentences"; }
  const SampleTable& samples() const override { return *sentences_; }
  int64_t batches_per_epoch() const override { return static_cast<int64_t>(starts_.size()); }
  std::vector<std::string> notes() const override;  // books that are too short
  void start(int64_t epoch, int64_t first = 0) override;
  const Batch* next() override;

 private:
  int64_t shortest() const { return options_.drop_last ? options_.batch_size : options_.least; }  // batch

  std::shared_ptr<const Sentences> sentences_;
  SentenceBatchOptions options_;
  std::vector<std::pair<int64_t, int64_t>> starts_;  // first sentence of each batch, and the one after its last
  std::vector<int64_t> order_;
  Batch batch_;
  int64_t epoch_ = 0, next_ = 0;
};

int64_t longest_book(const Sentences& sentences);  // in sentences

// One line that counts and names the books of fewer sentences, of which there is no batch; "" where there are none.
std::string short_books(const Sentences& sentences, int64_t shortest_batch);

// Rows of word ids, and -1 behind them, as encoders of sentences take them. A data error for a row without a word.
at::Tensor padded_ids(const std::vector<std::span<const int32_t>>& sentences);

}  // namespace debias

// Share of sentences f whose largest score is with the g of an adjacent sentence, among all of a batch of consecutive sentences.
// Scores are inner products, which depend on the norms of the vectors, as in the objective (losses/neighbours.h) and the published program;
// cosines, by which `debias text nearest` searches, would give other numbers.
#pragma once

#include <cstdint>
#include <memory>

#include "debias/core/progress.h"
#include "debias/data/readers/sentences.h"
#include "debias/encoders/encoder.h"

namespace debias {

struct NeighbourRetrieval {
  int64_t sentences = 0, hits = 0;
  double chance = 0;  // of a guess: 2 / batch

  double accuracy() const { return static_cast<double>(hits) / static_cast<double>(sentences); }
  std::pair<double, double> interval() const;  // Wilson's, of 95 %
};

// Evaluates a pair of encoders (sentence_encoders.h) over the sentences in their order, in batches that begin anew at each book; the rest
// at its end is ignored. Usage errors of SentenceBatches.
NeighbourRetrieval retrieve_neighbours(Encoder& pair, const std::shared_ptr<const Sentences>& sentences, int64_t batch,
                                       Progress& progress = Progress::silent());

// Vectors of sentences as evaluation takes them (sentence_vectors), 128 at a time: float32 [N, 2 D].
at::Tensor embed_sentences(Encoder& pair, const std::vector<std::vector<int32_t>>& sentences, Progress& progress = Progress::silent());

}  // namespace debias

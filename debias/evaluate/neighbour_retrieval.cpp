#include "debias/evaluate/neighbour_retrieval.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "debias/encoders/sentence_encoders.h"
#include "debias/loader/sentence_batches.h"
#include "debias/losses/neighbours.h"
#include "debias/results/statistics.h"

namespace debias {
namespace {

constexpr int64_t kSentencesAtOnce = 128;

}  // namespace

std::pair<double, double> NeighbourRetrieval::interval() const { return wilson_interval({accuracy(), static_cast<double>(sentences)}); }

NeighbourRetrieval retrieve_neighbours(Encoder& pair, const std::shared_ptr<const Sentences>& sentences, int64_t batch,
                                       Progress& progress) {
  SentenceBatches batches(sentences, SentenceBatchOptions{.batch_size = batch, .order = BatchOrder::kSequential});
  const at::NoGradGuard no_grad;
  NeighbourRetrieval found;
  found.chance = 2.0 / static_cast<double>(batch);
  progress.begin("neighbours", batches.batches_per_epoch());
  batches.start(0);
  while (const Batch* one = batches.next()) {
    const at::Tensor features = pair.forward(one->input("words")[0]).unflatten(1, {2, -1});
    found.hits += nearest_is_neighbour(features.select(1, 0).mm(features.select(1, 1).t()));
    found.sentences += static_cast<int64_t>(one->ids.size());
    progress.advance(one->number + 1, "");
  }
  progress.end();
  return found;
}

at::Tensor embed_sentences(Encoder& pair, const std::vector<std::vector<int32_t>>& sentences, Progress& progress) {
  const at::NoGradGuard no_grad;
  const auto N = static_cast<int64_t>(sentences.size());
  // Sentences of one length go together, so that a long one does not hold up short ones.
  std::vector<int64_t> order(sentences.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto length = [&](int64_t i) { return sentences[static_cast<size_t>(i)].size(); };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return length(a) > length(b); });
  at::Tensor vectors = at::empty({N, pair.feature_dim()}, at::kFloat);
  progress.begin("sentence vectors", N);
  for (int64_t begin = 0; begin < N; begin += kSentencesAtOnce) {
    const int64_t end = std::min(begin + kSentencesAtOnce, N);
    std::vector<std::span<const int32_t>> rows;
    for (int64_t i = begin; i < end; ++i) rows.emplace_back(sentences[static_cast<size_t>(order[static_cast<size_t>(i)])]);
    const std::vector<int64_t> places(order.begin() + begin, order.begin() + end);
    vectors.index_copy_(0, at::tensor(places, at::kLong), sentence_vectors(pair, padded_ids(rows)));
    progress.advance(end, "");
  }
  progress.end();
  return vectors;
}

}  // namespace debias

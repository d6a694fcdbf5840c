#include "debias/evaluate/protocols/neighbour_protocol.h"

#include "debias/core/error.h"
#include "debias/evaluate/neighbour_retrieval.h"

namespace debias {

std::vector<Metric> neighbours_metrics() {
  return {{.name = "neighbour_acc",
           .title = "neighbour accuracy",
           .unit = Unit::kShare,
           .better = Better::kHigher,
           .standing = Standing::kProtocol,
           .of_batch = true}};
}

EvaluationResult run_neighbours(const EvaluationInput& input, EvaluationCache&, const NeighboursOptions& given, Progress& progress) {
  const SentenceInput& sentences = *input.sentences;
  if (sentences.evaluated.empty()) throw usage_error("neighbours: the recipe has neither data.valid nor data.test; add one of them");
  NeighboursOptions options = given;
  const int64_t batch = options.batch_size.value_or(sentences.batch_size);
  options.batch_size = batch;
  EvaluationResult result;
  EvaluationRecord& record = result.record;
  record.protocol = "neighbours";
  record.options = config_of(options).to_json();
  record.options["chance"] = 2.0 / static_cast<double>(batch);
  for (const auto& [split, books] : sentences.evaluated) {
    const NeighbourRetrieval found = retrieve_neighbours(*input.encoder, books, batch, progress);
    const std::string name = split + ".neighbour_acc";
    result.metrics[name] = found.accuracy();
    record.metrics.emplace_back(name, found.accuracy());
    record.intervals[name] = found.interval();
    record.counts.emplace_back(split, found.sentences);
  }
  return result;
}

}  // namespace debias

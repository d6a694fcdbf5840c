#include "debias/runs/protocol_evaluation.h"

#include <algorithm>

#include "debias/core/error.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/report/metric_title.h"

namespace debias {

ProtocolEvaluation::ProtocolEvaluation(const Recipe& recipe, std::vector<std::string> protocols, EvaluatedData data, EvaluationInput input,
                                       Progress& progress, Log& log)
    : recipe_(recipe),
      protocols_(std::move(protocols)),
      data_(std::move(data)),
      input_(std::move(input)),
      progress_(progress),
      log_(log),
      files_(recipe.output, "") {}

std::vector<std::pair<std::string, double>> ProtocolEvaluation::after_epoch(const EpochEnd& end) {
  take(end.model);
  EvaluationCache cache(input_, progress_, recipe_.protocol_options);
  NamedMetrics metrics;
  for (const auto& protocol : protocols_) {
    const EvaluationResult& result = cache.evaluate(protocol);
    append_metrics(result, metrics);
    keep(protocol, result, end);
  }
  add_metrics(cache, metrics);
  return metrics;
}

void ProtocolEvaluation::keep(const std::string& protocol, const EvaluationResult& result, const EpochEnd& end) {
  const EvaluationRecord record = with_evaluated(result.record, "last.safetensors", end.epoch, data_);
  const std::string name = EvaluationFiles::name_of(protocol, result);
  files_.write_history(name, record, end.epoch);
  files_.write(name, result, record, end.epoch == end.epochs ? Thumbnails::kReplace : Thumbnails::kKeep);
  for (const auto& note : result.notes) {
    if (said_.insert(note).second) log_.warn(note);
  }
}

void require_more_is_better(const std::string& select) {
  const std::vector<Metric> known = protocol_metrics();
  const auto found = std::ranges::find_if(known, [&](const Metric& metric) { return describes(metric, split_of(select).name); });
  if (found == known.end() || found->better == Better::kHigher) return;
  throw usage_error(
      "evaluate: select '{}': {}, and `best` is the epoch with the highest value; select an accuracy such as valid.worst_group_acc", select,
      found->better == Better::kNeither ? "neither higher nor lower values are better" : "lower values are better");
}

}  // namespace debias

#include "debias/report/prediction_source.h"

#include <algorithm>

namespace debias {
namespace {

bool is_judged_with(const Config& evaluate, const std::string& protocol) {
  const Config* protocols = evaluate.find("protocols");
  if (protocols == nullptr) return false;
  if (protocols->is_scalar()) return protocols->text() == protocol;
  return protocols->is_sequence() &&
         std::ranges::any_of(protocols->items(), [&](const Config& item) { return item.is_scalar() && item.text() == protocol; });
}

// The option `groups.predictions`, "auto" where it is left out.
std::string groups_predictions(const Config& evaluate) {
  const Config* groups = evaluate.find("groups");
  const Config* predictions = groups == nullptr || !groups->is_map() ? nullptr : groups->find("predictions");
  return predictions == nullptr || !predictions->is_scalar() ? "auto" : predictions->text();
}

}  // namespace

std::string prediction_source(const EvaluationRecord& record, const std::string& metric, const MetricTitles& titles) {
  return titles.of(metric).of_predictions ? record.predictions : "";
}

std::string prediction_source(const RunRecord& run, const std::string& metric) {
  if (!run.titles->of(metric).of_predictions) return "";
  const Config* classifier = run.config.find("classifier");
  const bool has_classifier = classifier != nullptr && !classifier->is_null();
  const Config* evaluate = run.config.find("evaluate");
  if (evaluate != nullptr && evaluate->is_map() && is_judged_with(*evaluate, "groups")) {
    const std::string asked = groups_predictions(*evaluate);
    return asked != "auto" ? asked : has_classifier ? "classifier" : "knn";
  }
  if (metric == "acc1") return has_classifier ? "classifier" : "";
  const bool by_knn = evaluate != nullptr && evaluate->is_map() && is_judged_with(*evaluate, "knn");
  return by_knn ? "knn" : "";
}

std::vector<std::string> sources_in_order() {
  std::vector<std::string> sources;
  for (const auto& source : kPredictionsOf) sources.emplace_back(source.name);
  sources.emplace_back();
  return sources;
}

}  // namespace debias

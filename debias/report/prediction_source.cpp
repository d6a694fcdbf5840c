#include "debias/report/prediction_source.h"

namespace debias {

std::string prediction_source(const EvaluationRecord& record, const std::string& metric, const MetricTitles& titles) {
  return titles.of(metric).of_predictions ? record.predictions : "";
}

std::string prediction_source(const RunRecord& run, const std::string& metric) {
  if (!run.titles->of(metric).of_predictions) return "";
  const RecipeFacts& recipe = run.recipe;
  if (recipe.has_protocol("groups")) {
    const std::string& asked = recipe.groups_predictions;
    return asked != "auto" ? asked : recipe.has_classifier ? "classifier" : "knn";
  }
  if (metric == "acc1") return recipe.has_classifier ? "classifier" : "";
  return recipe.has_protocol("knn") ? "knn" : "";
}

std::vector<std::string> sources_in_order() {
  std::vector<std::string> sources;
  for (const auto& source : kPredictionsOf) sources.emplace_back(source.name);
  sources.emplace_back();
  return sources;
}

}  // namespace debias

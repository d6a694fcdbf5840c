#include "debias/report/prediction_source.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace debias {
namespace {

constexpr std::array<std::string_view, 8> kOfSomeone = {"acc1",
                                                        "aligned_acc",
                                                        "conflicting_acc",
                                                        "worst_group_acc",
                                                        "unbiased_acc",
                                                        "demographic_parity_difference",
                                                        "equal_opportunity_difference",
                                                        "equalized_odds_difference"};

bool is_of_someone(const std::string& metric) { return std::ranges::find(kOfSomeone, metric) != kOfSomeone.end(); }

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

std::string prediction_source(const EvaluationRecord& record, const std::string& metric) {
  return is_of_someone(metric) ? record.predictions : "";
}

std::string prediction_source(const RunRecord& run, const std::string& metric) {
  if (!is_of_someone(metric)) return "";
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

std::string source_title(const std::string& source) {
  if (source == "knn") return "kNN";
  if (source == "mean_classifier") return "mean classifier";
  return source == "linear" ? "linear probe" : source;
}

}  // namespace debias

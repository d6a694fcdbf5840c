#include "debias/evaluate/protocols/mean_classifier.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/evaluate/accuracy.h"

namespace debias {
namespace {

// Mean cross-entropy of the rows that have a label.
double mean_loss(const at::Tensor& logits, const std::vector<int64_t>& labels) {
  std::vector<int64_t> rows, own;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == kUnknown) continue;
    rows.push_back(static_cast<int64_t>(i));
    own.push_back(labels[i]);
  }
  const at::Tensor log_p = at::log_softmax(logits.to(at::kDouble).index_select(0, at::tensor(rows, at::kLong)), 1);
  return -log_p.gather(1, at::tensor(own, at::kLong).unsqueeze(1)).mean().item<double>();
}

}  // namespace

at::Tensor class_means(const at::Tensor& features, const std::vector<int64_t>& labels, int64_t classes) {
  const at::Tensor unit = unit_rows(features, labels, "mean_classifier");
  at::Tensor sums = at::zeros({classes, features.size(1)}, at::kDouble), counts = at::zeros({classes}, at::kDouble);
  std::vector<int64_t> rows, own;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == kUnknown) continue;
    rows.push_back(static_cast<int64_t>(i));
    own.push_back(labels[i]);
  }
  const at::Tensor chosen = at::tensor(own, at::kLong);
  sums.index_add_(0, chosen, unit.index_select(0, at::tensor(rows, at::kLong)).to(at::kDouble));
  counts.index_add_(0, chosen, at::ones({static_cast<int64_t>(own.size())}, at::kDouble));
  return (sums / counts.clamp_min(1).unsqueeze(1)).to(at::kFloat);
}

std::vector<Metric> mean_classifier_metrics() {
  return {{"mean_classifier_acc1", "mean classifier accuracy", Unit::kShare, Better::kHigher, Standing::kProtocol},
          {"mean_classifier_acc5", "mean classifier accuracy, top 5", Unit::kShare, Better::kHigher, Standing::kDetail},
          {"mean_classifier_loss", "mean classifier loss", Unit::kNumber, Better::kLower, Standing::kDetail}};
}

EvaluationResult run_mean_classifier(const EvaluationInput& input, EvaluationCache& cache, const MeanClassifierOptions& options,
                                     Progress&) {
  const std::string name = "mean_classifier";
  const int64_t classes = count_classes(*input.train, name);
  for (const auto& evaluated : evaluated_splits(input)) require_labels(*evaluated.dataset, classes, name);
  const at::Tensor means = class_means(cache.train().values, cache.train().labels, classes);
  EvaluationResult result;
  for (const auto& evaluated : evaluated_splits(input)) {
    const Features& features = cache.split(evaluated.name);
    const at::Tensor logits = at::mm(unit_rows(features.values, features.labels, name), means.t()) / options.temperature;
    const auto ranks = label_ranks(logits, features.labels);
    result.metrics[evaluated.name + ".mean_classifier_acc1"] = accuracy_within(ranks, 1);
    result.metrics[evaluated.name + ".mean_classifier_acc5"] = accuracy_within(ranks, 5);
    result.metrics[evaluated.name + ".mean_classifier_loss"] = mean_loss(logits, features.labels);
    result.predictions[evaluated.name] = predicted_classes(logits);
  }
  result.record = describe(name, input, result.metrics, config_of(options), classes);
  describe_predictions(name, input, classes, result);
  return result;
}

}  // namespace debias

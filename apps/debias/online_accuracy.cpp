#include "apps/debias/online_accuracy.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "apps/debias/judged_run.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/protocol.h"

namespace debias {
namespace {

class OnlineAccuracy : public TrainObserver {
 public:
  OnlineAccuracy(int64_t every, EvaluationInput input, Progress& progress) : every_(every), input_(std::move(input)), progress_(progress) {}

  std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) override {
    if (end.epoch % every_ != 0 && end.epoch != end.epochs) return {};
    const at::NoGradGuard no_grad;
    const Classifier& classifier = *end.model.classifier;
    input_.encoder = end.model.encoder;
    EvaluationCache cache(input_, progress_);
    std::vector<std::pair<std::string, double>> metrics;
    for (const auto& split : judged_splits(input_)) {
      const Features& found = cache.split(split.name);
      const at::Tensor logits = classifier.logits(found.values.unsqueeze(1));
      metrics.emplace_back(split.name + ".acc1", accuracy_within(label_ranks(logits.cpu(), found.labels), 1));
    }
    return metrics;
  }

 private:
  int64_t every_;
  EvaluationInput input_;
  Progress& progress_;
};

}  // namespace

std::shared_ptr<TrainObserver> make_online_accuracy(const Recipe& recipe, std::shared_ptr<const Dataset> train, Progress& progress) {
  const auto& protocols = recipe.evaluate.protocols();
  const bool groups = std::find(protocols.begin(), protocols.end(), "groups") != protocols.end();
  if (!recipe.classifier || recipe.test_data.is_null() || groups) return nullptr;
  const int64_t classes = count_classes(*train, "classifier");
  EvaluationInput input = evaluation_input(recipe, data_of(recipe), std::move(train));
  for (const auto& split : judged_splits(input)) require_labels(*split.dataset, classes, "classifier");
  return std::make_shared<OnlineAccuracy>(recipe.evaluate.every(), std::move(input), progress);
}

}  // namespace debias

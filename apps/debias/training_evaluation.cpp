#include "apps/debias/training_evaluation.h"

#include "apps/debias/judged_run.h"
#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/evaluate/protocol.h"

namespace debias {
namespace {

class TrainingEvaluation : public TrainObserver {
 public:
  TrainingEvaluation(const Recipe& recipe, EvaluationInput input, Progress& progress)
      : recipe_(recipe), input_(std::move(input)), progress_(progress) {
    for (const auto& [name, section] : recipe.protocol_options.entries()) {
      options_.set(find_entry(protocol_registry(), name, "protocol").name, section);
    }
  }

  std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) override {
    if (end.epoch % recipe_.evaluate.every() != 0 && end.epoch != end.epochs) return {};
    input_.encoder = end.model.encoder;
    if (const auto classifier = end.model.classifier) {
      input_.classifier = [classifier](const at::Tensor& features) { return classifier->logits(features.unsqueeze(1)).detach().cpu(); };
    }
    EvaluationCache cache(input_, progress_, options_);
    NamedMetrics metrics;
    for (const auto& name : recipe_.evaluate.protocols()) {
      const std::string& protocol = find_entry(protocol_registry(), name, "protocol").name;
      append_metrics(protocol, cache.judge(protocol), metrics);
    }
    return metrics;
  }

 private:
  Recipe recipe_;
  EvaluationInput input_;
  Config options_ = Config::map();  // by the protocols' registered names
  Progress& progress_;
};

void check_protocol_options(const Recipe& recipe) {
  for (const auto& name : recipe.evaluate.protocols()) find_entry(protocol_registry(), name, "protocol");
  for (const auto& [name, section] : recipe.protocol_options.entries()) {
    const auto& entry = find_entry(protocol_registry(), name, "protocol", section.prefix());
    std::vector<std::string> known;
    for (const auto& spec : entry.options) known.push_back(spec.name);
    for (const auto& [key, value] : section.entries()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        throw usage_error("{}evaluate: {}: unknown option '{}'{}", value.prefix(), name, key, suggestion(key, known));
      }
    }
    entry.check(section);
  }
}

}  // namespace

std::shared_ptr<TrainObserver> make_training_evaluation(const Recipe& recipe, const Config& resolved, std::shared_ptr<const Dataset> train,
                                                        Progress& progress) {
  check_protocol_options(recipe);
  if (recipe.evaluate.protocols().empty()) {
    if (!recipe.evaluate.select().empty())
      throw usage_error("evaluate: select '{}' needs protocols; add protocols: [knn]", recipe.evaluate.select());
    return nullptr;
  }
  if (recipe.test_data.is_null()) throw usage_error("evaluate: protocols need data.test; add it, or leave evaluate out");
  if (!recipe.evaluate.select().empty() && recipe.valid_data.is_null()) {
    throw usage_error("evaluate: select '{}' needs data.valid; add it", recipe.evaluate.select());
  }
  EvaluationInput input = evaluation_input(recipe, data_of(recipe), std::move(train));
  input.training_temperature = training_temperature(resolved);
  return std::make_shared<TrainingEvaluation>(recipe, std::move(input), progress);
}

}  // namespace debias

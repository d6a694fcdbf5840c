#include "debias/runs/training_evaluation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "debias/core/error.h"
#include "debias/data/name_table.h"
#include "debias/data/readers/sentences.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/first_images.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/report/metric_title.h"
#include "debias/runs/evaluated_data.h"
#include "debias/runs/protocol_evaluation.h"
#include "debias/runs/sentence_evaluation.h"

namespace debias {
namespace {

class TrainingEvaluation final : public ProtocolEvaluation {
 public:
  using ProtocolEvaluation::ProtocolEvaluation;

  void before_training(const Model& model) override {
    std::vector<EvaluatedSplit> splits = evaluated_splits(input_);
    if (!protocols_.empty()) splits.insert(splits.begin(), {"train", input_.train});
    for (const auto& [name, dataset] : splits) {
      try {
        const ExtractOptions options = ExtractOptions().on_error(name == "train" ? input_.on_error : OnError::kStop);
        try_images(*model.encoder, dataset, eval_views(input_.train_views, input_.train->info()), options);
      } catch (const Error& error) {
        throw Error(error.kind(), fmt::format("data.{} cannot be evaluated with the current views.eval: {}", name, error.what()));
      }
    }
  }

 protected:
  void take(const Model& model) override {
    ProtocolEvaluation::take(model);
    if (model.classifier == nullptr) return;
    input_.classifier = [classifier = model.classifier](const at::Tensor& features) {
      const at::NoGradGuard no_grad;
      return classifier->logits(features.unsqueeze(1)).cpu();
    };
  }

  // The classifier's own figures, and where bias labels are known those of the aligned and of the conflicting images.
  void add_metrics(EvaluationCache& cache, NamedMetrics& metrics) const override {
    const bool has_groups = std::find(protocols_.begin(), protocols_.end(), "groups") != protocols_.end();
    if (!input_.classifier || has_groups) return;
    const std::vector<EvaluatedSplit> splits = evaluated_splits(input_);
    std::map<std::string, double> found;
    for (size_t i = 0; i < splits.size(); ++i) {
      const Features& features = cache.split(splits[i].name);
      const std::vector<int64_t> ranks = label_ranks(input_.classifier(features.values), features.labels);
      found[splits[i].name + ".acc1"] = accuracy_within(ranks, 1);
      const AlignmentMap& aligned = cache.alignment().evaluated[i];
      if (!aligned.empty()) add_side_accuracy(splits[i].name, ranks, features.labels, features.biases, aligned, found);
    }
    metrics.insert(metrics.end(), found.begin(), found.end());
  }
};

bool measures(const ProtocolEntry& protocol, const std::string& metric) {
  return std::ranges::any_of(protocol.metrics, [&](const Metric& known) { return describes(known, split_of(metric).name); });
}

// The recipe's protocols by their registered names, without those whose labels or bias labels the data lack: `evaluate.on_error: continue`
// leaves these out and says so before training, `stop` rejects them.
std::vector<std::string> possible_protocols(const Recipe& recipe, const EvaluationInput& input, Log& log) {
  std::vector<std::string> possible;
  for (const auto& name : recipe.evaluate.protocols()) {
    const ChosenProtocol protocol = recipe.protocol_options.of(name);
    try {
      protocol.entry->check_data(input, protocol.options);
      possible.push_back(protocol.entry->name);
    } catch (const Error& error) {
      if (recipe.evaluate.on_error() == EvaluationFailure::kStop || measures(*protocol.entry, recipe.evaluate.select())) throw;
      log.warn(fmt::format("evaluate: this run is not evaluated by {}", error.what()));
    }
  }
  return possible;
}

}  // namespace

std::shared_ptr<TrainObserver> make_training_evaluation(const Recipe& recipe, const Config& resolved, std::shared_ptr<const Dataset> train,
                                                        DataWatch& watch, Progress& progress, Log& log) {
  require_more_is_better(recipe.evaluate.select());
  const bool has_protocols = !recipe.evaluate.protocols().empty(), has_test = recipe.test_data.has_value();
  if (!has_protocols && !recipe.evaluate.select().empty()) {
    throw usage_error("evaluate: select '{}' needs protocols; add protocols: [knn]", recipe.evaluate.select());
  }
  if (has_protocols && !has_test) throw usage_error("evaluate: protocols need data.test; add it, or leave evaluate out");
  if (!recipe.evaluate.select().empty() && !recipe.evaluate.select().starts_with("valid.")) {
    throw usage_error("evaluate: select '{}' would choose by other images than held-out ones; write valid.{}", recipe.evaluate.select(),
                      split_of(recipe.evaluate.select()).name);
  }
  if (!recipe.evaluate.select().empty() && !recipe.valid_data) {
    throw usage_error("evaluate: select '{}' needs data.valid; add it", recipe.evaluate.select());
  }
  if (!has_protocols && !(recipe.classifier && has_test)) return nullptr;
  const NameTable names = name_table(*train);
  EvaluationInput input = evaluation_input(recipe, data_of(recipe), names, watch, log, std::move(train));
  if (recipe.classifier) {
    const int64_t classes = count_classes(*input.train, "classifier");
    for (const auto& split : evaluated_splits(input)) require_labels(*split.dataset, classes, "classifier");
  }
  std::vector<std::string> protocols = possible_protocols(recipe, input, log);
  if (protocols.empty() && !recipe.classifier) return nullptr;
  if (has_protocols) EvaluationCache(input, progress, recipe.protocol_options).alignment();  // rejects names that training does not have
  input.training_temperature = training_temperature(resolved);
  return std::make_shared<TrainingEvaluation>(recipe, std::move(protocols), data_of(read_recipe(resolved)), std::move(input), progress,
                                              log);
}

std::shared_ptr<TrainObserver> make_evaluation(const Recipe& recipe, const Config& resolved,
                                               const std::shared_ptr<const SampleTable>& train, DataWatch& watch, Progress& progress,
                                               Log& log) {
  if (const auto sentences = sentences_of(train)) {
    return make_sentence_evaluation(recipe, resolved, *sentences, watch, progress, log);
  }
  return make_training_evaluation(recipe, resolved, images_of(train), watch, progress, log);
}

}  // namespace debias

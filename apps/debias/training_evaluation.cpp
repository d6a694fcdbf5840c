#include "apps/debias/training_evaluation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>

#include "apps/debias/evaluation_files.h"
#include "apps/debias/judged_run.h"
#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/data/name_table.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/first_images.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/report/metric_title.h"

namespace debias {
namespace {

std::vector<std::string> registered(const std::vector<std::string>& protocols) {
  std::vector<std::string> names;
  for (const auto& name : protocols) names.push_back(find_entry(protocol_registry(), name, "protocol").name);
  return names;
}

class TrainingEvaluation : public TrainObserver {
 public:
  TrainingEvaluation(const Recipe& recipe, JudgedData data, EvaluationInput input, Progress& progress, Log& log)
      : recipe_(recipe),
        data_(std::move(data)),
        protocols_(registered(recipe.evaluate.protocols())),
        options_(protocol_options(recipe)),
        files_(recipe.output, ""),
        input_(std::move(input)),
        progress_(progress),
        log_(log) {}

  void before_training(const Model& model) override {
    std::vector<JudgedSplit> splits = judged_splits(input_);
    if (!protocols_.empty()) splits.insert(splits.begin(), {"train", input_.train});
    for (const auto& [name, dataset] : splits) {
      try {
        const ExtractOptions options = ExtractOptions().on_error(name == "train" ? input_.on_error : OnError::kStop);
        try_images(*model.encoder, dataset, eval_views(input_.train_views, input_.train->info()), options);
      } catch (const Error& error) {
        throw Error(error.kind(), fmt::format("data.{} cannot be judged with views.eval as it is: {}", name, error.what()));
      }
    }
  }

  bool is_due(int64_t epoch, int64_t epochs) const override { return epoch % recipe_.evaluate.every() == 0 || epoch == epochs; }

  std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) override {
    input_.encoder = end.model.encoder;
    if (const auto classifier = end.model.classifier) {
      input_.classifier = [classifier](const at::Tensor& features) {
        const at::NoGradGuard no_grad;
        return classifier->logits(features.unsqueeze(1)).cpu();
      };
    }
    EvaluationCache cache(input_, progress_, options_);
    NamedMetrics metrics;
    for (const auto& protocol : protocols_) {
      const EvaluationResult& result = cache.judge(protocol);
      append_metrics(protocol, result, metrics);
      keep(protocol, result, end);
    }
    const bool has_groups = std::find(protocols_.begin(), protocols_.end(), "groups") != protocols_.end();
    if (input_.classifier && !has_groups) append_accuracy(cache, metrics);
    return metrics;
  }

 private:
  void keep(const std::string& protocol, const EvaluationResult& result, const EpochEnd& end) {
    const EvaluationRecord record = with_judged(result.record, "last.safetensors", end.epoch, data_);
    files_.write_history(protocol, record, end.epoch);
    files_.write(protocol, result, record, end.epoch == end.epochs ? Thumbnails::kReplace : Thumbnails::kKeep);
    for (const auto& note : result.notes) {
      if (said_.insert(note).second) log_.warn(note);
    }
  }

  // The classifier's own figures, and where bias values are known those of the aligned and of the conflicting images.
  void append_accuracy(EvaluationCache& cache, NamedMetrics& metrics) const {
    const std::vector<JudgedSplit> splits = judged_splits(input_);
    std::map<std::string, double> found;
    for (size_t i = 0; i < splits.size(); ++i) {
      const Features& features = cache.split(splits[i].name);
      const std::vector<int64_t> ranks = label_ranks(input_.classifier(features.values), features.labels);
      found[splits[i].name + ".acc1"] = accuracy_within(ranks, 1);
      const AlignmentMap& aligned = cache.alignment().judged[i];
      if (!aligned.empty()) add_side_accuracy(splits[i].name, ranks, features.labels, features.biases, aligned, found);
    }
    metrics.insert(metrics.end(), found.begin(), found.end());
  }

  Recipe recipe_;
  JudgedData data_;
  std::vector<std::string> protocols_;
  Config options_;  // by the protocols' registered names
  EvaluationFiles files_;
  EvaluationInput input_;
  Progress& progress_;
  Log& log_;
  std::set<std::string> said_;  // notes
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

// `select` keeps the epoch with the largest value.
void require_more_is_better(const std::string& select) {
  const std::vector<Metric> known = protocol_metrics();
  const auto found = std::ranges::find(known, split_of(select).name, &Metric::name);
  if (found == known.end() || found->better == Better::kHigher) return;
  throw usage_error(
      "evaluate: select '{}': {}, and the epoch with the largest would be kept; select an accuracy such as valid.worst_group_acc", select,
      found->better == Better::kLower ? "less of it is better" : "neither more nor less of it is better");
}

}  // namespace

std::shared_ptr<TrainObserver> make_training_evaluation(const Recipe& recipe, const Config& resolved, std::shared_ptr<const Dataset> train,
                                                        DataWatch& watch, Progress& progress, Log& log) {
  check_protocol_options(recipe);
  require_more_is_better(recipe.evaluate.select());
  const bool has_protocols = !recipe.evaluate.protocols().empty(), has_test = !recipe.test_data.is_null();
  if (!has_protocols && !recipe.evaluate.select().empty()) {
    throw usage_error("evaluate: select '{}' needs protocols; add protocols: [knn]", recipe.evaluate.select());
  }
  if (has_protocols && !has_test) throw usage_error("evaluate: protocols need data.test; add it, or leave evaluate out");
  if (!recipe.evaluate.select().empty() && !recipe.evaluate.select().starts_with("valid.")) {
    throw usage_error("evaluate: select '{}' would choose by other images than held-out ones; write valid.{}", recipe.evaluate.select(),
                      split_of(recipe.evaluate.select()).name);
  }
  if (!recipe.evaluate.select().empty() && recipe.valid_data.is_null()) {
    throw usage_error("evaluate: select '{}' needs data.valid; add it", recipe.evaluate.select());
  }
  if (!has_protocols && !(recipe.classifier && has_test)) return nullptr;
  const NameTable names = name_table(*train);
  EvaluationInput input = evaluation_input(recipe, data_of(recipe), names, watch, log, std::move(train));
  if (recipe.classifier) {
    const int64_t classes = count_classes(*input.train, "classifier");
    for (const auto& split : judged_splits(input)) require_labels(*split.dataset, classes, "classifier");
  }
  if (has_protocols) EvaluationCache(input, progress, protocol_options(recipe)).alignment();  // refuses names that training does not have
  input.training_temperature = training_temperature(resolved);
  return std::make_shared<TrainingEvaluation>(recipe, data_of(read_recipe(resolved)), std::move(input), progress, log);
}

}  // namespace debias

#include "debias/runs/training_setup.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

#include "debias/core/error.h"
#include "debias/data/name_table.h"
#include "debias/data/readers/sentences.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/features.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/evaluate/protocols/chosen_images.h"
#include "debias/evaluate/protocols/macro_auc.h"
#include "debias/report/metric_title.h"
#include "debias/runs/prior_estimates.h"
#include "debias/runs/protocol_evaluation.h"
#include "debias/runs/sentence_evaluation.h"

namespace debias {
namespace {

// Rank 0's: the other ranks have nothing to evaluate, and receive its error.
void add_observers(TrainInput& input, const Config& resolved, DataWatch& watch) {
  const auto take = [&input](const std::shared_ptr<TrainObserver>& observer) {
    if (observer != nullptr) input.observers.push_back(observer);
  };
  take(make_evaluation(input.recipe, resolved, input.dataset, watch, *input.progress, *input.log));
  const auto images = images_of(input.dataset);
  if (images != nullptr) take(make_option_estimates(input.recipe, images, *input.progress, *input.log));
}

}  // namespace

TrainingSetup set_up_training(TrainInput input) {
  DataWatch watch(input.recipe.verify, *input.progress, *input.log);
  SettledData settled;
  settle_pixels(input.recipe, settled);
  input.dataset = watch.open_samples("train", input.recipe.train_data);
  if (input.dataset->images() != nullptr) input.recipe.view_steps = with_eval_views(input.recipe.view_steps, input.dataset->info());
  keep_vocabulary(input);
  const Config resolved = resolve_recipe(input.recipe, *input.dataset);
  if (input.ranks->leads()) add_observers(input, resolved, watch);
  input.data = watch.record();
  input.data_roots = roots_of(data_of(input.recipe));
  return {std::move(input), resolved};
}

namespace {

class TrainingEvaluation final : public ProtocolEvaluation {
 public:
  using ProtocolEvaluation::ProtocolEvaluation;

  void before_training(const Model& model) override {
    std::vector<EvaluatedSplit> splits = evaluated_splits(input_);
    if (!protocols_.empty()) splits.insert(splits.begin(), {"train", input_.train});
    for (const auto& [name, dataset] : splits) {
      try {
        const ExtractOptions options = ExtractOptions{.on_error = name == "train" ? input_.on_error : OnError::kStop};
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
  for (const auto& name : recipe.evaluate.protocols) {
    const ChosenProtocol protocol = recipe.protocol_options.of(name);
    try {
      protocol.entry->check_data(input, protocol.options);
      possible.push_back(protocol.entry->name);
    } catch (const Error& error) {
      if (recipe.evaluate.on_error == EvaluationFailure::kStop || measures(*protocol.entry, recipe.evaluate.select)) throw;
      log.warn(fmt::format("evaluate: this run is not evaluated by {}", error.what()));
    }
  }
  return possible;
}

}  // namespace

std::shared_ptr<TrainObserver> make_training_evaluation(const Recipe& recipe, const Config& resolved, std::shared_ptr<const Dataset> train,
                                                        DataWatch& watch, Progress& progress, Log& log) {
  require_more_is_better(recipe.evaluate.select);
  const bool has_protocols = !recipe.evaluate.protocols.empty(), has_test = recipe.test_data.has_value();
  if (!has_protocols && !recipe.evaluate.select.empty()) {
    throw usage_error("evaluate: select '{}' needs protocols; add protocols: [knn]", recipe.evaluate.select);
  }
  if (has_protocols && !has_test) throw usage_error("evaluate: protocols need data.test; add it, or leave evaluate out");
  if (!recipe.evaluate.select.empty() && !recipe.evaluate.select.starts_with("valid.")) {
    throw usage_error("evaluate: select '{}' would choose by other images than held-out ones; write valid.{}", recipe.evaluate.select,
                      split_of(recipe.evaluate.select).name);
  }
  if (!recipe.evaluate.select.empty() && !recipe.valid_data) {
    throw usage_error("evaluate: select '{}' needs data.valid; add it", recipe.evaluate.select);
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

namespace {

using MetricValue = std::pair<std::string, double>;

MetricValue measured_prior(const OptionSource& source, const EvaluationInput& input, const Recipe& recipe, Progress& progress) {
  if (const auto by_labels = prior_by_labels(*input.train, recipe)) return {source.metric(), by_labels->tau_plus};
  return {source.bound_metric(), prior_by_views(input, kPriorImages, progress).tau_plus};
}

MacroAucOptions macro_auc_options(const Recipe& recipe) { return recipe.protocol_options.of("macro_auc").as<MacroAucOptions>(); }

double macro_auc_now(const EvaluationInput& input, const Recipe& recipe, Progress& progress) {
  EvaluationCache cache(input, progress);
  return training_macro_auc(cache.train(), macro_auc_options(recipe), input.seed).value;
}

// The same with each image for a class of its own: first views are anchors, second views the gallery.
double view_auc_now(const EvaluationInput& input, const Recipe& recipe, Progress& progress) {
  const MacroAucOptions options = macro_auc_options(recipe);
  const uint64_t seed = options.seed ? static_cast<uint64_t>(*options.seed) : input.seed;
  const std::vector<int64_t> images = chosen_images(input.train->size(), kPriorImages, seed);
  const at::Tensor views = view_pair_features(input, input.train, "train", images, seed, progress);
  const int64_t anchors = std::min<int64_t>(options.anchors, views.size(0));
  std::vector<int64_t> own(images.size());
  std::iota(own.begin(), own.end(), 0);
  const AucAnchors first = {views.select(1, 0).narrow(0, 0, anchors),
                            {own.begin(), own.begin() + anchors},
                            std::vector<int64_t>(static_cast<size_t>(anchors), kUnknown)};
  return macro_auc(views.select(1, 1), own, first).value;
}

MetricValue measured(const OptionSource& source, const EvaluationInput& input, const Recipe& recipe, Progress& progress) {
  switch (source.measure) {
    case SourceMeasure::kPrior:
      return measured_prior(source, input, recipe, progress);
    case SourceMeasure::kMarks:  // read with the recipe, never due
      break;
    case SourceMeasure::kMacroAuc:
      return {source.metric(), macro_auc_now(input, recipe, progress)};
    case SourceMeasure::kViewAuc:
      return {source.metric(), view_auc_now(input, recipe, progress)};
  }
  throw std::logic_error("measured: an unknown source");
}

class OptionEstimates : public TrainObserver {
 public:
  OptionEstimates(const Recipe& recipe, EvaluationInput input, Progress& progress, Log& log)
      : recipe_(recipe), input_(std::move(input)), progress_(progress), log_(log) {}

  bool feeds_training() const override { return true; }

  bool is_due(int64_t epoch, int64_t) const override {
    return std::any_of(option_source_registry().begin(), option_source_registry().end(),
                       [&](const OptionSource& source) { return is_due(source, epoch); });
  }

  std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) override {
    input_.encoder = end.model.encoder;
    std::vector<std::pair<std::string, double>> metrics;
    for (const auto& source : option_source_registry()) {
      if (!is_due(source, end.epoch)) continue;
      try {
        metrics.push_back(measured(source, input_, recipe_, progress_));
      } catch (const Error& error) {
        log_.warn(fmt::format("estimate of '{}' after epoch {}: {}", source.name, end.epoch, error.what()));
      }
    }
    return metrics;
  }

 private:
  bool is_due(const OptionSource& source, int64_t epoch) const {
    return std::any_of(recipe_.objective.begin(), recipe_.objective.end(), [&](const TermRecipe& term) {
      return std::any_of(term.sources.begin(), term.sources.end(),
                         [&](const SourcedOption& sourced) { return sourced.source == &source && sourced.due_after(epoch); });
    });
  }

  Recipe recipe_;
  EvaluationInput input_;
  Progress& progress_;
  Log& log_;
};

}  // namespace

std::shared_ptr<TrainObserver> make_option_estimates(const Recipe& recipe, std::shared_ptr<const Dataset> train, Progress& progress,
                                                     Log& log) {
  bool any = false;
  for (const auto& term : recipe.objective) {
    for (const auto& sourced : term.sources) {
      any |= !sourced.marks;
      if (sourced.source->measure == SourceMeasure::kMacroAuc)
        count_classes(*train, fmt::format("objective '{}': alpha: from: macro_auc", term.entry->name));
    }
  }
  if (!any) return nullptr;
  const NameTable names = name_table(*train);
  DataWatch watch(recipe.verify, progress, log);
  return std::make_shared<OptionEstimates>(recipe, evaluation_input(recipe, {recipe.train_data}, names, watch, log, std::move(train)),
                                           progress, log);
}

}  // namespace debias

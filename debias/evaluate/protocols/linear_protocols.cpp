#include <ATen/ATen.h>

#include <cmath>
#include <memory>

#include "debias/core/error.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/encoder_guard.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/protocols/linear_probe.h"
#include "debias/optim/sgd.h"

namespace debias {
namespace {

struct Accuracy {
  double top1 = 0, top5 = 0;
};

Accuracy evaluate(const SoftmaxRegression& model, const Features& features) {
  const auto ranks = label_ranks(model.logits(features.values), features.labels);
  return {accuracy_within(ranks, 1), accuracy_within(ranks, 5)};
}

void report(const std::string& prefix, const Accuracy& accuracy, std::map<std::string, double>& metrics) {
  metrics[prefix + "_acc1"] = accuracy.top1;
  metrics[prefix + "_acc5"] = accuracy.top5;
}

int64_t check_data(const EvaluationInput& input, const std::string& name) {
  if (input.leaves_one_out) throw usage_error("{}: the table has training rows alone; add valid or test rows (column split)", name);
  const int64_t classes = count_classes(*input.train, name);
  for (const auto& evaluated : evaluated_splits(input)) require_labels(*evaluated.dataset, classes, name);
  return classes;
}

ViewPipeline pipeline(const EvaluationInput& input, ProbeViews views) {
  switch (views) {
    case ProbeViews::kTrain:
      return input.train_views.make(input.train->info().mean, input.train->info().std);
    case ProbeViews::kCropFlip:
      return crop_flip_views(input.train_views, input.train->info());
    case ProbeViews::kEval:
      break;
  }
  return eval_views(input.train_views, input.train->info());
}

ProbeBatches encoded(const EvaluationInput& input, const LinearProbeOptions& options, uint64_t seed) {
  return encoded_batches(*input.encoder, input.train, pipeline(input, options.views()), options.batch_size, input.workers, input.precision,
                         seed, input.on_error);
}

// After 60, 75 and 90 % of the epochs; of very few epochs, milestones that coincide or come before the first one's end are one.
std::vector<int64_t> default_milestones(int64_t epochs) {
  std::vector<int64_t> milestones;
  for (const double share : {0.6, 0.75, 0.9}) {
    const int64_t milestone = std::llround(share * static_cast<double>(epochs));
    if (milestone > (milestones.empty() ? 0 : milestones.back())) milestones.push_back(milestone);
  }
  return milestones;
}

// A feature table has one vector a row and no encoder.
void use_stored_features(const EvaluationInput& input, const std::string& name, LinearProbeOptions& options) {
  if (input.encoder != nullptr) return;
  if (options.given_views.value_or(ProbeViews::kEval) != ProbeViews::kEval) {
    throw usage_error("{}: views: {} needs images, and a feature table has none; leave it out", name, enum_name(*options.given_views));
  }
  options.given_views = ProbeViews::kEval;
}

// In the mode asked for until the end of the scope; nothing without an encoder.
std::unique_ptr<EncoderGuard> guarded(const EvaluationInput& input, bool training) {
  if (input.encoder == nullptr) return nullptr;
  auto guard = std::make_unique<EncoderGuard>(*input.encoder);
  input.encoder->train(training);
  return guard;
}

}  // namespace

std::vector<Metric> linear_dcl_metrics() {
  return {{"linear_acc1", "linear probe accuracy", Unit::kShare, Better::kHigher, Standing::kProtocol},
          {"linear_acc5", "linear probe accuracy, top 5", Unit::kShare, Better::kHigher, Standing::kDetail}};
}

EvaluationResult run_linear_dcl(const EvaluationInput& input, EvaluationCache& features, const LinearDclOptions& given,
                                Progress& progress) {
  const std::string name = "linear_dcl";
  LinearDclOptions options = given;
  const int64_t classes = check_data(input, name);
  options.seed = options.seed.value_or(static_cast<int64_t>(input.seed));
  const auto seed = static_cast<uint64_t>(*options.seed);

  use_stored_features(input, name, options);
  const bool alters = options.bn == ProbeBatchNorm::kTrain;
  if (alters && input.encoder == nullptr) throw usage_error("{}: bn: train needs an encoder, and a feature table has none", name);
  const auto guard = guarded(input, alters);
  // Features of a batch normalised by itself depend on the batch: they cannot be stored.
  const bool stored = options.views() == ProbeViews::kEval && !alters;
  const ProbeBatches batches = stored ? stored_batches(features.train(), options.batch_size, seed) : encoded(input, options, seed);
  const int64_t dimensions = input.encoder == nullptr ? features.train().values.size(1) : input.encoder->feature_dim();
  SoftmaxRegression model(dimensions, classes, seed);
  const double loss = train_probe(
      model, batches, {name, adam_optimizer(options.learning_rate, options.weight_decay), read_schedule(Config()), options.epochs}, nullptr,
      progress);

  EvaluationCache altered(input, progress);  // with the averages that the probe left behind
  EvaluationResult result;
  for (const auto& evaluated : evaluated_splits(input)) {
    const Features& evaluated_features = (alters ? altered : features).split(evaluated.name);
    report(evaluated.name + ".linear", evaluate(model, evaluated_features), result.metrics);
    result.predictions[evaluated.name] = predicted_classes(model.logits(evaluated_features.values));
  }
  result.record = describe(name, input, result.metrics, config_of(options), classes);
  describe_predictions("linear", input, classes, result);
  result.record.trained_probe = TrainedProbe{.loss = loss};
  return result;
}

std::vector<Metric> linear_features_metrics() {
  return {{"linear_features_acc1", "linear probe accuracy, stored features", Unit::kShare, Better::kHigher, Standing::kProtocol},
          {"linear_features_acc5", "linear probe accuracy, top 5, stored features", Unit::kShare, Better::kHigher, Standing::kDetail}};
}

EvaluationResult run_linear_features(const EvaluationInput& input, EvaluationCache& cache, const LinearFeaturesOptions& given,
                                     Progress& progress) {
  const std::string name = "linear_features";
  LinearFeaturesOptions options = given;
  const int64_t classes = check_data(input, name);
  options.seed = options.seed.value_or(static_cast<int64_t>(input.seed));
  const auto seed = static_cast<uint64_t>(*options.seed);
  const auto as_evaluated = [&](const std::string& split) {
    Features features = cache.split(split);
    if (options.normalize) features.values = unit_rows(features.values, name);
    return features;
  };
  const Features train = as_evaluated("train");
  SoftmaxRegression model(train.values.size(1), classes, seed);
  int64_t epochs = 0;
  const double loss = train_probe(
      model, stored_batches(train, options.batch_size, seed, LastBatch::kDrop),
      {name, adam_optimizer(options.learning_rate, options.weight_decay), read_schedule(Config()), options.epochs, options.patience},
      [&](int64_t epoch) { epochs = epoch; }, progress);
  EvaluationResult result;
  for (const auto& evaluated : evaluated_splits(input)) {
    const Features features = as_evaluated(evaluated.name);
    report(evaluated.name + ".linear_features", evaluate(model, features), result.metrics);
    result.predictions[evaluated.name] = predicted_classes(model.logits(features.values));
  }
  result.record = describe(name, input, result.metrics, config_of(options), classes);
  describe_predictions("linear", input, classes, result);
  result.record.trained_probe = TrainedProbe{.loss = loss, .epochs = epochs};
  return result;
}

std::vector<Metric> linear_supcon_metrics() {
  std::vector<Metric> metrics = linear_dcl_metrics();
  metrics.push_back({"linear_last_acc1", "linear probe accuracy, last epoch", Unit::kShare, Better::kHigher, Standing::kProtocol});
  metrics.push_back({"linear_last_acc5", "linear probe accuracy, top 5, last epoch", Unit::kShare, Better::kHigher, Standing::kDetail});
  for (size_t i = 0; i < 2; ++i) metrics[2 + i].last_of = metrics[i].name;
  return metrics;
}

EvaluationResult run_linear_supcon(const EvaluationInput& input, EvaluationCache& features, const LinearSupconOptions& given,
                                   Progress& progress) {
  const std::string name = "linear_supcon";
  LinearSupconOptions options = given;
  const int64_t classes = check_data(input, name);
  options.seed = options.seed.value_or(static_cast<int64_t>(input.seed));
  const auto seed = static_cast<uint64_t>(*options.seed);

  use_stored_features(input, name, options);
  const auto guard = guarded(input, false);
  const auto splits = evaluated_splits(input);
  for (const auto& evaluated : splits) features.split(evaluated.name);
  const ProbeBatches batches =
      options.views() == ProbeViews::kEval ? stored_batches(features.train(), options.batch_size, seed) : encoded(input, options, seed);
  SoftmaxRegression model(features.split(splits.front().name).values.size(1), classes, seed);
  const auto sgd =
      MomentumOptions{.learning_rate = options.learning_rate, .momentum = options.momentum, .weight_decay = options.weight_decay};
  const auto milestones = options.milestones ? *options.milestones : default_milestones(options.epochs);

  EvaluationResult result;
  std::map<std::string, Accuracy> best, last;
  int64_t best_epoch = 0;
  const std::string selector = splits.front().name;  // valid where there is one
  const auto after_epoch = [&](int64_t epoch) {
    for (const auto& evaluated : splits) last[evaluated.name] = evaluate(model, features.split(evaluated.name));
    if (epoch > 1 && last[selector].top1 <= best[selector].top1) return;
    best = last;
    best_epoch = epoch;
    for (const auto& evaluated : splits) {
      result.predictions[evaluated.name] = predicted_classes(model.logits(features.split(evaluated.name).values));
    }
  };
  const double loss = train_probe(model, batches, {name, sgd_optimizer(sgd), multistep_schedule(milestones, options.gamma), options.epochs},
                                  after_epoch, progress);

  for (const auto& evaluated : splits) {
    report(evaluated.name + ".linear", best[evaluated.name], result.metrics);
    report(evaluated.name + ".linear_last", last[evaluated.name], result.metrics);
  }
  result.record = describe(name, input, result.metrics, config_of(options), classes);
  describe_predictions("linear", input, classes, result);
  result.record.trained_probe = TrainedProbe{.loss = loss, .best_epoch = best_epoch, .selected_on = selector};
  return result;
}

}  // namespace debias

#include "debias/evaluate/protocols/linear_probe.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/features.h"
#include "debias/loader/loader.h"
#include "debias/optim/optimizer.h"
#include "debias/optim/schedule.h"
#include "debias/optim/sgd.h"

namespace debias {
namespace {

at::Tensor uniform(at::IntArrayRef shape, double bound, Random& random) {
  at::Tensor values = at::empty(shape, at::kFloat);
  float* value = values.mutable_data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) value[i] = static_cast<float>(random.uniform(-bound, bound));
  return values;
}

}  // namespace

SoftmaxRegression::SoftmaxRegression(int64_t features, int64_t classes, uint64_t seed) {
  RngKey key = {.domain = RngDomain::kEvaluate, .seed = seed};
  Random random(key);
  const double bound = 1 / std::sqrt(static_cast<double>(features));
  weight_ = uniform({classes, features}, bound, random);
  bias_ = uniform({classes}, bound, random);
}

at::Tensor SoftmaxRegression::logits(const at::Tensor& x) const {
  const at::NoGradGuard no_grad;
  return at::addmm(bias_, x, weight_.t());
}

double SoftmaxRegression::set_gradients(const at::Tensor& x, const at::Tensor& y) {
  const at::NoGradGuard no_grad;
  const auto B = static_cast<double>(x.size(0));
  const at::Tensor log_p = at::log_softmax(logits(x), 1);
  const at::Tensor own = y.unsqueeze(1);
  const double loss = -log_p.gather(1, own).mean().item<double>();
  const at::Tensor residual = log_p.exp();
  residual.scatter_add_(1, own, at::full(own.sizes(), -1.0, residual.options()));
  residual.div_(B);
  weight_.mutable_grad() = at::mm(residual.t(), x);
  bias_.mutable_grad() = residual.sum(0);
  return loss;
}

namespace {

at::Tensor integers(const std::vector<int64_t>& values) { return at::tensor(values, at::kLong); }

std::vector<int64_t> labelled_indices(const Dataset& dataset) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    if (dataset.label(i) != kUnknown) indices.push_back(i);
  }
  return indices;
}

// A milestone after the last epoch decays nothing: a slip, or one of another number of epochs.
void require_milestones(const LinearSupconOptions& options, const std::string& what) {
  if (!options.milestones) return;
  const std::vector<int64_t>& milestones = *options.milestones;
  if (milestones.empty()) throw usage_error("{}: milestones: none is given; write e.g. milestones: [30, 40, 50], or auto", what);
  if (std::adjacent_find(milestones.begin(), milestones.end(), std::greater_equal<>()) != milestones.end()) {
    throw usage_error("{}: milestones: they do not increase; sort them", what);
  }
  if (milestones.back() >= options.epochs) {
    throw usage_error("{}: milestones: {} does not come before the last of {} epochs; lower it, or raise epochs", what, milestones.back(),
                      options.epochs);
  }
}

}  // namespace

[[gnu::noinline]] LinearSupconOptions::LinearSupconOptions() {
  batch_size = 256;
  learning_rate = 0.1;
  weight_decay = 0;
  usual_views = ProbeViews::kCropFlip;
}

void LinearSupconOptions::describe(OptionVisitor& o) {
  LinearProbeOptions::describe(o);
  o("momentum", momentum, Range::half_open(0, 1), "decay of the running sum of gradients");
  o("gamma", gamma, Range::open_closed(0, 1), "factor of the learning rate at each milestone");
  o("milestones", milestones, Range::closed(1, 100000), "epochs done before each decay, increasing; auto: 60, 75 and 90 % of the epochs");
  o.check([this](const std::string& what) { require_milestones(*this, what); });
}

ProbeBatches stored_batches(const Features& features, int64_t batch_size, uint64_t seed, LastBatch last) {
  std::vector<int64_t> rows;
  for (size_t i = 0; i < features.labels.size(); ++i) {
    if (features.labels[i] != kUnknown) rows.push_back(static_cast<int64_t>(i));
  }
  const at::Tensor labelled = integers(rows), labels = integers(features.labels);
  const ShuffledSampler sampler(static_cast<int64_t>(rows.size()));
  return [=, &features](int64_t epoch, const ProbeStep& step) {
    std::vector<int64_t> order;
    for (const Visit& visit : sampler.epoch(seed, static_cast<uint64_t>(epoch))) order.push_back(visit.index);
    const at::Tensor visited = labelled.index_select(0, integers(order));
    for (const at::Tensor& batch : visited.split(batch_size)) {
      if (last == LastBatch::kDrop && batch.size(0) < batch_size && visited.size(0) > batch_size) break;
      step(features.values.index_select(0, batch), labels.index_select(0, batch));
    }
  };
}

ProbeBatches encoded_batches(Encoder& encoder, std::shared_ptr<const Dataset> train, const ViewPipeline& views, int64_t batch_size,
                             int64_t workers, Precision precision, uint64_t seed, OnError on_error) {
  const auto labelled = std::make_shared<Subset>(train, labelled_indices(*train), train->info().split);
  const auto loader = std::make_shared<Loader>(
      labelled, views, std::make_shared<ShuffledSampler>(labelled->size()),
      LoaderOptions{
          .batch_size = batch_size, .workers = workers, .seed = seed, .on_error = on_error, .order = ViewTarget::Order::kChannelsLast});
  return [=, &encoder](int64_t epoch, const ProbeStep& step) {
    loader->start(epoch);
    while (const Batch* batch = loader->next()) {
      const at::Tensor x = pooled_features(encoder, batch->images().select(0, 0), precision);
      require_finite(x, batch->indices, *labelled, "linear probe");
      step(x, integers(batch->labels));
    }
  };
}

double train_probe(SoftmaxRegression& model, const ProbeBatches& batches, const ProbeTraining& training,
                   const std::function<void(int64_t epoch)>& after_epoch, Progress& progress) {
  const auto parameters = model.parameters();
  const auto optimizer =
      training.optimizer.make({{"weight", parameters[0], ParameterKind::kWeight}, {"bias", parameters[1], ParameterKind::kBias}});
  const auto schedule = training.schedule.make(training.optimizer.learning_rate, training.epochs);
  progress.begin(training.name, training.epochs);
  double mean_loss = 0, lowest = std::numeric_limits<double>::infinity();
  int64_t since_lowest = 0;
  for (int64_t epoch = 0; epoch < training.epochs; ++epoch) {
    set_learning_rate(*optimizer, schedule->learning_rate(epoch, 0, 1));
    double total = 0;
    int64_t samples = 0;
    batches(epoch, [&](const at::Tensor& x, const at::Tensor& y) {
      total += model.set_gradients(x, y) * static_cast<double>(x.size(0));
      samples += x.size(0);
      optimizer->step();
    });
    mean_loss = total / static_cast<double>(samples);
    if (!std::isfinite(mean_loss)) {
      throw numeric_error("{}: the loss of epoch {} is {}; lower learning_rate", training.name, epoch + 1, mean_loss);
    }
    if (after_epoch) after_epoch(epoch + 1);
    progress.advance(epoch + 1, fmt::format("loss {:.4f}", mean_loss));
    constexpr double kRounding = 1e-6;  // batches in another order give another last digit
    since_lowest = mean_loss < lowest * (1 - kRounding) ? 0 : since_lowest + 1;
    lowest = std::min(lowest, mean_loss);
    if (training.patience > 0 && since_lowest >= training.patience) break;
  }
  progress.end();
  return mean_loss;
}

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

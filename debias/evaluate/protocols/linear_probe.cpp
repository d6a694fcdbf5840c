#include "debias/evaluate/protocols/linear_probe.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "debias/data/subset.h"
#include "debias/loader/loader.h"
#include "debias/optim/optimizer.h"
#include "debias/optim/schedule.h"

namespace debias {
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

}  // namespace debias

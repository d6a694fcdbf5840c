#include "debias/evaluate/features.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <deque>

#include "debias/core/dtype.h"
#include "debias/core/error.h"
#include "debias/data/dataset.h"
#include "debias/encoders/folded_convolution.h"
#include "debias/encoders/state.h"
#include "debias/loader/loader.h"
#include "debias/runtime/device.h"

namespace debias {

at::Tensor unit_rows(const at::Tensor& rows, const std::vector<int64_t>& labels, const std::string& who) {
  if (rows.size(0) != static_cast<int64_t>(labels.size())) {
    throw data_error("{}: {} rows and {} labels; give one label per row", who, rows.size(0), labels.size());
  }
  return unit_rows(rows, who);
}

EncoderGuard::EncoderGuard(Encoder& encoder) : encoder_(encoder), training_(encoder.is_training()) {
  for (const auto& module : encoder.modules(/*include_self=*/false)) modes_.emplace_back(module, module->is_training());
  for (const auto& buffer : encoder.buffers()) buffers_.emplace_back(buffer, buffer.detach().clone());
}

EncoderGuard::~EncoderGuard() {
  const at::NoGradGuard no_grad;
  for (auto& [buffer, copy] : buffers_) buffer.copy_(copy);
  encoder_.train(training_);  // recursive, hence before the submodules' own
  // modules() lists parents before children, so the last word on each module is its own.
  for (auto& [module, training] : modes_) module->train(training);
}

namespace {

c10::Device device_of(const Encoder& encoder) {
  const auto parameters = encoder.parameters();
  return parameters.empty() ? c10::Device(c10::kCPU) : parameters.front().device();
}

// On the encoder's device, which the host does not wait for.
at::Tensor launched(Encoder& encoder, const at::Tensor& images, Precision precision) {
  const at::NoGradGuard no_grad;
  const c10::Device device = device_of(encoder);
  const Autocast autocast(device.type(), precision);
  const at::Tensor input = images.is_cpu() ? upload(images, device) : images;
  return encoder.forward(input.contiguous(at::MemoryFormat::ChannelsLast));
}

// Takes the rows of one batch after the other, by their indices.
class FeatureRows {
 public:
  FeatureRows(std::shared_ptr<const Dataset> dataset, int64_t columns, std::string what)
      : dataset_(std::move(dataset)), what_(std::move(what)) {
    features_.values = at::empty({dataset_->size(), columns}, at::kFloat);
  }

  void add(const Batch& batch, const at::Tensor& launched_rows) {
    at::Tensor rows = launched_rows.to(at::kCPU, at::kFloat).contiguous();
    require_finite(rows, batch.indices, *dataset_, what_);
    const int64_t done = std::ssize(features_.indices);
    std::vector<int64_t> read;
    for (size_t i = 0; i < batch.indices.size(); ++i) {
      if (batch.indices[i] != visited_++) continue;  // another image stands in for it
      read.push_back(static_cast<int64_t>(i));
      features_.labels.push_back(batch.labels[i]);
      features_.biases.push_back(batch.biases[i]);
      features_.indices.push_back(batch.indices[i]);
    }
    if (std::ssize(read) < rows.size(0)) rows = rows.index_select(0, at::tensor(read, at::kLong));
    features_.values.narrow(0, done, rows.size(0)).copy_(rows);
  }

  Features take() {
    features_.unreadable = dataset_->size() - std::ssize(features_.indices);
    features_.values = features_.values.narrow(0, 0, std::ssize(features_.indices));
    return std::move(features_);
  }

 private:
  std::shared_ptr<const Dataset> dataset_;
  std::string what_;
  Features features_;
  int64_t visited_ = 0;
};

}  // namespace

std::vector<std::string> unreadable_sources(const Features& features, const Dataset& dataset) {
  std::vector<std::string> sources;
  auto next = features.indices.begin();
  for (int64_t i = 0; i < dataset.size(); ++i) {
    if (next != features.indices.end() && *next == i) {
      ++next;
    } else {
      sources.push_back(dataset.source(i));
    }
  }
  return sources;
}

at::Tensor pooled_features(Encoder& encoder, const at::Tensor& images, Precision precision) {
  return launched(encoder, images, precision).to(at::kCPU, at::kFloat).contiguous();
}

EncoderCopies copies_beside(const Encoder& first, const std::function<std::shared_ptr<Encoder>()>& open) {
  const at::NoGradGuard no_grad;
  EncoderCopies copies;
  for (const c10::Device other : devices_beside(device_of(first))) {
    const std::shared_ptr<Encoder> copy = open();
    const auto source = named_state(first), target = named_state(*copy);
    for (size_t i = 0; i < source.size(); ++i) target[i].second.copy_(source[i].second);
    try {
      copy->to(other);
    } catch (const c10::Error&) {
      continue;
    }
    copy->eval();
    copies.push_back(copy);
  }
  return copies;
}

void require_finite(const at::Tensor& rows, const std::vector<int64_t>& indices, const Dataset& dataset, const std::string& who) {
  const at::Tensor finite = at::isfinite(rows).all(1).contiguous();
  const bool* row = finite.const_data_ptr<bool>();
  for (size_t i = 0; i < indices.size(); ++i) {
    if (row[i]) continue;
    throw numeric_error("{}: the feature of sample {} of {} ({}) is not finite; the encoder's weights are damaged or diverged", who,
                        indices[i], dataset.info().split, dataset.source(indices[i]));
  }
}

Features extract_features(Encoder& encoder, std::shared_ptr<const Dataset> dataset, const ViewPipeline& eval_views,
                          const ExtractOptions& options, Progress& progress, const EncoderCopies& copies) {
  const std::string what = fmt::format("features of {} {}", dataset->info().name, dataset->info().split);
  const int64_t N = dataset->size(), D = encoder.feature_dim();
  if (N == 0) throw data_error("{}: the data set is empty", what);
  if (!checked_multiply(N, D * static_cast<int64_t>(sizeof(float)))) throw resource_error("{}: {} rows of {} are too many", what, N, D);

  const EncoderGuard guard(encoder);
  encoder.eval();
  const Autocast autocast(device_of(encoder).type(), options.precision);  // weights are cast once
  const KeptWeights kept_weights;
  Loader loader(dataset, eval_views, std::make_shared<SequentialSampler>(N),
                LoaderOptions{.batch_size = options.batch_size,
                              .workers = options.workers,
                              .on_error = options.on_error,
                              .cache_megabytes = 0,
                              .order = ViewTarget::Order::kChannelsLast});
  FeatureRows rows(dataset, D, what);
  progress.begin(what, loader.batches_per_epoch());
  loader.start(0);
  // The rows of a batch are fetched once the pass of the next one of its device is launched, so that none waits for the host's reading.
  const size_t devices = 1 + copies.size();
  std::deque<std::pair<Batch, at::Tensor>> under_way;
  const auto fetch = [&] {
    rows.add(under_way.front().first, under_way.front().second);
    under_way.pop_front();
  };
  while (const Batch* batch = loader.next()) {
    const size_t turn = static_cast<size_t>(batch->number) % devices;
    Encoder& next = turn == 0 ? encoder : *copies[turn - 1];
    under_way.emplace_back(*batch, launched(next, batch->images().select(0, 0), options.precision));
    under_way.back().first.inputs.clear();  // the ring's own
    if (under_way.size() > devices) fetch();
    progress.advance(batch->number + 1, "");
  }
  while (!under_way.empty()) fetch();
  progress.end();
  return rows.take();
}

void try_images(Encoder& encoder, std::shared_ptr<const Dataset> dataset, const ViewPipeline& eval_views, const ExtractOptions& options) {
  constexpr int64_t kTried = 32, kEncoded = 2;
  const int64_t N = dataset->size(), count = std::min(N, kTried);
  if (N == 0) throw data_error("data set '{}' ({}) has no images", dataset->info().name, dataset->info().split);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i) places.push_back(count == 1 ? 0 : i * (N - 1) / (count - 1));
  const std::string split = dataset->info().split;
  Loader loader(std::make_shared<Subset>(std::move(dataset), std::move(places), split), eval_views,
                std::make_shared<SequentialSampler>(count),
                LoaderOptions{.batch_size = kTried,
                              .workers = 0,
                              .on_error = options.on_error,
                              .cache_megabytes = 0,
                              .order = ViewTarget::Order::kChannelsLast});
  loader.start(0);
  const Batch* batch = loader.next();
  const EncoderGuard guard(encoder);
  encoder.eval();
  pooled_features(encoder, batch->images().select(0, 0).narrow(0, 0, std::min(count, kEncoded)), options.precision);
}

}  // namespace debias

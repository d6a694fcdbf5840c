#include "debias/train/methods/moco.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/core/registry.h"
#include "debias/data/dataset.h"
#include "debias/encoders/heads.h"
#include "debias/encoders/state.h"
#include "debias/loader/batch_source.h"
#include "debias/losses/comparison.h"
#include "debias/runtime/device.h"
#include "debias/runtime/unit_rows.h"
#include "debias/train/methods/method.h"
#include "debias/train/named_tensor.h"

namespace debias {

KeyQueue::KeyQueue(int64_t size, int64_t dim, uint64_t seed, c10::Device device) {
  at::Tensor start = at::empty({size, dim}, at::kFloat);
  for (int64_t row = 0; row < size; ++row) {
    Random random(RngKey{.domain = RngDomain::kQueue, .seed = seed, .sample = static_cast<uint64_t>(row)});
    float* out = start.data_ptr<float>() + row * dim;
    for (int64_t i = 0; i < dim; ++i) out[i] = static_cast<float>(random.normal());
  }
  rows_ = unit_rows(start).to(device);
  samples_ = at::full({size}, -1, at::TensorOptions(at::kLong).device(device));
  labels_ = samples_.clone();
}

void KeyQueue::add(const at::Tensor& rows, const at::Tensor& samples, const at::Tensor& labels) {
  const int64_t end = next_ + rows.size(0);
  rows_.slice(0, next_, end).copy_(rows);
  samples_.slice(0, next_, end).copy_(samples);
  labels_.slice(0, next_, end).copy_(labels);
  next_ = end % rows_.size(0);
}

std::vector<std::pair<std::string, at::Tensor>> KeyQueue::state() const {
  return {
      {"queue.rows", rows_}, {"queue.samples", samples_}, {"queue.labels", labels_}, {"queue.next", at::scalar_tensor(next_, at::kLong)}};
}

void KeyQueue::load(const SafetensorsFile& file) {
  const at::Tensor next = named_tensor(file, "queue.next", at::scalar_tensor(0, at::kLong));
  const at::Tensor rows = named_tensor(file, "queue.rows", rows_), samples = named_tensor(file, "queue.samples", samples_),
                   labels = named_tensor(file, "queue.labels", labels_);
  const int64_t place = next.item<int64_t>();
  if (place < 0 || place >= rows_.size(0))
    throw data_error("'{}': queue.next is {}, the queue has {} rows; the file was altered", file.path(), place, rows_.size(0));
  next_ = place;
  rows_ = rows;
  samples_ = samples;
  labels_ = labels;
}

namespace {

void copy_all(const torch::nn::Module& from, const torch::nn::Module& to) {
  const at::NoGradGuard no_grad;
  const auto source = named_state(from), target = named_state(to);
  for (size_t i = 0; i < source.size(); ++i) target[i].second.copy_(source[i].second);
}

}  // namespace

MomentumCopy::MomentumCopy(const Model& of, const Recipe& recipe, int64_t channels) {
  Recipe afresh = recipe;  // weights would be read once more, only to be written over
  afresh.encoder = recipe.encoder.without_weights();
  copy_ = encoder_and_head(afresh, channels);
  copy_.to(of.encoder->parameters().front().device());
  copy_all(*of.encoder, *copy_.encoder);
  copy_all(*of.head, *copy_.head);
  for (const auto* module : networks()) {
    for (auto parameter : module->parameters()) parameter.set_requires_grad(false);
  }
  copy_.train(true);
}

void MomentumCopy::follow(const Model& model, double momentum) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> to = copy_.parameters();
  std::vector<at::Tensor> from = model.parameters();
  from.resize(to.size());  // without the predictor
  at::_foreach_mul_(to, momentum);
  at::_foreach_add_(to, from, 1 - momentum);
}

std::vector<std::pair<std::string, torch::Tensor>> MomentumCopy::state() const {
  auto all = named_state(*copy_.encoder, "momentum.encoder.");
  for (auto& entry : named_state(*copy_.head, "momentum.head.")) all.push_back(std::move(entry));
  return all;
}

void MomentumCopy::load(const SafetensorsFile& file) {
  load_state(*copy_.encoder, file, "momentum.encoder.");
  load_state(*copy_.head, file, "momentum.head.");
}

ShuffledGroups::ShuffledGroups(int64_t rows, int64_t groups, uint64_t seed, uint64_t step) {
  if (groups < 1 || rows < 1 || rows % groups != 0) throw std::logic_error("shuffled groups: their number divides the rows");
  RngKey key = {.domain = RngDomain::kShuffle, .seed = seed, .epoch = step};
  const at::Tensor order = at::tensor(permutation(rows, key), at::kLong);
  groups_ = order.split(rows / groups);
  place_ = order.argsort();
}

at::Tensor ShuffledGroups::in_order(const std::vector<at::Tensor>& of_groups) const {
  const at::Tensor all = at::cat(of_groups);
  return all.index_select(0, upload(place_, all.device()));
}

namespace {

constexpr int64_t kAboveIds = int64_t{1} << 40;

// Of the whole run; batches are whole.
int64_t steps_of(const Recipe& recipe, const SampleTable& dataset) {
  const int64_t visits = std::ssize(make_sampler(recipe, dataset)->epoch(recipe.seed, 0));
  return recipe.train.epochs * (visits / recipe.train.batch_size);
}

class Moco final : public Method {
 public:
  Moco(const Recipe& recipe, const SampleTable& dataset, const MocoOptions& options, MethodParts parts)
      : Method(std::move(parts)),
        options_(options),
        seed_(recipe.seed),
        copy_(model(), recipe, dataset.info().channels),
        steps_(steps_of(recipe, dataset)) {
    if (options_.shuffle_bn > 1 && !this->parts().ranks->is_alone()) {
      throw usage_error(
          "method 'moco': shuffle_bn {}: a group needs images of all {} processes, and each has its own alone; train with one process, "
          "or write method.shuffle_bn: 1",
          options_.shuffle_bn, this->parts().ranks->size());
    }
    if (*options_.queue > 0) {
      queue_ = std::make_unique<KeyQueue>(*options_.queue, model().head->output_dim(), recipe.seed, this->parts().forward.device);
    }
  }

  std::vector<std::pair<std::string, at::Tensor>> state() const override {
    auto all = copy_.state();
    if (queue_ == nullptr) return all;
    for (auto& entry : queue_->state()) all.push_back(std::move(entry));
    return all;
  }

  void load(const SafetensorsFile& file) override {
    copy_.load(file);
    if (queue_ != nullptr) queue_->load(file);
  }

 protected:
  std::vector<const torch::nn::Module*> networks() const override {
    auto all = Method::networks();
    for (const auto* module : copy_.networks()) all.push_back(module);
    return all;
  }

  std::vector<Encoder*> encoders() const override { return {model().encoder.get(), &copy_.encoder()}; }

  Evaluated differentiate(const Batch& batch, int64_t step) override {
    step_ = step;
    // Direction d asks with view d and has the other view's keys.
    const int64_t directions = *options_.symmetric ? 2 : 1;
    const ModelOutput output = of_all_ranks(forward(model(), batch.images().slice(0, 0, directions), parts().forward), batch);
    {
      const at::NoGradGuard no_grad;
      const at::Tensor others = directions == 2 ? batch.images().flip(0) : batch.images().slice(0, 1, 2);
      keys_ = unit_rows(of_all_ranks(projections_of_copy(others, step), batch));  // [B, directions, D]
    }
    const at::Tensor ids = on_device(keys_of_samples(batch)), labels = on_device(batch.labels);
    Evaluated evaluated = evaluate(output, batch, [&](const Term& term, const at::Tensor& logits) {
      ObjectiveInput input = input_of(term, batch, output, logits);
      if (term.kind() != InputKind::kPairs) return term.objective()(input);
      std::vector<ObjectiveResult> found;
      for (int64_t d = 0; d < directions; ++d) found.push_back(term.objective()(keyed(input, term, d, ids, labels)));
      return joined(found, 1.0 / static_cast<double>(directions));
    });
    count_false_negatives(ids, labels, directions, evaluated);
    backward(evaluated, output, {"keys", keys_});
    return evaluated;
  }

  void after_update(const Batch& batch) override {
    copy_.follow(model(), momentum_at(options_, step_ - 1, steps_));
    if (queue_ == nullptr) return;
    for (int64_t d = 0; d < keys_.size(1); ++d) queue_->add(keys_.select(1, d), on_device(keys_of_samples(batch)), on_device(batch.labels));
  }

 private:
  // images [directions, B, C, H, W]
  at::Tensor projections_of_copy(const at::Tensor& images, int64_t step) const {
    if (options_.shuffle_bn == 1) return copy_.forward(images, parts().forward).projection;
    const ShuffledGroups shuffled(images.size(1), options_.shuffle_bn, seed_, static_cast<uint64_t>(step));
    std::vector<at::Tensor> projections;
    for (const at::Tensor& rows : shuffled.groups()) {
      projections.push_back(copy_.forward(images.index_select(1, upload(rows, images.device())), parts().forward).projection);
    }
    return shuffled.in_order(projections);
  }

  // The ids of the samples; of group mates one that no sample has, so that their keys are no negatives of each other.
  std::vector<int64_t> keys_of_samples(const Batch& batch) const {
    std::vector<int64_t> keys = batch.ids;
    for (size_t i = 0; i < keys.size() && !parts().linked.empty(); ++i) {
      const int64_t group = parts().linked[static_cast<size_t>(batch.indices[i])];
      if (group != kUnknown) keys[i] = kAboveIds + group;
    }
    return keys;
  }

  ObjectiveInput keyed(const ObjectiveInput& all, const Term& term, int64_t direction, const at::Tensor& ids,
                       const at::Tensor& labels) const {
    ObjectiveInput input = all;
    input.z = all.z.slice(1, direction, direction + 1);
    input.samples = ids;
    const at::Tensor own = keys_.slice(1, direction, direction + 1);
    if (queue_ == nullptr) {
      input.keys = own.squeeze(1);
      input.key_samples = ids;
      input.key_labels = labels;
      if (!parts().linked.empty() && !term.compares_classes()) input.positives = own;  // keys of group mates are no positives either
    } else {
      input.positives = own;
      input.keys = queue_->rows();
      input.key_samples = queue_->samples();
      input.key_labels = queue_->labels();
    }
    return input;
  }

  // Counts pairs of an anchor and a key of another image, both with labels, that are of one class.
  void count_false_negatives(const at::Tensor& ids, const at::Tensor& labels, int64_t directions, Evaluated& evaluated) const {
    const at::Tensor key_ids = queue_ == nullptr ? ids : queue_->samples(), key_labels = queue_ == nullptr ? labels : queue_->labels();
    const at::Tensor known = labels.ge(0).unsqueeze(1).logical_and(key_labels.ge(0)).logical_and(ids.unsqueeze(1).ne(key_ids));
    evaluated.metrics.push_back({kFalseNegativeShare, LateNumber(directions * known.logical_and(labels.unsqueeze(1).eq(key_labels)).sum()),
                                 LateNumber(directions * known.sum())});
  }

  MocoOptions options_;
  uint64_t seed_;
  MomentumCopy copy_;
  std::unique_ptr<KeyQueue> queue_;
  at::Tensor keys_;  // of the step under way
  int64_t step_ = 1, steps_;
};

void check_groups(int64_t batch, int64_t groups, const std::string& where) {
  if (groups == 1 || (batch % groups == 0 && batch / groups > 1)) return;
  std::vector<int64_t> choices;
  for (int64_t g = 2; g <= batch / 2; ++g) {
    if (batch % g == 0) choices.push_back(g);
  }
  const auto distance = [&](int64_t g) { return std::abs(g - groups); };
  const auto nearest = std::ranges::min_element(choices, {}, distance);
  throw usage_error("{}method 'moco': shuffle_bn {} does not cut a batch of {} into groups of one size and at least 2 images; choose {}",
                    where, groups, batch, nearest == choices.end() ? "1" : fmt::format("{}, or 1", *nearest));
}

void check(const Recipe& recipe, const SampleTable& dataset) {
  require_images(recipe, dataset, "moco");
  const auto& options = recipe.method.as<MocoOptions>();
  const std::string& where = recipe.method.where;
  if (recipe.views.count != 2) throw usage_error("{}method 'moco' works on 2 views, views.count is {}", where, recipe.views.count);
  if (!recipe.train.drop_last) throw usage_error("{}method 'moco' needs batches of one size; write train.drop_last: true", where);
  check_groups(recipe.train.batch_size, options.shuffle_bn, where);
  const int64_t added = recipe.train.batch_size * (*options.symmetric ? 2 : 1), size = *options.queue;
  if (size % added != 0) {
    const std::string below = size > added ? fmt::format("{} or ", size / added * added) : "";
    throw usage_error("{}method 'moco': queue {} is not a multiple of the {} keys of a step{}; choose {}{}", where, size, added,
                      *options.symmetric ? " (both views of a batch)" : "", below, (size / added + 1) * added);
  }
  require_keyed_terms(recipe, dataset, "moco");
}

}  // namespace

MethodEntry moco_entry() {
  MethodEntry entry;
  entry.name = "moco";
  entry.summary = "keys from a momentum copy and a queue (He et al. 2020; v3: Chen, Xie and He 2021)";
  take_options<MocoOptions>(entry, [](const MocoOptions& read) { return read.resolved(); });
  entry.check = check;
  entry.gives_keys = true;
  entry.micro_batch_advice += ": the queue keeps the negatives";
  entry.metrics = {false_negative_metric()};
  entry.negatives = [](const Recipe& recipe) {
    return *recipe.method.as<MocoOptions>().queue > 0 ? Negatives::kEarlierBatches : Negatives::kBatch;
  };
  entry.networks = [](const Recipe& recipe, int64_t in_channels) {
    Model model = encoder_and_head(recipe, in_channels);
    const int64_t hidden = *recipe.method.as<MocoOptions>().predictor, dim = model.head->output_dim();
    if (hidden > 0) model.predictor = make_simclr_head(SimclrHeadOptions{.hidden_dim = hidden, .output_dim = dim}, dim, recipe.seed + 1);
    return model;
  };
  entry.make = [](const Recipe& recipe, const SampleTable& dataset, MethodParts parts) -> std::unique_ptr<Method> {
    return std::make_unique<Moco>(recipe, dataset, recipe.method.as<MocoOptions>(), std::move(parts));
  };
  return entry;
}

MocoOptions MocoOptions::resolved() const {
  const bool v3 = version == MocoVersion::kV3;
  MocoOptions all = *this;
  if (!momentum) all.momentum = v3 ? 0.99 : 0.999;
  if (!momentum_schedule) all.momentum_schedule = v3 ? MomentumSchedule::kCosine : MomentumSchedule::kConstant;
  if (!queue) all.queue = v3 ? 0 : 4096;
  if (!symmetric) all.symmetric = v3;
  if (!predictor) all.predictor = v3 ? 4096 : 0;
  return all;
}

double momentum_at(const MocoOptions& options, int64_t done, int64_t steps) {
  const double momentum = *options.momentum;
  if (*options.momentum_schedule == MomentumSchedule::kConstant) return momentum;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(std::max<int64_t>(1, steps)));
  return 1 - (1 - momentum) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

}  // namespace debias

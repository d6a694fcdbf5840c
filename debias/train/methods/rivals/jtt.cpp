#include "debias/train/methods/rivals/jtt.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/rivals/classification.h"
#include "debias/train/methods/rivals/sample_visits.h"
#include "debias/train/named_tensor.h"

namespace debias {
namespace {

constexpr const char* kJtt = "jtt";
constexpr const char* kErrors = "jtt.errors";
constexpr const char* kErrorShare = "error_set_share";

class Jtt final : public ClassificationMethod {
 public:
  Jtt(const SampleTable& dataset, const JttOptions& options, MethodParts parts)
      : ClassificationMethod(kJtt, std::move(parts)),
        options_(options),
        errors_(at::zeros({dataset.size()}, at::TensorOptions().dtype(at::kFloat).device(this->parts().forward.device))) {}

  std::vector<std::pair<std::string, at::Tensor>> state() const override { return {{kErrors, errors_}}; }
  void load(const SafetensorsFile& file) override { errors_ = named_tensor(file, kErrors, errors_); }

 protected:
  Evaluated differentiate(const Batch& batch, int64_t) override {
    return batch.epoch < options_.identification_epochs ? identify(batch) : train_weighted(batch);
  }

  void after_update(const Batch&) override {
    if (next_.defined()) errors_ = std::exchange(next_, at::Tensor());
  }

 private:
  Evaluated identify(const Batch& batch) {
    const SideClassifier& network = side_classifier(kBiasNetwork);
    const at::Tensor features = network.features(batch.images(), parts().forward), logits = network.logits(features);
    const at::Tensor labels = labels_of(batch), losses = cross_entropy_by_sample(logits, labels);
    if (batch.epoch + 1 == options_.identification_epochs) note_errors(batch, logits.detach().argmax(1).ne(labels));
    Evaluated evaluated = evaluate_network(logits, labels, mean_by_sample(losses));
    backward(evaluated, {features, features});
    return evaluated;
  }

  Evaluated train_weighted(const Batch& batch) {
    const ModelOutput output = forward(model(), batch.images(), parts().forward);
    const at::Tensor labels = labels_of(batch), indices = on_device(batch.indices);
    const at::Tensor weights = jtt_weights(errors_, options_.upweight).index_select(0, indices);
    Evaluated evaluated = evaluate_logits(
        output, batch, [&](const at::Tensor& logits) { return mean_by_sample(cross_entropy_by_sample(logits, labels), weights); });
    evaluated.metrics.push_back(mean_metric(kErrorShare, errors_.index_select(0, indices)));
    backward(evaluated, output);
    return evaluated;
  }

  // A sample that a sampler draws several times is in the set once a draw is wrong.
  void note_errors(const Batch& batch, const at::Tensor& wrong) {
    const at::Tensor indices = on_device(batch.indices);
    const at::Tensor found = mean_of_sample(indices, wrong.to(at::kFloat)).gt(0).to(at::kFloat);
    next_ = errors_.index_copy(0, indices, at::maximum(errors_.index_select(0, indices), found));
  }

  JttOptions options_;
  at::Tensor errors_, next_;  // [N] float32, 1 in E; next: with those of the step under way
};

void check_jtt(const Recipe& recipe, const SampleTable& dataset) {
  const auto& options = recipe.method.as<JttOptions>();
  require_classification(recipe, dataset, kJtt, Regularisers::kRejected);
  require_no_frozen_start(recipe, kJtt);
  require_bias_encoder(recipe, kJtt);
  if (options.identification_epochs < recipe.train.epochs) return;
  throw usage_error(
      "{}method 'jtt': identification_epochs {} leaves none of the {} epochs of train to train on the errors; raise train.epochs",
      recipe.method.where, options.identification_epochs, recipe.train.epochs);
}

}  // namespace

at::Tensor jtt_weights(const at::Tensor& errors, double upweight) {
  const at::Tensor weights = 1 + (upweight - 1) * errors;
  return weights / weights.mean();
}

MethodEntry jtt_entry() {
  MethodEntry entry;
  entry.name = kJtt;
  entry.finds_bias_itself = true;
  entry.summary = "trains a second time with the first network's errors upweighted; no bias labels (Liu et al. 2021)";
  take_options<JttOptions>(entry);
  take_bias_encoder(entry);
  entry.metrics = {{kErrorShare, "share of upweighted training samples", Unit::kShare, Better::kNeither, Standing::kTraining}};
  entry.check = check_jtt;
  entry.networks = encoder_and_head;
  entry.side_networks = bias_network_alone;
  entry.make = [](const Recipe& recipe, const SampleTable& dataset, MethodParts parts) -> std::unique_ptr<Method> {
    return std::make_unique<Jtt>(dataset, recipe.method.as<JttOptions>(), std::move(parts));
  };
  return entry;
}

}  // namespace debias

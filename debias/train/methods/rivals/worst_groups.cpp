#include "debias/train/methods/rivals/worst_groups.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/rivals/classification.h"
#include "debias/train/methods/rivals/relative_difficulty.h"
#include "debias/train/named_tensor.h"

namespace debias {
namespace {

constexpr char kGroupDroName[] = "group_dro";
constexpr char kGroupWeights[] = "group_dro.weights";
constexpr char kWorstGroupLoss[] = "worst_group_loss";
constexpr char kLargestGroupWeight[] = "largest_group_weight";

class GroupDro final : public ClassificationMethod {
 public:
  GroupDro(const SampleTable& dataset, const GroupDroOptions& options, MethodParts parts)
      : ClassificationMethod(kGroupDroName, std::move(parts)),
        options_(options),
        biases_(static_cast<int64_t>(dataset.info().bias_names.size())),
        groups_(biases_ * static_cast<int64_t>(dataset.info().class_names.size())) {
    at::Tensor counts = at::zeros({groups_}, at::kDouble);
    for (int64_t i = 0; i < dataset.size(); ++i) counts.data_ptr<double>()[dataset.label(i) * biases_ + dataset.bias(i)] += 1;
    const at::Tensor present = counts.gt(0).to(at::kDouble);
    weights_ = (present / present.sum()).to(this->parts().forward.device);
    adjustments_ = (options.adjustment * counts.clamp_min(1).rsqrt() * present).to(this->parts().forward.device);
  }

  std::vector<std::pair<std::string, at::Tensor>> state() const override { return {{kGroupWeights, weights_}}; }
  void load(const SafetensorsFile& file) override { weights_ = named_tensor(file, kGroupWeights, weights_); }

 protected:
  Evaluated differentiate(const Batch& batch, int64_t) override {
    const ModelOutput output = forward(model(), batch.images(), parts().forward);
    const at::Tensor labels = labels_of(batch), groups = labels * biases_ + biases_of(batch);
    GroupMeans means;
    Evaluated evaluated = evaluate_logits(output, batch, [&](const at::Tensor& logits) {
      const at::Tensor losses = cross_entropy_by_sample(logits, labels);
      means = group_means(losses.detach(), groups, groups_);
      next_weights_ = updated_group_weights(weights_, means.loss + adjustments_, options_.step_size);
      const at::Tensor share = next_weights_ / means.count.clamp_min(1);  // of a sample of each group
      const at::Tensor by_sample = share.index_select(0, groups) * static_cast<double>(losses.size(0));
      return mean_by_sample(losses, by_sample.to(losses.scalar_type()));
    });
    evaluated.metrics.push_back({kWorstGroupLoss, LateNumber(means.loss.max()), LateNumber(1)});
    evaluated.metrics.push_back({kLargestGroupWeight, LateNumber(next_weights_.max()), LateNumber(1)});
    backward(evaluated, output);
    return evaluated;
  }

  void after_update(const Batch&) override { weights_ = next_weights_; }

 private:
  GroupDroOptions options_;
  int64_t biases_, groups_;
  at::Tensor weights_, adjustments_;  // double [groups]; row label * biases + bias
  at::Tensor next_weights_;           // of the step under way
};

}  // namespace

GroupMeans group_means(const at::Tensor& losses, const at::Tensor& groups, int64_t group_count) {
  const at::Tensor none = at::zeros({group_count}, losses.options().dtype(at::kDouble));
  const at::Tensor count = none.index_add(0, groups, at::ones_like(losses, at::kDouble));
  return {none.index_add(0, groups, losses.to(at::kDouble)) / count.clamp_min(1), count};
}

at::Tensor updated_group_weights(const at::Tensor& weights, const at::Tensor& group_losses, double step_size) {
  return at::softmax(weights.log() + step_size * group_losses, 0);
}

MethodEntry group_dro_entry() {
  MethodEntry entry;
  entry.name = kGroupDroName;
  entry.summary = "a classifier that minimises the loss of its worst group of class and bias label (Sagawa et al. 2020)";
  take_options<GroupDroOptions>(entry);
  entry.metrics = {{kWorstGroupLoss, "worst-group loss in a batch", Unit::kNumber, Better::kNeither, Standing::kTraining},
                   {kLargestGroupWeight, "largest group weight", Unit::kShare, Better::kNeither, Standing::kTraining}};
  entry.check = [](const Recipe& recipe, const SampleTable& dataset) {
    require_classification(recipe, dataset, kGroupDroName);
    require_bias_labels(recipe, dataset, kGroupDroName);
  };
  entry.networks = encoder_and_head;
  entry.make = [](const Recipe& recipe, const SampleTable& dataset, MethodParts parts) -> std::unique_ptr<Method> {
    return std::make_unique<GroupDro>(dataset, recipe.method.as<GroupDroOptions>(), std::move(parts));
  };
  return entry;
}

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

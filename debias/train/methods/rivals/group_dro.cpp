#include "debias/train/methods/rivals/group_dro.h"

#include <ATen/ATen.h>

#include "debias/core/registry.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/rivals/classification.h"
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

}  // namespace debias

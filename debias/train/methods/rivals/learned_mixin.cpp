#include "debias/train/methods/rivals/learned_mixin.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/bias_data.h"
#include "debias/train/methods/rivals/classification.h"

namespace debias {
namespace {

constexpr char kLearnedMixinName[] = "learned_mixin";
constexpr char kMixin[] = "mixin";
constexpr char kMixinFactor[] = "mixin_factor";
constexpr double kLeastOfBias = 1e-9;  // added to P(y | bias), as in bias_balanced

class LearnedMixin final : public ClassificationMethod {
 public:
  // log_prior [bias labels, C]; undefined where a network predicts.
  LearnedMixin(const LearnedMixinOptions& options, const at::Tensor& log_prior, MethodParts parts)
      : ClassificationMethod(kLearnedMixinName, std::move(parts)), options_(options) {
    if (log_prior.defined()) log_prior_ = log_prior.to(this->parts().forward.device);
  }

 protected:
  Evaluated differentiate(const Batch& batch, int64_t) override {
    const bool network = options_.bias == BiasBranch::kNetwork;
    if (network && batch.epoch < options_.pretrain) return pretrain(batch);
    const ModelOutput output = forward(model(), batch.images(), parts().forward);
    const at::Tensor labels = labels_of(batch), log_bias = network ? network_logits(batch) : log_prior_.index_select(0, biases_of(batch));
    const at::Tensor factor = at::softplus(side_linear_of(model(), kMixin).forward(output.features.select(1, 0))).squeeze(1);
    Evaluated evaluated = evaluate_logits(output, batch, [&](const at::Tensor& logits) {
      return mean_by_sample(learned_mixin_losses(logits, log_bias, factor, labels, options_.entropy));
    });
    add_bias_network(evaluated, cross_entropy_by_sample(log_bias, labels).mean(), log_bias, labels);
    evaluated.metrics.push_back(mean_metric(kMixinFactor, factor));
    backward(evaluated, output);
    return evaluated;
  }

 private:
  at::Tensor network_logits(const Batch& batch) const {
    const at::NoGradGuard fixed;
    const SideClassifier& biased = side_classifier(kBiasNetwork);
    biased.encoder()->train(false);  // until the next epoch begins: neither its statistics nor other images of the batch matter
    return biased.logits(biased.features(batch.images(), parts().forward));
  }

  // The biased network alone learns; the evaluated one stays as it is, and only its loss is logged.
  Evaluated pretrain(const Batch& batch) const {
    const at::Tensor labels = labels_of(batch);
    ModelOutput output;
    Evaluated evaluated;
    {
      const at::NoGradGuard fixed;
      const BufferGuard as_they_were(std::vector<const torch::nn::Module*>{model().encoder.get(), model().head.get()});
      output = forward(model(), batch.images(), parts().forward);
      evaluated =
          evaluate_logits(output, batch, [&](const at::Tensor& logits) { return mean_by_sample(cross_entropy_by_sample(logits, labels)); });
    }
    const SideClassifier& biased = side_classifier(kBiasNetwork);
    const at::Tensor logits = biased.logits(biased.features(batch.images(), parts().forward));
    add_bias_network(evaluated, cross_entropy_by_sample(logits, labels).mean(), logits, labels);
    backward(evaluated, output);
    return evaluated;
  }

  LearnedMixinOptions options_;
  at::Tensor log_prior_;
};

void check_learned_mixin(const Recipe& recipe, const SampleTable& dataset) {
  require_classification(recipe, dataset, kLearnedMixinName);
  const auto& options = recipe.method.as<LearnedMixinOptions>();
  require_bias_branch(recipe, dataset, kLearnedMixinName, options.bias);
  if (options.bias == BiasBranch::kLabels) {
    if (options.pretrain == LearnedMixinOptions().pretrain) return;  // a resolved recipe has it
    throw usage_error(
        "{}method 'learned_mixin': pretrain is of a biased network, and bias labels are counted; leave it out, or write bias: "
        "network",
        recipe.method.where);
  }
  require_no_frozen_start(recipe, kLearnedMixinName);
  if (options.pretrain < recipe.train.epochs) return;
  throw usage_error("{}method 'learned_mixin' trains the biased network alone for {} epochs, and train.epochs is {}; lower pretrain",
                    recipe.method.where, options.pretrain, recipe.train.epochs);
}

at::Tensor log_label_given_bias(const Recipe& recipe, const SampleTable& dataset) {
  const at::Tensor prior = label_given_bias(dataset, make_sampler(recipe, dataset)->weights());  // [C, bias labels]
  return (prior + kLeastOfBias).log().t().to(at::kFloat).contiguous();
}

}  // namespace

at::Tensor learned_mixin_losses(const at::Tensor& logits, const at::Tensor& log_bias, const at::Tensor& factor, const at::Tensor& labels,
                                double entropy_weight) {
  const at::Tensor scaled = factor.unsqueeze(1) * log_bias;
  const at::Tensor losses = cross_entropy_by_sample(logits + scaled, labels);
  return losses - entropy_weight * negative_entropy(scaled);
}

MethodEntry learned_mixin_entry() {
  MethodEntry entry;
  entry.name = kLearnedMixinName;
  entry.summary = "a classifier in an ensemble with what the bias alone predicts (Clark et al. 2019, with entropy +H)";
  take_options<LearnedMixinOptions>(entry);
  take_bias_encoder(entry);
  entry.metrics = bias_network_metrics();
  entry.metrics.push_back({kMixinFactor, "weight of the bias-only predictor", Unit::kNumber, Better::kNeither, Standing::kTraining});
  entry.check = check_learned_mixin;
  entry.networks = encoder_and_head;
  entry.side_networks = [](const Recipe& recipe, const DatasetInfo& info, const Model& model) {
    const auto& options = recipe.method.as<LearnedMixinOptions>();
    std::vector<SideNetwork> all;
    if (options.bias == BiasBranch::kNetwork) all.push_back(bias_network(recipe, info));
    all.push_back(side_linear(recipe, kMixin, model.encoder->feature_dim(), 1, options.train_mixin));
    return all;
  };
  entry.make = [](const Recipe& recipe, const SampleTable& dataset, MethodParts parts) -> std::unique_ptr<Method> {
    const auto& options = recipe.method.as<LearnedMixinOptions>();
    const at::Tensor prior = options.bias == BiasBranch::kLabels ? log_label_given_bias(recipe, dataset) : at::Tensor();
    return std::make_unique<LearnedMixin>(options, prior, std::move(parts));
  };
  return entry;
}

}  // namespace debias

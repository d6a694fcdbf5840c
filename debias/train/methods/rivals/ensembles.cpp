#include "debias/train/methods/rivals/ensembles.h"

#include <ATen/ATen.h>

#include <stdexcept>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/encoders/initialise.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/rivals/classification.h"
#include "debias/train/methods/term.h"

namespace debias {

void require_bias_branch(const Recipe& recipe, const SampleTable& dataset, const char* method, BiasBranch branch) {
  if (branch == BiasBranch::kNetwork) return require_bias_encoder(recipe, method);
  if (recipe.method.bias_encoder) {
    throw usage_error("{}method '{}' reads bias labels and has no use for a bias_encoder; leave it out, or write bias: network",
                      recipe.method.where, method);
  }
  require_bias_labels(recipe, dataset, method);
}

SideNetwork side_linear(const Recipe& recipe, const std::string& name, int64_t inputs, int64_t outputs, bool trained) {
  const auto layer = std::make_shared<torch::nn::LinearImpl>(inputs, outputs);
  initialise(*layer, side_seed(recipe.seed, name), InitStream::kClassifier);
  for (auto& parameter : layer->parameters()) parameter.requires_grad_(trained);
  return {name, layer};
}

torch::nn::LinearImpl& side_linear_of(const Model& model, const std::string& name) {
  for (const auto& network : model.side) {
    if (network.name == name) return dynamic_cast<torch::nn::LinearImpl&>(*network.module);
  }
  throw std::logic_error("no layer '" + name + "' beside the evaluated network");
}

namespace {

constexpr char kRubiName[] = "rubi";
constexpr char kGate[] = "gate";

class Rubi final : public ClassificationMethod {
 public:
  Rubi(const SampleTable& dataset, const RubiOptions& options, MethodParts parts)
      : ClassificationMethod(kRubiName, std::move(parts)),
        options_(options),
        biases_(static_cast<int64_t>(dataset.info().bias_names.size())) {}

 protected:
  Evaluated differentiate(const Batch& batch, int64_t) override {
    const ModelOutput output = forward(model(), batch.images(), parts().forward);
    const at::Tensor labels = labels_of(batch);
    const bool network = options_.bias == BiasBranch::kNetwork;
    at::Tensor known, bias_logits;
    if (network) {
      const SideClassifier& biased = side_classifier(kBiasNetwork);
      const at::Tensor features = biased.features(batch.images(), parts().forward);
      bias_logits = biased.logits(features);
      known = features.detach().select(1, 0);
    } else {
      known = at::one_hot(biases_of(batch), biases_).to(at::kFloat);
    }
    const at::Tensor gate = side_linear_of(model(), kGate).forward(known);
    Evaluated evaluated =
        evaluate_logits(output, batch, [&](const at::Tensor& logits) { return mean_by_sample(rubi_losses(logits, gate, labels)); });
    const at::Tensor of_branch = options_.branch_weight * cross_entropy_by_sample(gate, labels).mean();
    if (network) {
      evaluated.add(of_branch);
      add_bias_network(evaluated, cross_entropy_by_sample(bias_logits, labels).mean(), bias_logits, labels);
    } else {
      add_bias_network(evaluated, of_branch, gate, labels);
    }
    backward(evaluated, output);
    return evaluated;
  }

 private:
  RubiOptions options_;
  int64_t biases_;
};

}  // namespace

at::Tensor rubi_losses(const at::Tensor& logits, const at::Tensor& gate, const at::Tensor& labels) {
  return cross_entropy_by_sample(logits * gate.sigmoid(), labels);
}

MethodEntry rubi_entry() {
  MethodEntry entry;
  entry.name = kRubiName;
  entry.summary = "a classifier whose logits are masked by what the bias alone predicts (Cadene et al. 2019)";
  take_options<RubiOptions>(entry);
  take_bias_encoder(entry);
  entry.metrics = bias_network_metrics();
  entry.check = [](const Recipe& recipe, const SampleTable& dataset) {
    require_classification(recipe, dataset, kRubiName);
    require_bias_branch(recipe, dataset, kRubiName, recipe.method.as<RubiOptions>().bias);
  };
  entry.networks = encoder_and_head;
  entry.side_networks = [](const Recipe& recipe, const DatasetInfo& info, const Model&) {
    const auto& options = recipe.method.as<RubiOptions>();
    const auto classes = static_cast<int64_t>(info.class_names.size());
    if (options.bias == BiasBranch::kLabels) {
      return std::vector{side_linear(recipe, kGate, static_cast<int64_t>(info.bias_names.size()), classes, options.train_gate)};
    }
    const SideNetwork biased = bias_network(recipe, info);
    return std::vector{biased, side_linear(recipe, kGate, biased.encoder->feature_dim(), classes, options.train_gate)};
  };
  entry.make = [](const Recipe& recipe, const SampleTable& dataset, MethodParts parts) -> std::unique_ptr<Method> {
    return std::make_unique<Rubi>(dataset, recipe.method.as<RubiOptions>(), std::move(parts));
  };
  return entry;
}

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
    if (options.pretrain == LearnedMixinOptions{}.pretrain) return;  // a resolved recipe has it
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

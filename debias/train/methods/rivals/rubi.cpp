#include "debias/train/methods/rivals/rubi.h"

#include <ATen/ATen.h>

#include "debias/core/registry.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/rivals/classification.h"

namespace debias {
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

}  // namespace debias

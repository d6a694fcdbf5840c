#include "debias/train/methods/rivals/lff.h"

#include <ATen/ATen.h>

#include "debias/core/registry.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/rivals/classification.h"
#include "debias/train/methods/rivals/sample_visits.h"

namespace debias {
namespace {

constexpr const char* kLff = "lff";

class Lff final : public ClassificationMethod {
 public:
  Lff(const SampleTable& dataset, const LffOptions& options, MethodParts parts)
      : ClassificationMethod(kLff, std::move(parts)),
        options_(options),
        difficulty_(kLff, dataset, options.momentum, this->parts().forward.device) {}

  std::vector<std::pair<std::string, at::Tensor>> state() const override { return difficulty_.state(); }
  void load(const SafetensorsFile& file) override { difficulty_.load(file); }

 protected:
  Evaluated differentiate(const Batch& batch, int64_t) override {
    const SideClassifier& network = side_classifier(kBiasNetwork);
    const ModelOutput output = forward(model(), batch.images(), parts().forward);
    const at::Tensor bias_logits = network.logits(network.features(batch.images(), parts().forward));
    const at::Tensor labels = labels_of(batch), indices = on_device(batch.indices);
    const at::Tensor biased = cross_entropy_by_sample(bias_logits, labels);
    at::Tensor weights;
    Evaluated evaluated = evaluate_logits(output, batch, [&](const at::Tensor& logits) {
      const at::Tensor losses = cross_entropy_by_sample(logits, labels);
      weights = difficulty_.weights(indices, biased, losses);
      return mean_by_sample(losses, weights);
    });
    add_bias_network(evaluated, generalized_cross_entropy_by_sample(bias_logits, labels, options_.q).mean(), bias_logits, labels);
    evaluated.metrics.push_back(mean_metric(kRelativeDifficulty, weights));
    backward(evaluated, output, {"bias_logits", bias_logits});
    return evaluated;
  }

  void after_update(const Batch&) override { difficulty_.commit(); }

 private:
  LffOptions options_;
  DifficultyWeights difficulty_;
};

}  // namespace

MethodEntry lff_entry() {
  MethodEntry entry;
  entry.name = kLff;
  entry.finds_bias_itself = true;
  entry.summary = "weights samples by how hard a biased network finds them; no bias labels (Nam et al. 2020)";
  take_options<LffOptions>(entry);
  take_bias_encoder(entry);
  entry.metrics = bias_network_metrics();
  entry.metrics.push_back(relative_difficulty_metric());
  entry.check = [](const Recipe& recipe, const SampleTable& dataset) {
    require_classification(recipe, dataset, kLff);
    require_bias_encoder(recipe, kLff);
  };
  entry.networks = encoder_and_head;
  entry.side_networks = bias_network_alone;
  entry.make = [](const Recipe& recipe, const SampleTable& dataset, MethodParts parts) -> std::unique_ptr<Method> {
    return std::make_unique<Lff>(dataset, recipe.method.as<LffOptions>(), std::move(parts));
  };
  return entry;
}

}  // namespace debias

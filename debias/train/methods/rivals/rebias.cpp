#include "debias/train/methods/rivals/rebias.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/rivals/classification.h"
#include "debias/train/methods/rivals/hsic.h"
#include "debias/train/methods/rivals/second_update.h"
#include "debias/train/named_tensor.h"

namespace debias {
namespace {

constexpr char kRebiasName[] = "rebias";
constexpr char kRadii[] = "rebias.radii";
constexpr char kHsic[] = "hsic";

class Rebias final : public ClassificationMethod {
 public:
  Rebias(const RebiasOptions& options, MethodParts parts)
      : ClassificationMethod(kRebiasName, std::move(parts)),
        options_(options),
        radii_(at::full({2}, options.radius.value_or(1), at::kDouble)) {}

  std::vector<std::pair<std::string, at::Tensor>> state() const override { return {{kRadii, radii_}}; }
  void load(const SafetensorsFile& file) override { radii_ = named_tensor(file, kRadii, radii_); }

 protected:
  Evaluated differentiate(const Batch& batch, int64_t) override {
    const ModelOutput output = forward(model(), batch.images(), parts().forward);
    const at::Tensor labels = labels_of(batch), features = output.features.select(1, 0);
    at::Tensor of_bias, bias_logits;
    {
      const at::NoGradGuard fixed;
      const BufferGuard as_they_were({&side_classifier(kBiasNetwork)});  // the biased network's own update is the pass that counts
      const at::Tensor rows = side_classifier(kBiasNetwork).features(batch.images(), parts().forward);
      of_bias = rows.select(1, 0);
      bias_logits = side_classifier(kBiasNetwork).logits(rows);
    }
    next_radii_ = radii_;
    if (!options_.radius && batch.number == 0) {
      next_radii_ = at::tensor({median_distance(features), median_distance(of_bias)}, at::kDouble);
    }
    const at::Tensor dependence = hsic(features, of_bias);
    Evaluated evaluated = evaluate_logits(output, batch, [&](const at::Tensor& logits) {
      ObjectiveResult result = mean_by_sample(cross_entropy_by_sample(logits, labels));
      result.value = result.value + options_.weight * dependence;
      return result;
    });
    add_bias_network(evaluated, cross_entropy_by_sample(bias_logits, labels).mean(), bias_logits, labels);
    evaluated.metrics.push_back({kHsic, LateNumber(dependence.detach()), LateNumber(1)});
    backward(evaluated, output);
    return evaluated;
  }

  void after_update(const Batch& batch) override {
    radii_ = next_radii_;
    at::Tensor features;
    {
      const at::NoGradGuard fixed;
      const BufferGuard as_they_were(std::vector<const torch::nn::Module*>{model().encoder.get(), model().head.get()});
      features = forward(model(), batch.images(), parts().forward).features.select(1, 0);
    }
    const SideClassifier& biased = side_classifier(kBiasNetwork);
    const at::Tensor rows = biased.features(batch.images(), parts().forward);
    const at::Tensor loss =
        cross_entropy_by_sample(biased.logits(rows), labels_of(batch)).mean() - options_.bias_weight * hsic(features, rows.select(1, 0));
    second_update(model(), parts().optimizers, loss, batch, "biased network");
  }

 private:
  at::Tensor hsic(const at::Tensor& features, const at::Tensor& of_bias) const {
    return unbiased_hsic(features, of_bias, next_radii_[0].item<double>(), next_radii_[1].item<double>());
  }

  RebiasOptions options_;
  at::Tensor radii_;       // double [2] on the CPU: of the evaluated network's features, and of the biased one's
  at::Tensor next_radii_;  // of the step under way
};

void check_rebias(const Recipe& recipe, const SampleTable& dataset) {
  require_classification(recipe, dataset, kRebiasName);
  require_bias_encoder(recipe, kRebiasName);
  if (!recipe.method.bias_encoder) {
    throw usage_error(
        "{}method 'rebias' needs a biased network that sees less than the recipe's; write bias_encoder: bagnet18, or {{name: "
        "simple_convnet, "
        "kernel: 1}}",
        recipe.method.where);
  }
  if (recipe.train.batch_size < kLeastHsicRows) {
    throw usage_error("{}method 'rebias' compares at least {} images with each other, train.batch_size is {}; raise it",
                      recipe.method.where, kLeastHsicRows, recipe.train.batch_size);
  }
  if (const int64_t last = last_batch_of_epoch(recipe, dataset); last < kLeastHsicRows) {
    throw usage_error(
        "{}method 'rebias' compares at least {} images with each other, the last batch of an epoch has {}; write "
        "train.drop_last: true, or choose another batch_size",
        recipe.method.where, kLeastHsicRows, last);
  }
}

}  // namespace

MethodEntry rebias_entry() {
  MethodEntry entry;
  entry.name = kRebiasName;
  entry.finds_bias_itself = true;
  entry.summary = "a classifier with features independent of a biased network's, by HSIC (Bahng et al. 2020); no bias labels";
  take_options<RebiasOptions>(entry);
  take_bias_encoder(entry);
  entry.metrics = bias_network_metrics();
  entry.metrics.push_back({kHsic, "HSIC with the biased network's features", Unit::kNumber, Better::kNeither, Standing::kTraining});
  entry.check = check_rebias;
  entry.networks = encoder_and_head;
  entry.side_networks = bias_network_alone;
  entry.make = [](const Recipe& recipe, const SampleTable&, MethodParts parts) -> std::unique_ptr<Method> {
    return std::make_unique<Rebias>(recipe.method.as<RebiasOptions>(), std::move(parts));
  };
  return entry;
}

}  // namespace debias

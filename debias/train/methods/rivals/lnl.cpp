#include "debias/train/methods/rivals/lnl.h"

#include <ATen/ATen.h>

#include "debias/core/registry.h"
#include "debias/encoders/initialise.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/rivals/classification.h"
#include "debias/train/methods/rivals/second_update.h"

namespace debias {
namespace {

constexpr char kLnlName[] = "lnl";
constexpr char kAdversary[] = "adversary";
constexpr char kAdversaryLoss[] = "adversary_loss";
constexpr char kAdversaryAccuracy[] = "adversary_acc1";

const Adversary& adversary_of(const Model& model) { return dynamic_cast<const Adversary&>(*model.side.at(0).module); }

class Lnl final : public ClassificationMethod {
 public:
  Lnl(const LnlOptions& options, MethodParts parts) : ClassificationMethod(kLnlName, std::move(parts)), options_(options) {}

 protected:
  Evaluated differentiate(const Batch& batch, int64_t) override {
    const ModelOutput output = forward(model(), batch.images(), parts().forward);
    const at::Tensor labels = labels_of(batch), biases = biases_of(batch);
    const at::Tensor answer = adversary_of(model()).logits(output.features.select(1, 0), /*fixed=*/true);
    Evaluated evaluated = evaluate_logits(output, batch, [&](const at::Tensor& logits) {
      return mean_by_sample(cross_entropy_by_sample(logits, labels) + options_.entropy_weight * negative_entropy(answer));
    });
    const at::Tensor known = answer.detach();
    evaluated.metrics.push_back(mean_metric(kAdversaryLoss, cross_entropy_by_sample(known, biases)));
    evaluated.metrics.push_back(mean_metric(kAdversaryAccuracy, known.argmax(1).eq(biases).to(at::kDouble)));
    backward(evaluated, output);
    return evaluated;
  }

  void after_update(const Batch& batch) override {
    const at::Tensor answer = adversary_of(model()).logits(features_to_hide_in(batch));
    second_update(model(), parts().optimizers, cross_entropy_by_sample(answer, biases_of(batch)).mean(), batch, "adversary");
  }

 private:
  // Of the encoder as it is now. Without reversal it takes no part in the second update: no moment and no decay of the optimizer moves it.
  at::Tensor features_to_hide_in(const Batch& batch) const {
    if (options_.reversal > 0) {
      return with_reversed_gradient(forward(model(), batch.images(), parts().forward).features.select(1, 0), options_.reversal);
    }
    const at::NoGradGuard fixed;
    const BufferGuard as_they_were(std::vector<const torch::nn::Module*>{model().encoder.get(), model().head.get()});
    return forward(model(), batch.images(), parts().forward).features.select(1, 0);
  }

  LnlOptions options_;
};

}  // namespace

at::Tensor with_reversed_gradient(const at::Tensor& rows, double factor) {
  const at::Tensor fixed = rows.detach();
  return fixed - factor * (rows - fixed);  // exactly the rows: what is taken away is 0
}

Adversary::Adversary(int64_t inputs, int64_t hidden, int64_t outputs, uint64_t seed) {
  if (hidden > 0) hidden_ = register_module("hidden", torch::nn::Linear(inputs, hidden));
  last_ = register_module("last", torch::nn::Linear(hidden > 0 ? hidden : inputs, outputs));
  initialise(*this, seed, InitStream::kClassifier);
}

at::Tensor Adversary::logits(const at::Tensor& features, bool fixed) const {
  const auto through = [fixed](const torch::nn::LinearImpl& layer, const at::Tensor& rows) {
    return fixed ? at::linear(rows, layer.weight.detach(), layer.bias.detach()) : at::linear(rows, layer.weight, layer.bias);
  };
  return through(*last_, hidden_.is_empty() ? features : at::relu(through(*hidden_, features)));
}

MethodEntry lnl_entry() {
  MethodEntry entry;
  entry.name = kLnlName;
  entry.summary = "a classifier whose encoder hides the bias label from an adversary (Kim et al. 2019)";
  take_options<LnlOptions>(entry);
  entry.metrics = {{kAdversaryLoss, "adversary loss", Unit::kNumber, Better::kNeither, Standing::kTraining},
                   {kAdversaryAccuracy, "adversary accuracy on bias labels", Unit::kShare, Better::kNeither, Standing::kTraining}};
  entry.check = [](const Recipe& recipe, const SampleTable& dataset) {
    require_classification(recipe, dataset, kLnlName);
    require_bias_labels(recipe, dataset, kLnlName);
  };
  entry.networks = encoder_and_head;
  entry.side_networks = [](const Recipe& recipe, const DatasetInfo& info, const Model& model) {
    const auto module = std::make_shared<Adversary>(model.encoder->feature_dim(), recipe.method.as<LnlOptions>().hidden,
                                                    static_cast<int64_t>(info.bias_names.size()), side_seed(recipe.seed, kAdversary));
    return std::vector<SideNetwork>{{kAdversary, module}};
  };
  entry.make = [](const Recipe& recipe, const SampleTable&, MethodParts parts) -> std::unique_ptr<Method> {
    return std::make_unique<Lnl>(recipe.method.as<LnlOptions>(), std::move(parts));
  };
  return entry;
}

}  // namespace debias

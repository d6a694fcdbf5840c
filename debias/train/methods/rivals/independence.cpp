#include "debias/train/methods/rivals/independence.h"

#include <ATen/ATen.h>

#include <limits>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/encoders/initialise.h"
#include "debias/train/methods/rivals/classification.h"
#include "debias/train/named_tensor.h"

namespace debias {

void second_update(const Model& model, const Optimizers& optimizers, const at::Tensor& loss, const Batch& batch, const char* of) {
  optimizers.zero_grad();
  loss.backward();
  std::vector<at::Tensor> gradients;
  for (const auto& [name, parameter] : model.named_parameters()) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  const at::Tensor largest = at::stack(at::_foreach_norm(gradients, std::numeric_limits<double>::infinity())).sum();
  if (!at::isfinite(loss.detach() + largest).item<bool>()) {
    optimizers.zero_grad();
    throw numeric_error(
        "training stopped at epoch {}, batch {}: the loss of the {} is {}, or its gradient is not finite; the evaluated network had been "
        "updated; lower the learning rate",
        batch.epoch + 1, batch.number, of, loss.item<double>());
  }
  optimizers.step();
  optimizers.zero_grad();
}

namespace {

at::Tensor squared_distances(const at::Tensor& rows) {
  const at::Tensor norms = rows.square().sum(1);
  return (norms.unsqueeze(0) + norms.unsqueeze(1) - 2 * rows.mm(rows.t())).clamp_min(0);
}

at::Tensor kernel_without_diagonal(const at::Tensor& rows, double sigma) {
  const at::Tensor kernel = (squared_distances(rows) * (-0.5 / (sigma * sigma))).exp();
  return kernel * (1 - at::eye(rows.size(0), rows.options().requires_grad(false)));
}

}  // namespace

at::Tensor unbiased_hsic(const at::Tensor& x, const at::Tensor& y, double sigma_x, double sigma_y) {
  const auto n = static_cast<double>(x.size(0));
  if (x.size(0) < kLeastHsicRows) return x.sum() * 0;
  const at::Tensor k = kernel_without_diagonal(x, sigma_x), l = kernel_without_diagonal(y, sigma_y);
  const at::Tensor of_k = k.sum(1), of_l = l.sum(1);
  const at::Tensor sum = (k * l).sum() + of_k.sum() * of_l.sum() / ((n - 1) * (n - 2)) - of_k.dot(of_l) * (2 / (n - 2));
  return sum / (n * (n - 3));
}

double median_distance(const at::Tensor& rows) {
  if (rows.size(0) < 2) return 1;
  const at::NoGradGuard no_grad;
  const at::Tensor pairs = at::triu_indices(rows.size(0), rows.size(0), 1, rows.options().dtype(at::kLong));
  const double median = squared_distances(rows.detach()).index({pairs[0], pairs[1]}).median().sqrt().item<double>();
  return median > 0 ? median : 1;
}

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

#include "debias/train/methods/rivals/relative_difficulty.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/core/registry.h"
#include "debias/encoders/heads.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/rivals/classification.h"
#include "debias/train/named_tensor.h"

namespace debias {

at::Tensor mean_of_sample(const at::Tensor& indices, const at::Tensor& values) {
  const at::Tensor same = indices.unsqueeze(1).eq(indices.unsqueeze(0)).to(values.scalar_type());
  return same.mv(values) / same.sum(1);
}

RunningLosses::RunningLosses(std::string name, const SampleTable& dataset, double momentum, at::Device device)
    : name_(std::move(name)),
      momentum_(momentum),
      classes_(static_cast<int64_t>(dataset.info().class_names.size())),
      labels_(at::empty({dataset.size()}, at::kLong)),
      losses_(at::full({dataset.size()}, -1.0, at::TensorOptions().dtype(at::kFloat).device(device))) {
  for (int64_t i = 0; i < dataset.size(); ++i) labels_.data_ptr<int64_t>()[i] = dataset.label(i);
  labels_ = labels_.to(device);
}

at::Tensor RunningLosses::relative(const at::Tensor& indices, const at::Tensor& losses) {
  const at::NoGradGuard no_grad;
  const at::Tensor visit = mean_of_sample(indices, losses.detach().to(at::kFloat)), before = losses_.index_select(0, indices);
  const at::Tensor after = at::where(before.lt(0), visit, momentum_ * before + (1 - momentum_) * visit);
  next_ = losses_.index_copy(0, indices, after);
  const at::Tensor largest = at::zeros({classes_}, next_.options()).scatter_reduce(0, labels_, next_, "amax");
  return after / largest.index_select(0, labels_.index_select(0, indices)).clamp_min(std::numeric_limits<float>::min());
}

void RunningLosses::commit() {
  if (next_.defined()) losses_ = std::exchange(next_, at::Tensor());
}

void RunningLosses::load(const SafetensorsFile& file) { losses_ = named_tensor(file, name_, losses_); }

at::Tensor relative_difficulty(const at::Tensor& biased, const at::Tensor& debiased) { return biased / (biased + debiased + 1e-8); }

DifficultyWeights::DifficultyWeights(const std::string& method, const SampleTable& dataset, double momentum, at::Device device)
    : biased_(method + ".biased_losses", dataset, momentum, device), debiased_(method + ".debiased_losses", dataset, momentum, device) {}

at::Tensor DifficultyWeights::weights(const at::Tensor& indices, const at::Tensor& biased, const at::Tensor& debiased) {
  return relative_difficulty(biased_.relative(indices, biased), debiased_.relative(indices, debiased));
}

void DifficultyWeights::commit() {
  biased_.commit();
  debiased_.commit();
}

void DifficultyWeights::load(const SafetensorsFile& file) {
  biased_.load(file);
  debiased_.load(file);
}

Metric relative_difficulty_metric() {
  return {kRelativeDifficulty, "mean relative-difficulty weight", Unit::kNumber, Better::kNeither, Standing::kTraining};
}

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

namespace {

constexpr const char* kDfa = "dfa";

// Two encoders of the same images: features of `intrinsic`, then those of `bias`.
class EncoderPair final : public Encoder {
 public:
  EncoderPair(std::shared_ptr<Encoder> intrinsic, std::shared_ptr<Encoder> bias)
      : intrinsic_(register_module("intrinsic", std::move(intrinsic))), bias_(register_module("bias", std::move(bias))) {}

  torch::Tensor forward(const torch::Tensor& images) override { return at::cat({intrinsic_->forward(images), bias_->forward(images)}, 1); }
  int64_t feature_dim() const override { return intrinsic_->feature_dim() + bias_->feature_dim(); }
  std::string registry_name() const override { return intrinsic_->registry_name(); }
  std::optional<int64_t> image_side() const override { return intrinsic_->image_side(); }

 private:
  std::shared_ptr<Encoder> intrinsic_, bias_;
};

// C_b, on the features of both encoders.
class BiasHead final : public torch::nn::Module {
 public:
  BiasHead(const Recipe& recipe, int64_t features, int64_t classes)
      : classifier_(*recipe.classifier, features, classes, side_seed(recipe.seed, kBiasNetwork)) {
    register_module("classifier", classifier_.linear().ptr());
  }
  at::Tensor logits(const at::Tensor& features) const { return classifier_.logits(features.unsqueeze(1)); }  // [B, 2 D] to [B, classes]

 private:
  Classifier classifier_;
};

struct Halves {
  at::Tensor intrinsic, bias;  // [B, D]

  at::Tensor for_label() const { return at::cat({intrinsic, bias.detach()}, 1); }
  at::Tensor for_bias() const { return at::cat({intrinsic.detach(), bias}, 1); }
};

class Dfa final : public ClassificationMethod {
 public:
  Dfa(const Recipe& recipe, const SampleTable& dataset, const DfaOptions& options, MethodParts parts)
      : ClassificationMethod(kDfa, std::move(parts)),
        options_(options),
        seed_(recipe.seed),
        first_swap_(static_cast<int64_t>(std::ceil(options.swap_after * static_cast<double>(steps_of_run(recipe, dataset))))),
        bias_head_(dynamic_cast<const BiasHead&>(*model().side.front().module)),
        difficulty_(kDfa, dataset, options.momentum, this->parts().forward.device) {}

  std::vector<std::pair<std::string, at::Tensor>> state() const override { return difficulty_.state(); }
  void load(const SafetensorsFile& file) override { difficulty_.load(file); }

 protected:
  Evaluated differentiate(const Batch& batch, int64_t step) override {
    const ModelOutput output = forward(model(), batch.images(), parts().forward);
    const int64_t D = output.features.size(2) / 2;
    const at::Tensor rows = output.features.squeeze(1), labels = labels_of(batch), indices = on_device(batch.indices);
    const Halves own = {rows.slice(1, 0, D), rows.slice(1, D)};
    const at::Tensor bias_logits = bias_head_.logits(own.for_bias());
    const at::Tensor biased = cross_entropy_by_sample(bias_logits, labels);
    const bool swaps = step > first_swap_;
    const at::Tensor order = swaps ? permutation_of(rows.size(0), step) : at::Tensor();
    const Halves swapped = swaps ? Halves{own.intrinsic, own.bias.index_select(0, order)} : Halves();
    at::Tensor weights;
    // The classifier's gradient flows to the intrinsic encoder alone.
    Evaluated evaluated = evaluate_logits({own.for_label().unsqueeze(1), output.projection}, batch, [&](const at::Tensor& logits) {
      const at::Tensor losses = cross_entropy_by_sample(logits, labels);
      weights = difficulty_.weights(indices, biased, losses);
      at::Tensor by_sample = losses * weights;
      if (swaps) {
        const at::Tensor mixed = model().classifier->logits(swapped.for_label().unsqueeze(1));
        by_sample = by_sample + options_.swap_weight * weights * cross_entropy_by_sample(mixed, labels);
      }
      return mean_by_sample(by_sample);
    });
    at::Tensor bias_loss = options_.bias_weight * generalized(bias_logits, labels);
    if (swaps) {
      bias_loss = bias_loss + options_.swap_weight * options_.bias_swap_weight *
                                  generalized(bias_head_.logits(swapped.for_bias()), labels.index_select(0, order));
    }
    add_bias_network(evaluated, bias_loss, bias_logits, labels);
    evaluated.metrics.push_back(mean_metric(kRelativeDifficulty, weights));
    backward(evaluated, output, {"bias_logits", bias_logits});
    return evaluated;
  }

  void after_update(const Batch&) override { difficulty_.commit(); }

 private:
  at::Tensor generalized(const at::Tensor& logits, const at::Tensor& labels) const {
    return generalized_cross_entropy_by_sample(logits, labels, options_.q).mean();
  }

  at::Tensor permutation_of(int64_t rows, int64_t step) const {
    RngKey key = {.domain = RngDomain::kShuffle, .seed = side_seed(seed_, kDfa), .epoch = static_cast<uint64_t>(step)};
    return on_device(permutation(rows, key));
  }

  DfaOptions options_;
  uint64_t seed_;
  int64_t first_swap_;  // steps without a swap
  const BiasHead& bias_head_;
  DifficultyWeights difficulty_;
};

Model encoder_pair(const Recipe& recipe, int64_t in_channels) {
  Model model;
  model.encoder = std::make_shared<EncoderPair>(recipe.encoder.make(in_channels, recipe.seed),
                                                recipe.encoder.make(in_channels, side_seed(recipe.seed, kBiasNetwork)));
  model.head = recipe.head.make(model.encoder->feature_dim(), recipe.seed);
  return model;
}

void check_dfa(const Recipe& recipe, const SampleTable& dataset) {
  require_classification(recipe, dataset, kDfa, Regularisers::kRejected);
  if (recipe.encoder.backbone.layer_decay == 1) return;
  throw usage_error("{}method 'dfa' trains two encoders whose layers it does not order; leave encoder.layer_decay out",
                    recipe.encoder.where);
}

}  // namespace

MethodEntry dfa_entry() {
  MethodEntry entry;
  entry.name = kDfa;
  entry.finds_bias_itself = true;
  entry.summary = "swaps the features of a bias encoder between samples; no bias labels (Lee et al. 2021)";
  take_options<DfaOptions>(entry);
  entry.metrics = bias_network_metrics();
  entry.metrics.push_back(relative_difficulty_metric());
  entry.check = check_dfa;
  entry.networks = encoder_pair;
  entry.side_networks = [](const Recipe& recipe, const DatasetInfo& info, const Model& evaluated) {
    const auto classes = static_cast<int64_t>(info.class_names.size());
    return std::vector<SideNetwork>{{kBiasNetwork, std::make_shared<BiasHead>(recipe, evaluated.encoder->feature_dim(), classes)}};
  };
  entry.make = [](const Recipe& recipe, const SampleTable& dataset, MethodParts parts) -> std::unique_ptr<Method> {
    return std::make_unique<Dfa>(recipe, dataset, recipe.method.as<DfaOptions>(), std::move(parts));
  };
  return entry;
}

}  // namespace debias

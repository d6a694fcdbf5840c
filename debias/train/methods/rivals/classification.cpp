#include "debias/train/methods/rivals/classification.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "debias/augment/view_pipeline.h"
#include "debias/core/error.h"
#include "debias/encoders/heads.h"
#include "debias/loader/batch_source.h"
#include "debias/losses/comparison.h"
#include "debias/losses/logits.h"

namespace debias {
namespace {

int64_t visits_of_epoch(const Recipe& recipe, const SampleTable& dataset) {
  return std::ssize(make_sampler(recipe, dataset)->epoch(recipe.seed, 0));
}

constexpr const char* kBiasLoss = "bias_loss";
constexpr const char* kBiasAccuracy = "bias_acc1";

at::Tensor log_probability(const at::Tensor& logits, const at::Tensor& labels) {
  const at::Tensor z = logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
  return at::log_softmax(z, 1).gather(1, labels.unsqueeze(1)).squeeze(1);
}

void require_objective(const Recipe& recipe, const std::string& where, const char* method, Regularisers regularisers) {
  int64_t terms = 0;
  for (const auto& term : recipe.objective) {
    if (is_cross_entropy(*term.objective)) {
      ++terms;
    } else if (term.entry->kind != InputKind::kRegulariser || regularisers == Regularisers::kRejected) {
      throw usage_error(
          "{}method '{}' weights the cross-entropy of each sample, and takes no objective '{}'; write objective: cross_entropy",
          term.where.empty() ? where : term.where, method, term.entry->name);
    }
  }
  if (terms == 1) return;
  throw usage_error("{}method '{}' needs the objective cross_entropy once, found it {} times; write objective: cross_entropy", where,
                    method, terms);
}

// First of the samples, and how many, that have no such key.
void require_known(const SampleTable& dataset, const char* method, const char* what, const std::function<int64_t(int64_t)>& key) {
  int64_t first = -1, unknown = 0;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    if (key(i) >= 0) continue;
    if (first < 0) first = i;
    ++unknown;
  }
  if (unknown == 0) return;
  throw data_error("method '{}' needs the {} of every sample; {} of {} have none, the first is {}; leave them out of the data", method,
                   what, unknown, dataset.size(), dataset.source(first));
}

}  // namespace

at::Tensor cross_entropy_by_sample(const at::Tensor& logits, const at::Tensor& labels) { return -log_probability(logits, labels); }

at::Tensor generalized_cross_entropy_by_sample(const at::Tensor& logits, const at::Tensor& labels, double q) {
  const at::Tensor log_p = log_probability(logits, labels);
  return -q * (q * log_p).exp().detach() * log_p;
}

ObjectiveResult mean_by_sample(const at::Tensor& losses, const at::Tensor& weights) {
  return mean_over_anchors({.loss = weights.defined() ? weights * losses : losses, .used = {}, .clamped = 0, .min_estimate = {}}, 1, {});
}

void require_classification(const Recipe& recipe, const SampleTable& dataset, const char* method, Regularisers regularisers) {
  require_images(recipe, dataset, method);
  const std::string& where = recipe.method.where;
  if (!recipe.classifier || recipe.classifier->gradient != ClassifierGradient::kFlow) {
    throw usage_error("{}method '{}' trains a classifier{}; write classifier: {{name: linear, gradient: flow}}", where, method,
                      recipe.classifier ? ", the recipe's has gradient: stop" : ", the recipe has none");
  }
  if (recipe.classifier->learning_rate) {
    throw usage_error("{}method '{}' trains encoder and classifier by one optimizer; leave classifier.learning_rate out", where, method);
  }
  require_objective(recipe, where, method, regularisers);
  if (recipe.views.count != 1) {
    throw usage_error("{}method '{}' works on 1 view, views.count is {}; write views.count: 1", where, method, recipe.views.count);
  }
  if (dataset.info().class_names.size() < 2) {
    throw usage_error("{}method '{}' needs labels of at least 2 classes, data set '{}' has {}; choose a labelled set", where, method,
                      dataset.info().name, dataset.info().class_names.size());
  }
  require_known(dataset, method, "label", [&](int64_t i) { return dataset.label(i); });
}

void require_bias_labels(const Recipe& recipe, const SampleTable& dataset, const char* method) {
  if (dataset.info().bias_names.size() < 2) {
    std::vector<std::string> others = methods_with(&MethodEntry::finds_bias_itself);
    const std::string last = others.back();
    others.pop_back();
    throw usage_error("{}method '{}' needs bias labels, data set '{}' has {}; use {} or {}, which need none, or add a column of them",
                      recipe.method.where, method, dataset.info().name, dataset.info().bias_names.empty() ? "none" : "one bias label alone",
                      fmt::join(others, ", "), last);
  }
  require_known(dataset, method, "bias label", [&](int64_t i) { return dataset.bias(i); });
}

void require_no_frozen_start(const Recipe& recipe, const char* method) {
  const int64_t frozen = recipe.encoder.backbone.freeze_epochs;
  if (frozen == 0) return;
  throw usage_error(
      "{}encoder: freeze_epochs: {}: method '{}' trains another network in the first epochs, so that nothing would be frozen; "
      "leave it out",
      recipe.encoder.where, frozen, method);
}

at::Tensor negative_entropy(const at::Tensor& logits) {
  const at::Tensor log_p = at::log_softmax(logits, 1);
  return (log_p.exp() * log_p).sum(1);
}

int64_t last_batch_of_epoch(const Recipe& recipe, const SampleTable& dataset) {
  const int64_t left = recipe.train.drop_last ? 0 : visits_of_epoch(recipe, dataset) % recipe.train.batch_size;
  return left == 0 ? recipe.train.batch_size : left;
}

int64_t steps_of_run(const Recipe& recipe, const SampleTable& dataset) {
  const int64_t visits = visits_of_epoch(recipe, dataset), batch = recipe.train.batch_size;
  return recipe.train.epochs * ((recipe.train.drop_last ? visits : visits + batch - 1) / batch);
}

// The name, letter by letter (FNV-1a): networks that share a run's seed begin with different weights.
uint64_t side_seed(uint64_t seed, const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return seed ^ hash;
}

SideClassifier::SideClassifier(const Recipe& recipe, const ChosenEncoder& encoder, const std::string& name, int64_t in_channels,
                               int64_t outputs) {
  const uint64_t seed = side_seed(recipe.seed, name);
  network_.encoder = encoder.make(in_channels, seed);
  const int64_t D = network_.encoder->feature_dim();
  network_.head = make_no_head(D);
  network_.classifier = std::make_shared<Classifier>(*recipe.classifier, D, outputs, seed);
  register_module("encoder", network_.encoder);
  register_module("classifier", network_.classifier->linear().ptr());
}

at::Tensor SideClassifier::features(const at::Tensor& images, const ForwardOptions& options) const {
  return debias::forward(network_, images, options).features;
}

at::Tensor SideClassifier::logits(const at::Tensor& features) const { return network_.classifier->logits(features); }

void take_bias_encoder(MethodEntry& entry) {
  OptionSpec spec;
  spec.name = kBiasEncoder;
  spec.type = "section of an encoder";
  spec.help = "encoder of the biased network; by default the recipe's encoder";
  entry.options.push_back(std::move(spec));
  entry.takes_bias_encoder = true;
}

void require_bias_encoder(const Recipe& recipe, const char* method) {
  if (!recipe.method.bias_encoder) return;
  const ChosenEncoder& encoder = *recipe.method.bias_encoder;
  if (encoder.entry->reads_words) {
    throw usage_error("{}method '{}': bias_encoder '{}' is one of sentences; choose an encoder of images", encoder.where, method,
                      encoder.entry->name);
  }
  if (const int64_t frozen = encoder.backbone.freeze_epochs; frozen > 0) {
    throw usage_error("{}method '{}': bias_encoder: freeze_epochs: {} applies only to the evaluated encoder; leave it out", encoder.where,
                      method, frozen);
  }
  const auto normalisation = encoder.normalisation();
  if (!normalisation) return;
  if (normalisation->asked) {
    throw usage_error("{}method '{}': bias_encoder sees the images of the recipe's encoder; leave its mean and std out", encoder.where,
                      method);
  }
  const ViewPipeline views = recipe.view_steps.make({0}, {1});
  if (views.mean() == normalisation->mean && views.std() == normalisation->std) return;
  throw usage_error(
      "{}method '{}': the weights of bias_encoder are for images of mean [{:g}] and std [{:g}], which the views do not give; write both in "
      "views.normalize, or leave its weights out",
      encoder.where, method, fmt::join(normalisation->mean, ", "), fmt::join(normalisation->std, ", "));
}

SideNetwork bias_network(const Recipe& recipe, const DatasetInfo& info) {
  const ChosenEncoder& encoder = recipe.method.bias_encoder ? *recipe.method.bias_encoder : recipe.encoder;
  const auto module =
      std::make_shared<SideClassifier>(recipe, encoder, kBiasNetwork, info.inputs(), static_cast<int64_t>(info.class_names.size()));
  return {kBiasNetwork, module, module->encoder(), encoder};
}

std::vector<SideNetwork> bias_network_alone(const Recipe& recipe, const DatasetInfo& info, const Model&) {
  return {bias_network(recipe, info)};
}

std::vector<Metric> bias_network_metrics() {
  return {{kBiasLoss, "training loss of the biased network", Unit::kNumber, Better::kNeither, Standing::kTraining},
          {kBiasAccuracy, "training accuracy of the biased network", Unit::kShare, Better::kNeither, Standing::kTraining}};
}

ClassificationMethod::ClassificationMethod(const char* method, MethodParts parts) : Method(std::move(parts)) {
  if (this->parts().ranks->is_alone()) return;
  throw usage_error("method '{}' trains in one process, {} were started; leave --ranks out", method, this->parts().ranks->size());
}

const SideClassifier& ClassificationMethod::side_classifier(const std::string& name) const {
  for (const auto& network : model().side) {
    if (network.name == name) return dynamic_cast<const SideClassifier&>(*network.module);
  }
  throw std::logic_error("no side network " + name);
}

Method::Evaluated ClassificationMethod::evaluate_logits(const ModelOutput& output, const Batch& batch,
                                                        const std::function<ObjectiveResult(const at::Tensor&)>& loss_of) const {
  return evaluate(output, batch, [&](const Term& term, const at::Tensor& logits) {
    if (term.on_logits_as_they_are()) return loss_of(logits);
    return term.objective()(input_of(term, batch, output, logits));
  });
}

Method::Evaluated ClassificationMethod::evaluate_network(const at::Tensor& logits, const at::Tensor& labels, const ObjectiveResult& loss) {
  Evaluated evaluated;
  evaluated.logits = logits;
  evaluated.terms = {loss};
  evaluated.values.emplace_back(loss.value);
  evaluated.add(loss.value * terms().begin()->weight());
  evaluated.loss = LateNumber(evaluated.total);
  evaluated.classifier.rows = labels.numel();
  evaluated.classifier.correct = LateNumber(logits.detach().argmax(1).eq(labels).sum());
  return evaluated;
}

void ClassificationMethod::add_bias_network(Evaluated& evaluated, const at::Tensor& loss, const at::Tensor& logits,
                                            const at::Tensor& labels) {
  evaluated.add(loss);
  evaluated.metrics.push_back({kBiasLoss, LateNumber(loss.detach()), LateNumber(1)});
  evaluated.metrics.push_back(mean_metric(kBiasAccuracy, logits.detach().argmax(1).eq(labels).to(at::kDouble)));
}

Method::LateMetric ClassificationMethod::mean_metric(const char* name, const at::Tensor& by_sample) {
  return {name, LateNumber(by_sample.detach().sum()), LateNumber(static_cast<double>(by_sample.numel()))};
}

}  // namespace debias

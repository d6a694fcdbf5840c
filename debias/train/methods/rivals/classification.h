// Common parts of supervised classification methods: losses by sample, a classifier beside the evaluated one, checks of recipe and data.
//
//   cross-entropy     l_i = -log p_i                       p_i = softmax(z_i) at the label y_i
//   generalized (GCE) l_i = q sg(p_i^q) (-log p_i)         sg: no gradient; its gradient is q times that of (1 - p_i^q) / q
//
// z [B, C] logits, y int64 [B] in 0..C-1, l [B] in the dtype of z (float32 for half precision), q in (0, 1]. The second is the form of the
// released code of Nam et al. 2020 (LfF); GeneralizedCrossEntropy of losses has both.
//
// A recipe of such a method has `classifier: {name: linear, gradient: flow}`, one view an image, and the term `cross_entropy`, whose value
// the method replaces. Several processes are rejected: losses by sample are those of one process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "debias/train/methods/method.h"

namespace debias {

at::Tensor cross_entropy_by_sample(const at::Tensor& logits, const at::Tensor& labels);
at::Tensor generalized_cross_entropy_by_sample(const at::Tensor& logits, const at::Tensor& labels, double q);

// The mean over the batch of w_i l_i; w undefined: 1.
ObjectiveResult mean_by_sample(const at::Tensor& losses, const at::Tensor& weights = {});

// Terms beside the cross-entropy: `fairkl` and `end`, which read the evaluated network's outputs.
enum class Regularisers { kTaken, kRejected };

// Usage errors in one line: no images, no classifier with gradient flow, another objective, several views. Data errors: samples of unknown
// label. `method` is the entry's name.
void require_classification(const Recipe& recipe, const SampleTable& dataset, const char* method,
                            Regularisers regularisers = Regularisers::kTaken);

// For a method that reads bias labels: a usage error, naming methods that need none, if the data set has none; a data error if some
// samples are of unknown bias.
void require_bias_labels(const Recipe& recipe, const SampleTable& dataset, const char* method);

// A usage error where the recipe freezes its encoder in the first epochs, which the method spends on another network.
void require_no_frozen_start(const Recipe& recipe, const char* method);

// sum_k p_k log p_k of each row of logits [B, K]: minus the entropy, in [-log K, 0].
at::Tensor negative_entropy(const at::Tensor& logits);

// Images of an epoch's last batch.
int64_t last_batch_of_epoch(const Recipe& recipe, const SampleTable& dataset);

// Number of steps of the whole run; the last batch of an epoch counts unless drop_last leaves it out.
int64_t steps_of_run(const Recipe& recipe, const SampleTable& dataset);

// Seed of the initial weights of a side network of this name; another for each name.
uint64_t side_seed(uint64_t seed, const std::string& name);

// Encoder and linear classifier, as the recipe's evaluated network without its head. Weights follow from the recipe's seed and the name, and
// differ from the evaluated network's unless both start from a file.
class SideClassifier : public torch::nn::Module {
 public:
  // `outputs` logits.
  SideClassifier(const Recipe& recipe, const ChosenEncoder& encoder, const std::string& name, int64_t in_channels, int64_t outputs);

  at::Tensor features(const at::Tensor& images, const ForwardOptions& options) const;  // images [V, B, ...] to float32 [B, V, D]
  at::Tensor logits(const at::Tensor& features) const;                                 // [B, V, D] to [V*B, outputs]
  const std::shared_ptr<Encoder>& encoder() const { return network_.encoder; }

 private:
  Model network_;
};

// A method's option `bias_encoder: {name: ..., ...}`, or a name alone: the encoder of its biased network; the recipe's where it is absent.
inline constexpr const char* kBiasEncoder = "bias_encoder";
void take_bias_encoder(MethodEntry& entry);  // behind its other options
// Usage errors: an encoder of sentences, or with a normalisation of its own, which both networks' images cannot have.
void require_bias_encoder(const Recipe& recipe, const char* method);

// The biased network of a method, "bias": a SideClassifier with that encoder and as many outputs as there are classes.
inline constexpr const char* kBiasNetwork = "bias";
SideNetwork bias_network(const Recipe& recipe, const DatasetInfo& info);
// That alone: MethodEntry::side_networks of most methods.
std::vector<SideNetwork> bias_network_alone(const Recipe& recipe, const DatasetInfo& info, const Model& evaluated);

// `bias_loss`, the mean of a biased network's training loss, and `bias_acc1`, the share of images that it classifies correctly.
std::vector<Metric> bias_network_metrics();

class ClassificationMethod : public Method {
 public:
  ClassificationMethod(const char* method, MethodParts parts);  // a usage error where there are several processes

 protected:
  const SideClassifier& side_classifier(const std::string& name) const;  // of Model::side; std::logic_error where there is none

  at::Tensor labels_of(const Batch& batch) const { return on_device(batch.labels); }
  at::Tensor biases_of(const Batch& batch) const { return on_device(batch.biases); }

  // evaluate() with `loss_of` the classifier's logits in the place of the cross-entropy; regularisers compute what they do elsewhere.
  Evaluated evaluate_logits(const ModelOutput& output, const Batch& batch,
                            const std::function<ObjectiveResult(const at::Tensor& logits)>& loss_of) const;

  // Result of a step that trains a network beside the evaluated one: its loss as the term's, and the logits for the classifier's metrics.
  Evaluated evaluate_network(const at::Tensor& logits, const at::Tensor& labels, const ObjectiveResult& loss);

  // Adds a biased network's loss to what the step minimises, and its metrics.
  static void add_bias_network(Evaluated& evaluated, const at::Tensor& loss, const at::Tensor& logits, const at::Tensor& labels);
  static LateMetric mean_metric(const char* name, const at::Tensor& by_sample);  // its mean over all samples of an epoch's steps
};

}  // namespace debias

// The network of a run: encoder, head and classifier, and how a batch of views passes the first two.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/encoders/encoder.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

// A linear classifier on the encoder's pooled output, trained beside the encoder.
//
//   logits = W f + b,   f the pooled output of a view, L2-normalised where `normalize` says so;   W [C, D], b [C], C classes
//
// gradient stop: an online probe. It is trained with cross-entropy on every view, and the encoder gets no gradient from it.
// gradient flow: it is part of the network. Its cross-entropy joins the objective with weight 1, unless the objective has a term on the
// logits, which then takes the cross-entropy's place.
// normalize auto: with a projection head the output as it is, without one L2-normalised, as the objective then sees it: the convention of
// the released code of Barbano et al. 2023 and of Tartaglione et al. 2021.
// learning_rate: of an Adam of the classifier's own, constant, without weight decay. auto: 1e-3 with gradient stop; with gradient flow the
// classifier is updated by the recipe's optimizer, under its schedule.
class Classifier {
 public:
  // Initialised from `seed` alone. `options` are resolved (read_recipe).
  Classifier(const ClassifierOptions& options, int64_t feature_dim, int64_t classes, uint64_t seed);

  // features [B, V, D] to logits [V*B, C], view-major, on the classifier's device; with gradient stop nothing flows back to the features.
  at::Tensor logits(const at::Tensor& features) const;

  // Upper bound of each logit, of the same shape: |(W_c, b_c)| |(f, 1)|, the bias being the weight of a feature that is 1 everywhere.
  at::Tensor norms(const at::Tensor& features) const;

  bool flows() const { return options_.gradient == ClassifierGradient::kFlow; }
  std::optional<double> own_learning_rate() const { return options_.learning_rate; }  // absent: the recipe's optimizer has it
  torch::nn::Linear& linear() { return linear_; }

 private:
  at::Tensor rows_of(const at::Tensor& features) const;

  ClassifierOptions options_;
  mutable torch::nn::Linear linear_;
};

// A network that is trained beside the evaluated one, such as a biased classifier. A checkpoint holds it as "NAME." tensors, the recipe's
// optimizer updates its parameters, and a step that fails restores its running statistics. Evaluation and export never read it.
struct SideNetwork {
  std::string name;
  std::shared_ptr<torch::nn::Module> module;
  // The module's part "encoder", where it has one, and what it was made from: rates and image size follow from them.
  std::shared_ptr<Encoder> encoder = nullptr;
  ChosenEncoder chosen_encoder = {};
};

struct Model {
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<Head> head;
  std::shared_ptr<Classifier> classifier = nullptr;  // null where the run has none
  std::shared_ptr<Head> predictor = nullptr;         // after the head, in training alone; null where the method has none
  std::vector<SideNetwork> side = {};                // in training alone

  std::vector<torch::Tensor> parameters() const;  // encoder's, head's, predictor's, then those of side networks
  // Parameters and buffers: "encoder.", "head.", "predictor.", "classifier." names, and those of side networks.
  std::vector<std::pair<std::string, torch::Tensor>> state() const;
  // Parameters that the objective trains: encoder's, head's, predictor's, the classifier's where its gradient flows, and side networks'.
  std::vector<std::pair<std::string, torch::Tensor>> named_parameters() const;
  void train(bool on) const;
  void to(c10::Device device) const;
};

// The recipe's encoder on images of so many channels, and its head: what most methods have.
Model encoder_and_head(const Recipe& recipe, int64_t in_channels);

// The networks of the recipe's method, with the recipe's classifier with `classes` classes; 0: without, as evaluation
// of an encoder wants it.
Model make_model(const Recipe& recipe, int64_t in_channels, int64_t classes = 0);

// Output for one batch: float32 [B, V, D], rows not yet normalised.
struct ModelOutput {
  torch::Tensor features;
  torch::Tensor projection;
};

struct ForwardOptions {
  Forward order = Forward::kPerView;
  Precision precision = Precision::kFp32;
  bool channels_last = true;
  c10::Device device = c10::Device(c10::kCPU);
};

// images: [V, B, C, H, W] float32 on the CPU.
ModelOutput forward(const Model& model, const torch::Tensor& images, const ForwardOptions& options);
// The same of the encoder's features of images, [V, B, D].
ModelOutput forward_features(const Model& model, const torch::Tensor& features, const ForwardOptions& options);

}  // namespace debias

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
#pragma once

#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/train/recipe/recipe.h"

namespace debias {

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

}  // namespace debias

// One training step: forward, objective, backward, checks, update.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "debias/loader/loader.h"
#include "debias/losses/objective.h"
#include "debias/train/model.h"
#include "debias/train/recipe.h"

namespace debias {

struct Term {
  std::string name;
  TermOptions options;
  std::shared_ptr<Objective> objective;
};
std::vector<Term> make_terms(const Recipe& recipe);  // usage errors where an objective cannot use the recipe's views

struct StepReport {
  double loss = 0;
  double grad_norm = 0;
  int64_t anchors = 0;  // of all terms
  int64_t clamped = 0;
  std::optional<double> min_estimate;
};

class Step {
 public:
  // `micro_batch` images pass the network at a time; the objective always sees the whole batch: embeddings of all parts are computed
  // first, their gradient taken, and each part is run again to carry it back. BatchNorm sees a part at a time, so the result differs
  // from one large pass wherever the encoder has BatchNorm.
  Step(Model model, std::vector<Term> terms, torch::optim::Optimizer& optimizer, ForwardOptions forward,
       std::optional<int64_t> micro_batch);

  // Throws a numeric error naming step, tensor and sample ids when the loss or a gradient is not finite; parameters (and BatchNorm's
  // running statistics) are then as they were before the step.
  StepReport run(const Batch& batch, int64_t step);

 private:
  struct Evaluated;
  Evaluated evaluate(const ModelOutput& output, const Batch& batch) const;
  void backward_in_parts(const Batch& batch, StepReport& report);
  void check_finite(const ModelOutput& output, const Batch& batch, double loss) const;

  Model model_;
  std::vector<Term> terms_;
  torch::optim::Optimizer& optimizer_;
  ForwardOptions forward_;
  std::optional<int64_t> micro_batch_;
};

}  // namespace debias

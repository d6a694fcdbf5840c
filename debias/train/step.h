// One training step: forward, objective, backward, checks, update.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "debias/loader/loader.h"
#include "debias/train/evidence.h"
#include "debias/train/model.h"
#include "debias/train/optimizers.h"
#include "debias/train/term.h"

namespace debias {

struct StepReport {
  double loss = 0;       // what trains the encoder: the weighted sum of the terms, and the classifier's cross-entropy where that joins it
  double grad_norm = 0;  // of the parameters that it trains
  Evidence evidence;
};

class Step {
 public:
  // `micro_batch` images pass the network at a time; the objective always sees the whole batch: embeddings of all parts are computed
  // first, their gradient taken, and each part is run again to carry it back. BatchNorm sees a part at a time, so the result differs
  // from one large pass wherever the encoder has BatchNorm.
  // `loss_precision` is that of inner products inside the losses (ObjectiveInput::bfloat16_products), `forward` has the network's.
  // `optimizers` must outlive the step.
  Step(Model model, std::vector<Term> terms, const Optimizers& optimizers, ForwardOptions forward, std::optional<int64_t> micro_batch,
       Precision loss_precision = Precision::kFp32);

  void begin_epoch(int64_t epoch);  // from 0: the terms' schedules and estimates

  // After an epoch's observers: the terms take the estimates that are due (Term::take_estimates).
  std::vector<std::string> take_estimates(int64_t finished_epochs, const Metrics& metrics);
  std::map<std::string, double> estimates() const;  // "bayesian.alpha": the last one taken; part of the training state
  void restore_estimates(const std::map<std::string, double>& estimates);

  std::vector<std::string> labels() const;  // of the terms
  Metrics scheduled() const;                // "bayesian.beta": the value in force

  // Throws a numeric error naming step, tensor and sample ids when the loss or a gradient is not finite; parameters (and BatchNorm's
  // running statistics) are then as they were before the step.
  StepReport run(const Batch& batch, int64_t step);

 private:
  struct Evaluated;
  Evaluated evaluate(const ModelOutput& output, const Batch& batch) const;
  void train_classifier(const torch::Tensor& labels, Evaluated& result) const;
  void backward_in_parts(const Batch& batch, StepReport& report);
  void check_finite(const ModelOutput& output, const Batch& batch, const Evaluated& evaluated) const;

  Model model_;
  std::vector<Term> terms_;
  const Optimizers& optimizers_;
  ForwardOptions forward_;
  std::optional<int64_t> micro_batch_;
  Precision loss_precision_;
};

}  // namespace debias

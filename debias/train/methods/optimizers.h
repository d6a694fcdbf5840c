// Optimizers of a run's parameters: the recipe's, and the classifier's own if it has one.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/safetensors.h"
#include "debias/optim/optimizer.h"
#include "debias/train/methods/model.h"

namespace debias {

struct Optimizers {
  std::unique_ptr<Optimizer> network;     // the schedule sets its learning rate
  std::unique_ptr<Optimizer> classifier;  // Adam at a constant rate; null where the recipe's optimizer has the classifier

  void zero_grad() const;
  void step() const;

  // "optimizer." and "classifier_optimizer." tensors, and back from a checkpoint (data errors as of load_optimizer_state).
  std::vector<std::pair<std::string, torch::Tensor>> state() const;
  void load(const SafetensorsFile& file) const;
};

Optimizers make_optimizers(const Recipe& recipe, const Model& model);

}  // namespace debias

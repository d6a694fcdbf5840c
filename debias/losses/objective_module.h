// The torch::nn module of an objective: no parameters, the options as a member, forward(z, labels).
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <utility>

#include "debias/losses/objective.h"

namespace debias {

template <class Options, ObjectiveResult (*kFunction)(const ObjectiveInput&, const Options&)>
class ObjectiveModule : public torch::nn::Module {
 public:
  explicit ObjectiveModule(Options chosen = {}) : options(std::move(chosen)) {}

  // Only one overload, because module holders deduce its result type.
  ObjectiveResult forward(const at::Tensor& z, const at::Tensor& labels = {}) {
    return kFunction(ObjectiveInput{.z = z, .labels = labels}, options);
  }

  Options options;
};

}  // namespace debias

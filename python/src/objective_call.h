// One call of an objective by an operator of torch: the request and its result.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "debias/losses/objective.h"

namespace debias {

struct ObjectiveCall : torch::CustomClassHolder {
  std::string name;
  std::string options;   // a JSON object; "inf" is a number
  ObjectiveInput input;  // z is left out: it is the tensor that is differentiated, with keys and positives where they are
  bool normalize = true;
};

struct ObjectiveValue {
  at::Tensor value;        // 0-d
  at::Tensor per_anchor;   // [anchors]
  at::Tensor diagnostics;  // double [6]: anchors, anchors used, clamped, least estimate, effective sample size (inf: none), engine
};

// The value as part of z's graph, differentiable as often as the engine is: twice with the dense one, once with the fused one. Unless it
// takes logits, rows are divided by their norms first if `normalize` is set. bfloat16 and float16 are computed in float32, except for
// products of bfloat16 rows (ObjectiveInput::bfloat16_products).
ObjectiveValue evaluated(const at::Tensor& z, const ObjectiveCall& call);

struct Wanted {  // gradients
  bool z = true, keys = false, positives = false;

  bool any() const { return z || keys || positives; }
};

struct ObjectiveGradient {
  ObjectiveValue result;  // outside any graph
  // Of the value with respect to z, keys and positives, in the dtype of the value; empty unless requested.
  at::Tensor gradient, keys_gradient, positives_gradient;
};

// The same with the gradient formed at once: a graph is built and consumed inside. With `of_losses` [anchors] the gradient is that of
// sum_a of_losses_a loss_a in place of the value's.
ObjectiveGradient evaluated_with_gradient(const at::Tensor& z, const ObjectiveCall& call, const Wanted& wanted,
                                          const at::Tensor& of_losses = {});

// What evaluated_with_gradient returns, as tensors without data.
ObjectiveGradient shapes_of(const at::Tensor& z, const ObjectiveCall& call, const Wanted& wanted);

// Every objective with its options: a JSON array, for signatures and documentation.
std::string objective_table();
// The current options, as a JSON object; usage error if they are rejected.
std::string resolved_options(std::string_view name, std::string_view options);

}  // namespace debias

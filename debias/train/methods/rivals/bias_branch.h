// Input of a method's bias-only branch for a sample: features of a biased network that is trained beside the evaluated one, or the bias
// label. And linear layers that are trained beside it.
#pragma once

#include <torch/nn/modules/linear.h>

#include <string>

#include "debias/core/enum_names.h"
#include "debias/train/methods/method.h"

namespace debias {

enum class BiasBranch { kLabels, kNetwork };
constexpr auto enum_words(BiasBranch) { return named("labels", "network"); }

// Errors of require_bias_labels() or of require_bias_encoder(), whichever the branch needs; a usage error where it has a bias_encoder and
// reads labels.
void require_bias_branch(const Recipe& recipe, const SampleTable& dataset, const char* method, BiasBranch branch);

// A linear layer "NAME" whose weights follow from the recipe's seed and the name; with trained = false they stay as they are.
SideNetwork side_linear(const Recipe& recipe, const std::string& name, int64_t inputs, int64_t outputs, bool trained);
torch::nn::LinearImpl& side_linear_of(const Model& model, const std::string& name);  // std::logic_error where there is none

}  // namespace debias

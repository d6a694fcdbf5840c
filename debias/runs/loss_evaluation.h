// One timed evaluation of an objective with its gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

enum class LossPrecision { kFp32, kBf16, kFp64 };

template <>
struct EnumNames<LossPrecision> {
  static constexpr std::array<std::pair<std::string_view, LossPrecision>, 3> values = {
      {{"fp32", LossPrecision::kFp32}, {"bf16", LossPrecision::kBf16}, {"fp64", LossPrecision::kFp64}}};
};

struct LossEvaluation {
  ObjectiveResult result;  // value detached
  at::Tensor gradient;     // of the value with respect to the input's z, in its dtype
  double seconds_forward = 0, seconds_backward = 0;
  int64_t peak_bytes = 0;  // beyond the input, including the gradient
};

struct LossEvaluationOptions {
  LossPrecision precision = LossPrecision::kFp32;
  bool normalize = true;  // L2-normalises rows first; the gradient includes the normalisation
  int64_t repeat = 0;     // number of further evaluations; times are then their medians
};

// `input.z` in float32 (fp32, bf16: rounded to bfloat16 after the normalisation) or float64 (fp64).
// Numeric error if the value or the gradient is not finite.
LossEvaluation evaluate_loss(const Objective& objective, const ObjectiveInput& input, const LossEvaluationOptions& options);

// Bytes of matrices of all pairs, including those of the backward pass; 0 if none is formed.
double dense_bytes(const ObjectiveInput& input, InputKind kind);

}  // namespace debias

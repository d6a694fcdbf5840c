// One timed evaluation of an objective with its gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/losses/objective.h"

namespace debias {

enum class LossPrecision { kFp32, kBf16, kFp64 };

constexpr auto enum_words(LossPrecision) { return named("fp32", "bf16", "fp64"); }

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

// Input of `debias loss`: embeddings and their keys from .npy files, checked.
enum class Normalize { kTrue, kAssert, kFalse };

constexpr auto enum_words(Normalize) { return named("true", "assert", "false"); }

struct LossFiles {
  std::string embeddings, labels, bias, weights, prior;  // empty: absent
  std::string ids, keys, key_labels, key_ids;
};

struct LossInput {
  ObjectiveInput input;             // z in the file's dtype (float32 or float64), [B, V, D]; for logits [N, C]
  std::vector<int64_t> file_shape;  // of z; [N, D] in the file is [N, 1, D] in the input
};

// Usage error for a file that the objective does not accept, for one that it needs and lacks, and for a file that requires another one.
void require_loss_files(const ObjectiveEntry& entry, const LossFiles& files);

// Data error, naming the file and the first row that is not finite ("sample 3, view 1").
LossInput read_loss_input(const LossFiles& files, InputKind kind);

// Data error, naming the first row whose norm is not 1 within 1e-4.
void assert_unit_rows(const at::Tensor& z, const std::string& path);

// z / max(|z|, 1e-12) by row, in z's dtype and graph, with norms in double. A zero row stays zero and has a finite gradient. Uses memory
// for one copy of the rows besides the result.
at::Tensor normalized_rows(const at::Tensor& z);

// Output of `debias loss`.
struct LossRun {
  std::string name, engine, device;
  LossPrecision precision;
};

struct LossOutputs {
  std::string gradient, per_anchor;  // .npy; empty: not written
};

// Writes the gradient [shape] in its dtype, and the loss of each anchor in float64.
void write_loss_outputs(const LossEvaluation& evaluation, const LossOutputs& files, const std::vector<int64_t>& shape);

nlohmann::ordered_json loss_json(const LossEvaluation& evaluation, const LossRun& run);
std::string loss_text(const LossEvaluation& evaluation, const LossRun& run);  // one line per number

}  // namespace debias

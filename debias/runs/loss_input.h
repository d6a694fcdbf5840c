// Input of `debias loss`: embeddings and their keys from .npy files, checked.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

enum class Normalize { kTrue, kAssert, kFalse };

template <>
struct EnumNames<Normalize> {
  static constexpr std::array<std::pair<std::string_view, Normalize>, 3> values = {
      {{"true", Normalize::kTrue}, {"assert", Normalize::kAssert}, {"false", Normalize::kFalse}}};
};

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

}  // namespace debias

// Scores of anchors against rows of a memory bank.
//
//   scores[i, k] = <bank[ids[i, k]], f_i> / temperature
//
// The gradient flows to f alone. It reads the bank again: one that was changed between the scores and backward() is rejected by autograd,
// so a bank is updated after the step.
#pragma once

#include <ATen/core/Tensor.h>

namespace debias {

// bank [n, D], ids int32 [B, picks] on the CPU, f [B, D] where the bank is. float32 on the CPU is computed in place
// (kernels/bank_scores.h), in memory of a few bytes for each score. A device multiplies by the whole bank and picks from the products where
// those are fewer numbers than the picked rows have. Anything else is computed as gathered_bank_scores.
at::Tensor bank_scores(const at::Tensor& bank, const at::Tensor& ids, const at::Tensor& f, double temperature);

// The definition: the picked rows are copied, D numbers for each score. ids: where the bank is.
at::Tensor gathered_bank_scores(const at::Tensor& bank, const at::Tensor& ids, const at::Tensor& f, double temperature);

}  // namespace debias

// Scores of anchors against rows of a memory bank.
//
//   scores[i, k] = <bank[ids[i, k]], f_i> / temperature
//
// Only f has a gradient, and computing it reads the bank again. Autograd rejects a bank that was changed between the scores and backward(),
// so update a bank after the step.
#pragma once

#include <ATen/core/Tensor.h>

namespace debias {

// bank [n, D], ids int32 [B, picks] on the CPU, f [B, D] on the device of the bank. float32 on the CPU is computed in place
// (kernels/bank_scores.h), in a few bytes per score. A device multiplies by the whole bank and picks from the products if they are fewer
// numbers than the picked rows. All other cases use gathered_bank_scores.
at::Tensor bank_scores(const at::Tensor& bank, const at::Tensor& ids, const at::Tensor& f, double temperature);

// The definition: copies the picked rows, D numbers per score. ids must be on the device of the bank.
at::Tensor gathered_bank_scores(const at::Tensor& bank, const at::Tensor& ids, const at::Tensor& f, double temperature);

}  // namespace debias

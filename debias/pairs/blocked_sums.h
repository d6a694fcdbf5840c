// The sums of pair_sums.h by blocks of anchors against all keys, in libtorch alone: any device, float32 and float64, with keys or without,
// O((n + m) * block) memory. The backward pass forms each block again. If the keys are the anchors, a block's weights have both roles of
// its rows, so that one product and one owner a row is all that it takes. Differentiating twice is rejected.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "debias/pairs/pair_sums.h"

namespace debias {

std::vector<at::Tensor> blocked_log_sums(const Rows& rows, const std::vector<PairSum>& requests);
std::vector<at::Tensor> blocked_ranked_log_sums(const Rows& rows, const std::vector<RankedSum>& requests);
at::Tensor blocked_log_add_sums(const Rows& rows, const at::Tensor& c, const LogAdd& term);  // epsilon finite

}  // namespace debias

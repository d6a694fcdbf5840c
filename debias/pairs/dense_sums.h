// The sums of pair_sums.h as plain compositions in libtorch over [n, m] matrices: their definition. Differentiable any number of times.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "debias/pairs/pair_sums.h"

namespace debias {

std::vector<at::Tensor> dense_log_sums(const Rows& rows, const std::vector<PairSum>& requests);
std::vector<at::Tensor> dense_ranked_log_sums(const Rows& rows, const std::vector<RankedSum>& requests);
at::Tensor dense_log_add_sums(const Rows& rows, const at::Tensor& c, const LogAdd& term);

// The same of a matrix of scores s [n, m], without those that are `out`, bool [n, m].
at::Tensor matrix_log_sum(const at::Tensor& s, const at::Tensor& out, double multiplier);
std::vector<at::Tensor> matrix_ranked_log_sums(const at::Tensor& s, const at::Tensor& out, const std::vector<RankedSum>& requests);

// [rows, m] in 1..N among the columns that are not `out`, ties sharing the largest; 0 elsewhere.
at::Tensor ranks(const at::Tensor& s, const at::Tensor& out);

}  // namespace debias

#include "debias/evaluate/logistic_regression.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "debias/evaluate/descent.h"

namespace debias {
namespace {

struct Evaluated {
  std::vector<double> values;
  at::Tensor gradients;  // [A, D + 1]
};

// Fits problems with weights [A, D + 1] and targets [n, A].
Evaluated evaluate_at(const at::Tensor& rows, const at::Tensor& weights, const at::Tensor& targets, const at::Tensor& C) {
  const at::Tensor margins = rows.mm(weights.t()).mul_(targets);
  const at::Tensor is_row = targets.ne(0);
  const at::Tensor losses = at::log_sigmoid(margins).masked_fill_(is_row.logical_not(), 0).sum(0).neg_();
  const at::Tensor pull = at::sigmoid(margins.neg()).mul_(targets).neg_();  // 0 where the target is
  Evaluated found;
  found.gradients = pull.t().mm(rows).mul_(C.unsqueeze(1)).add_(weights);
  const at::Tensor values = (losses * C + weights.square().sum(1) / 2).contiguous();
  found.values.assign(values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel());
  return found;
}

std::vector<double> row_of(const at::Tensor& matrix, int64_t row) {
  const double* data = matrix.const_data_ptr<double>() + row * matrix.size(1);
  return {data, data + matrix.size(1)};
}

// ||gradient|| of each problem at w = 0.
std::vector<double> first_norms(const at::Tensor& rows, const at::Tensor& targets, const at::Tensor& C) {
  const at::Tensor norms = (targets.t().mm(rows).norm(2, 1) * C / 2).contiguous();
  return {norms.const_data_ptr<double>(), norms.const_data_ptr<double>() + norms.numel()};
}

}  // namespace

at::Tensor with_constant(const at::Tensor& rows) { return at::cat({rows.to(at::kDouble), at::ones({rows.size(0), 1}, at::kDouble)}, 1); }

LogisticRegression::LogisticRegression(const at::Tensor& rows) {
  const at::NoGradGuard no_grad;
  const at::Tensor all = with_constant(rows);
  at::Tensor squares;
  std::tie(squares, axes_) = at::linalg_eigh(all.t().mm(all));
  rows_ = all.mm(axes_);
  const at::Tensor curvature = squares.clamp_min(0).div_(4).contiguous();
  curvature_.assign(curvature.const_data_ptr<double>(), curvature.const_data_ptr<double>() + curvature.numel());
}

at::Tensor LogisticRegression::decisions(const at::Tensor& weights) const { return rows_.mm(weights.mm(axes_).t()); }

LogisticFits LogisticRegression::fit(const at::Tensor& targets, const std::vector<double>& C, const at::Tensor& start,
                                     const LogisticSolverOptions& options) const {
  const at::NoGradGuard no_grad;
  const int64_t K = targets.size(1), D = rows_.size(1);
  const at::Tensor all_C = at::tensor(C, at::kDouble);
  const std::vector<double> norms = first_norms(rows_, targets, all_C);
  std::vector<Descent> descents;
  std::vector<int64_t> active(static_cast<size_t>(K));
  std::iota(active.begin(), active.end(), int64_t{0});
  const at::Tensor begin = start.defined() ? start.mm(axes_).contiguous() : at::zeros({K, D}, at::kDouble);
  for (int64_t k = 0; k < K; ++k) {
    std::vector<double> scales;
    for (const double curvature : curvature_) scales.push_back(1 / (1 + C[static_cast<size_t>(k)] * curvature));
    descents.emplace_back(row_of(begin, k), std::move(scales));
  }

  LogisticFits fits;
  at::Tensor chosen = targets, own_C = all_C;
  while (!active.empty()) {
    at::Tensor trials = at::empty({std::ssize(active), D}, at::kDouble);
    for (size_t a = 0; a < active.size(); ++a) {
      const auto& trial = descents[static_cast<size_t>(active[a])].trial();
      std::copy(trial.begin(), trial.end(), trials.mutable_data_ptr<double>() + static_cast<int64_t>(a) * D);
    }
    const Evaluated found = evaluate_at(rows_, trials, chosen, own_C);
    fits.evaluations += std::ssize(active);
    std::vector<int64_t> left;
    for (size_t a = 0; a < active.size(); ++a) {
      const auto k = static_cast<size_t>(active[a]);
      const bool done = descents[k].take(found.values[a], row_of(found.gradients, static_cast<int64_t>(a)), options.tolerance * norms[k]);
      const bool too_long = descents[k].iterations() >= options.iterations;
      fits.unfinished += !done && too_long;
      if (!done && !too_long) left.push_back(active[a]);
    }
    if (left.size() == active.size()) continue;
    active = std::move(left);
    const at::Tensor index = at::tensor(active, at::kLong);
    chosen = targets.index_select(1, index);
    own_C = all_C.index_select(0, index);
  }
  at::Tensor turned = at::empty({K, D}, at::kDouble);
  for (int64_t k = 0; k < K; ++k) {
    const Descent& descent = descents[static_cast<size_t>(k)];
    std::copy(descent.point().begin(), descent.point().end(), turned.mutable_data_ptr<double>() + k * D);
    fits.objective.push_back(descent.value());
  }
  fits.weights = turned.mm(axes_.t());
  return fits;
}

}  // namespace debias

#include "debias/evaluate/protocols/logistic_regression.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/optim/lbfgs.h>

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"

namespace debias {
namespace {

constexpr int64_t kChunk = 512;       // rows in double at a time
constexpr int64_t kLargestSums = 64;  // blocks of rows, each with sums of its own

struct LogisticSums {
  double loss = 0;
  at::Tensor weight, bias;  // of softmax - one-hot: times x [C, D], alone [C]
};

class Regression {
 public:
  Regression(const at::Tensor& x, const std::vector<int64_t>& y, int64_t classes, double l2, const Standardisation& scale)
      : x_(x),
        y_(at::tensor(y, at::kLong).unsqueeze(1)),
        mean_(scale.mean),
        deviation_(scale.deviation),
        classes_(classes),
        penalty_(l2 / static_cast<double>(x.size(0))) {}

  // The objective at `weight` and `bias`, of standardised rows; sets their gradients.
  double operator()(at::Tensor& weight, at::Tensor& bias) const {
    const at::Tensor own_weight = weight.detach() / deviation_, own_bias = own_bias_of(weight.detach(), bias.detach());
    const int64_t n = x_.size(0), chunks = (n + kChunk - 1) / kChunk;
    const int64_t rows = (chunks + kLargestSums - 1) / kLargestSums * kChunk, blocks = (n + rows - 1) / rows;
    std::vector<LogisticSums> of_block(static_cast<size_t>(blocks));
    at::parallel_for(0, blocks, 1, [&](int64_t low, int64_t high) {
      const at::NoGradGuard no_grad;
      for (int64_t block = low; block < high; ++block) {
        const int64_t begin = block * rows;
        of_block[static_cast<size_t>(block)] = sums_over(begin, std::min(rows, n - begin), own_weight, own_bias);
      }
    });
    const at::NoGradGuard no_grad;
    LogisticSums total = std::move(of_block[0]);
    for (size_t block = 1; block < of_block.size(); ++block) {
      total.loss += of_block[block].loss;
      total.weight += of_block[block].weight;
      total.bias += of_block[block].bias;
    }
    const auto count = static_cast<double>(n);
    weight.mutable_grad() = (total.weight - total.bias.unsqueeze(1) * mean_) / deviation_ / count + penalty_ * weight.detach();
    bias.mutable_grad() = total.bias / count;
    return total.loss / count + penalty_ / 2 * weight.detach().square().sum().item<double>();
  }

  // Weight and bias for rows as given.
  at::Tensor own_weight_of(const at::Tensor& weight) const { return weight / deviation_; }
  at::Tensor own_bias_of(const at::Tensor& weight, const at::Tensor& bias) const { return bias - at::mv(weight / deviation_, mean_); }

 private:
  LogisticSums sums_over(int64_t begin, int64_t count, const at::Tensor& weight, const at::Tensor& bias) const {
    LogisticSums sums{0, at::zeros({classes_, x_.size(1)}, at::kDouble), at::zeros({classes_}, at::kDouble)};
    for (int64_t first = begin; first < begin + count; first += kChunk) {
      const int64_t rows = std::min(kChunk, begin + count - first);
      const at::Tensor x = x_.narrow(0, first, rows).to(at::kDouble), y = y_.narrow(0, first, rows);
      const at::Tensor log_p = at::log_softmax(at::addmm(bias, x, weight.t()), 1);
      sums.loss -= log_p.gather(1, y).sum().item<double>();
      const at::Tensor residual = log_p.exp();
      residual.scatter_add_(1, y, at::full(y.sizes(), -1.0, residual.options()));
      sums.weight.addmm_(residual.t(), x);
      sums.bias += residual.sum(0);
    }
    return sums;
  }

  at::Tensor x_, y_, mean_, deviation_;
  int64_t classes_;
  double penalty_;
};

}  // namespace

Standardisation standardisation_of(const at::Tensor& x) {
  const auto count = static_cast<double>(x.size(0));
  at::Tensor sum = at::zeros({x.size(1)}, at::kDouble), squares = at::zeros_like(sum);
  for (const at::Tensor& chunk : x.split(kChunk)) sum += chunk.to(at::kDouble).sum(0);
  const at::Tensor mean = sum / count;
  for (const at::Tensor& chunk : x.split(kChunk)) squares += (chunk.to(at::kDouble) - mean).square().sum(0);
  const at::Tensor deviation = (squares / count).sqrt();
  return {mean, deviation.masked_fill(deviation == 0, 1)};
}

at::Tensor LogisticFit::logits(const at::Tensor& x) const { return at::addmm(bias, x.to(at::kDouble), weight.t()); }

LogisticFit fit_logistic_regression(const at::Tensor& x, const std::vector<int64_t>& y, int64_t classes, const LogisticOptions& options,
                                    Progress& progress) {
  if (x.size(0) != std::ssize(y) || y.empty()) {
    throw data_error("logistic regression: {} rows and {} classes of rows; give one a row", x.size(0), y.size());
  }
  const Regression regression(x, y, classes, options.l2, options.scale == nullptr ? standardisation_of(x) : *options.scale);
  at::Tensor weight = at::zeros({classes, x.size(1)}, at::kDouble), bias = at::zeros({classes}, at::kDouble);
  LogisticFit fit;
  progress.begin("logistic regression", options.iterations);
  int64_t evaluations = 0;
  const auto evaluate = [&] {
    fit.objective = regression(weight, bias);
    if (!std::isfinite(fit.objective)) throw numeric_error("logistic regression: its loss is {}; check the features", fit.objective);
    fit.gradient = std::max(weight.grad().abs().max().item<double>(), bias.grad().abs().max().item<double>());
    progress.advance(std::min(++evaluations, options.iterations), fmt::format("loss {:.4f}", fit.objective));
    return at::scalar_tensor(fit.objective, at::kDouble);
  };
  auto settings = torch::optim::LBFGSOptions(1).max_iter(options.iterations).max_eval(4 * options.iterations).history_size(10);
  settings.tolerance_grad(options.tolerance).tolerance_change(1e-15).line_search_fn("strong_wolfe");
  torch::optim::LBFGS lbfgs(std::vector<at::Tensor>{weight, bias}, settings);
  lbfgs.step(evaluate);
  evaluate();
  progress.end();
  const auto& state = *lbfgs.state().begin()->second;
  fit.iterations = static_cast<const torch::optim::LBFGSParamState&>(state).n_iter();
  fit.converged = fit.gradient <= options.tolerance;
  fit.weight = regression.own_weight_of(weight);
  fit.bias = regression.own_bias_of(weight, bias);
  return fit;
}

}  // namespace debias

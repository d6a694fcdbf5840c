#include "debias/evaluate/protocols/logistic_regression.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"
#include "debias/evaluate/descent.h"
#include "debias/runtime/each_alone.h"

namespace debias {
namespace {

constexpr int64_t kChunk = 512;       // rows in double at a time
constexpr int64_t kLargestSums = 64;  // blocks of rows, each with sums of its own

constexpr int64_t kLargestMoments = 4;  // of those of D x D
constexpr double kSavedSteps = 50;

struct LogisticSums {
  double loss = 0;
  at::Tensor weight, bias;  // of softmax - one-hot: times x [C, D], alone [C]

  void operator+=(const LogisticSums& other) {
    loss += other.loss;
    weight += other.weight;
    bias += other.bias;
  }
};

struct Moments {
  at::Tensor products;  // [D, D]
  void operator+=(const Moments& other) { products += other.products; }
};

// The sum of sums_over(begin, count) over blocks of n rows, in their order: at most `most` of them, so that threads do not change it.
template <class Sums, class Over>
Sums summed(int64_t n, int64_t most, const Over& sums_over) {
  const int64_t chunks = (n + kChunk - 1) / kChunk, rows = (chunks + most - 1) / most * kChunk, blocks = (n + rows - 1) / rows;
  std::vector<Sums> of_block(static_cast<size_t>(blocks));
  each_alone(blocks,
             [&](int64_t block) { of_block[static_cast<size_t>(block)] = sums_over(block * rows, std::min(rows, n - block * rows)); });
  for (size_t block = 1; block < of_block.size(); ++block) of_block[0] += of_block[block];
  return std::move(of_block[0]);
}

class Regression {
 public:
  Regression(const at::Tensor& x, const std::vector<int64_t>& y, int64_t classes, double l2, const Standardisation& scale)
      : x_(x),
        y_(at::tensor(y, at::kLong).unsqueeze(1)),
        mean_(scale.mean),
        deviation_(scale.deviation),
        classes_(classes),
        penalty_(l2 / static_cast<double>(x.size(0))) {}

  // The objective and its gradient at `weight` and `bias`, of standardised rows.
  LogisticSums operator()(const at::Tensor& weight, const at::Tensor& bias) const {
    const at::Tensor own_weight = own_weight_of(weight), own_bias = own_bias_of(weight, bias);
    LogisticSums total = summed<LogisticSums>(x_.size(0), kLargestSums,
                                              [&](int64_t begin, int64_t count) { return sums_over(begin, count, own_weight, own_bias); });
    const auto count = static_cast<double>(x_.size(0));
    total.weight = (total.weight - total.bias.unsqueeze(1) * mean_) / deviation_ / count + penalty_ * weight;
    total.bias /= count;
    total.loss = total.loss / count + penalty_ / 2 * weight.square().sum().item<double>();
    return total;
  }

  // M of W = V M, in which the Hessian is about 1; the identity, as an undefined tensor, where M would take longer than it saves.
  at::Tensor preconditioner() const {
    const int64_t n = x_.size(0), D = x_.size(1), rows = std::min(n, preconditioner_rows(D));
    const double cost = 2.0 * static_cast<double>(D) * static_cast<double>(D) * static_cast<double>(rows + D);
    const double step = 4.0 * static_cast<double>(n) * static_cast<double>(D) * static_cast<double>(classes_);
    if (cost > kSavedSteps * step) return {};
    const at::Tensor places = at::floor_divide(at::arange(rows, at::kLong) * n, rows);
    const auto squares = summed<Moments>(rows, kLargestMoments, [&](int64_t begin, int64_t count) {
      Moments sum{at::zeros({D, D}, at::kDouble)};
      for (int64_t first = begin; first < begin + count; first += kChunk) {
        const at::Tensor chosen = places.narrow(0, first, std::min(kChunk, begin + count - first));
        const at::Tensor s = (x_.index_select(0, chosen).to(at::kDouble) - mean_) / deviation_;
        sum.products.addmm_(s.t(), s);
      }
      return sum;
    });
    if (!squares.products.isfinite().all().item<bool>()) return {};  // the loss says what is wrong
    return head_preconditioner(squares.products / static_cast<double>(rows), penalty_);
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
  const at::Tensor turn = regression.preconditioner();
  const int64_t D = x.size(1);
  Descent descent(std::vector<double>(static_cast<size_t>(classes * (D + 1))),
                  std::vector<double>(static_cast<size_t>(classes * (D + 1)), 1));
  LogisticFit fit;
  at::Tensor weight, bias;
  // Sets weight, bias and the fit's figures; returns the gradient in the descent's coordinates.
  const auto evaluate = [&](const std::vector<double>& point) {
    const at::Tensor all = at::tensor(point, at::kDouble), v = all.narrow(0, 0, classes * D).view({classes, D});
    weight = turn.defined() ? v.mm(turn) : v;
    bias = all.narrow(0, classes * D, classes);
    const LogisticSums found = regression(weight, bias);
    if (!std::isfinite(found.loss)) throw numeric_error("logistic regression: its loss is {}; check the features", found.loss);
    fit.objective = found.loss;
    fit.gradient = std::max(found.weight.abs().max().item<double>(), found.bias.abs().max().item<double>());
    return at::cat({(turn.defined() ? found.weight.mm(turn.t()) : found.weight).flatten(), found.bias});
  };
  progress.begin("logistic regression", options.iterations);
  for (bool stands = false; !stands;) {
    const at::Tensor gradient = evaluate(descent.trial());
    if (fit.gradient <= options.tolerance) break;
    const double* first = gradient.const_data_ptr<double>();
    stands = descent.take(fit.objective, {first, first + gradient.numel()}, 0) || descent.iterations() > options.iterations;
    fit.iterations = descent.iterations() - 1;
    progress.advance(fit.iterations, fmt::format("loss {:.4f}", fit.objective));
    if (stands) evaluate(descent.point());
  }
  progress.end();
  fit.converged = fit.gradient <= options.tolerance;
  fit.weight = regression.own_weight_of(weight);
  fit.bias = regression.own_bias_of(weight, bias);
  return fit;
}

}  // namespace debias

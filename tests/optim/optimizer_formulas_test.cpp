// Every entry against its published formula in naive loops over doubles.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/optim/optimizer.h"
#include "tests/optim/given_parameters.h"

namespace debias {
namespace optimizer_formulas_test {

using Row = std::vector<double>;
constexpr std::array<double, 5> kRates = {0.1, 0.05, 0.2, 0.2, 0.01};  // as a schedule sets them

struct Memory {  // of one tensor: first and second sums
  Row first, second;
};

double gradient_at(size_t step, size_t parameter, size_t i) { return 0.3 * std::sin(1.0 + 2.1 * step + 0.7 * parameter + 1.3 * i) + 0.05; }
Row gradient_row(size_t step, size_t parameter, size_t size) {
  Row row;
  for (size_t i = 0; i < size; ++i) row.push_back(gradient_at(step, parameter, i));
  return row;
}

double norm(const Row& row) {
  double sum = 0;
  for (const double x : row) sum += x * x;
  return std::sqrt(sum);
}

// One step: number from 1, learning rate, weights (changed), gradient, memory; `parameter` counts from 0.
using NaiveRule = std::function<void(size_t number, double rate, size_t parameter, Row& w, const Row& g, Memory& memory)>;

const std::vector<ParameterKind> kKinds = {ParameterKind::kNormBias, ParameterKind::kWeight, ParameterKind::kBias,
                                           ParameterKind::kNormWeight};

// Four tensors of 3 to 6 numbers, one of each kind.
std::vector<Row> start() {
  std::vector<Row> rows;
  for (size_t p = 0; p < kKinds.size(); ++p) {
    rows.emplace_back();
    for (size_t i = 0; i < 3 + p; ++i) rows.back().push_back(std::cos(0.9 * p + 1.7 * i));
  }
  return rows;
}

void expect_follows(const std::string& yaml, const NaiveRule& rule) {
  std::vector<Row> rows = start();
  std::vector<torch::Tensor> tensors;
  std::vector<Memory> memories;
  for (const Row& row : rows) {
    tensors.push_back(at::tensor(row, at::kDouble).set_requires_grad(true));
    memories.push_back({Row(row.size(), 0.0), Row(row.size(), 0.0)});
  }
  const auto optimizer = read_optimizer(parse_yaml(yaml, "r.yaml")).make(given_parameters(tensors, kKinds));
  for (size_t step = 0; step < kRates.size(); ++step) {
    set_learning_rate(*optimizer, kRates[step]);
    for (size_t p = 0; p < rows.size(); ++p) {
      const Row g = gradient_row(step, p, rows[p].size());
      tensors[p].mutable_grad() = at::tensor(g, at::kDouble);
      rule(step + 1, kRates[step], p, rows[p], g, memories[p]);
    }
    optimizer->step();
    for (size_t p = 0; p < rows.size(); ++p) {
      for (size_t i = 0; i < rows[p].size(); ++i) {
        EXPECT_NEAR(tensors[p][static_cast<int64_t>(i)].item<double>(), rows[p][i], 1e-13) << yaml << ": step " << step << ", tensor " << p;
      }
    }
  }
}

// v <- m v + (g + decay w), w <- w - rate v; Nesterov: w - rate (g + decay w + m v).
NaiveRule naive_sgd(double momentum, bool nesterov, const Row& decay) {
  return [=](size_t, double rate, size_t parameter, Row& w, const Row& g, Memory& memory) {
    for (size_t i = 0; i < w.size(); ++i) {
      const double d = g[i] + decay[parameter] * w[i];
      memory.first[i] = momentum * memory.first[i] + d;
      w[i] -= rate * (nesterov ? d + momentum * memory.first[i] : memory.first[i]);
    }
  };
}

// Kingma and Ba 2015, algorithm 1; decoupled: Loshchilov and Hutter 2019, algorithm 2, the decay times the rate in force.
NaiveRule naive_adam(double beta1, double beta2, double eps, bool decoupled, const Row& decay) {
  return [=](size_t number, double rate, size_t parameter, Row& w, const Row& g, Memory& memory) {
    const auto t = static_cast<double>(number);
    for (size_t i = 0; i < w.size(); ++i) {
      const double d = decoupled ? g[i] : g[i] + decay[parameter] * w[i], before = w[i];
      memory.first[i] = beta1 * memory.first[i] + (1 - beta1) * d;
      memory.second[i] = beta2 * memory.second[i] + (1 - beta2) * d * d;
      const double mean = memory.first[i] / (1 - std::pow(beta1, t)), square = memory.second[i] / (1 - std::pow(beta2, t));
      w[i] -= rate * mean / (std::sqrt(square) + eps) + (decoupled ? rate * decay[parameter] * before : 0);
    }
  };
}

struct NaiveLars {
  double momentum = 0.9, trust = 1e-3, eps = 1e-8;
  bool nesterov = false;
  Row decay;
  std::vector<bool> adapts;
};

NaiveRule naive_lars(const NaiveLars& options) {
  return [options](size_t, double rate, size_t parameter, Row& w, const Row& g, Memory& memory) {
    const double decay = options.decay[parameter], size = norm(w), slope = norm(g);
    const double ratio =
        options.adapts[parameter] && size > 0 && slope > 0 ? options.trust * size / (slope + decay * size + options.eps) : 1.0;
    for (size_t i = 0; i < w.size(); ++i) {
      const double d = rate * ratio * (g[i] + decay * w[i]);
      memory.first[i] = options.momentum * memory.first[i] + d;
      w[i] -= options.nesterov ? d + options.momentum * memory.first[i] : memory.first[i];
    }
  };
}

TEST(OptimizerFormulas, Sgd) {
  expect_follows("{name: sgd, momentum: 0}", naive_sgd(0, false, {0, 0, 0, 0}));
  expect_follows("{name: sgd, weight_decay: 0.3}", naive_sgd(0.9, false, {0.3, 0.3, 0.3, 0.3}));
  expect_follows("{name: sgd, momentum: 0.7, nesterov: true, weight_decay: 0.3}", naive_sgd(0.7, true, {0.3, 0.3, 0.3, 0.3}));
}

TEST(OptimizerFormulas, AdamAddsItsDecayToTheGradient) {
  expect_follows("{name: adam, weight_decay: 0.3}", naive_adam(0.9, 0.999, 1e-8, false, {0.3, 0.3, 0.3, 0.3}));
  expect_follows("{name: adam, betas: [0.7, 0.8], eps: 1e-2}", naive_adam(0.7, 0.8, 1e-2, false, {0, 0, 0, 0}));
}

TEST(OptimizerFormulas, AdamWDecaysTheWeightsThemselves) {
  expect_follows("adamw", naive_adam(0.9, 0.999, 1e-8, true, {0.01, 0.01, 0.01, 0.01}));
  expect_follows("{name: adamw, weight_decay: 0.3, betas: [0.7, 0.8], eps: 1e-2}", naive_adam(0.7, 0.8, 1e-2, true, {0.3, 0.3, 0.3, 0.3}));
}

// Kinds are norm's bias, weight, bias, norm's weight.
TEST(OptimizerFormulas, NoDecaySparesTheKindsThatItNames) {
  const std::vector<std::pair<std::string, Row>> sets = {{"[]", {1, 1, 1, 1}},
                                                         {"[norm]", {0, 1, 1, 0}},
                                                         {"[bias]", {0, 1, 0, 1}},
                                                         {"[norm, bias]", {0, 1, 0, 0}},
                                                         {"[bias, norm]", {0, 1, 0, 0}}};
  for (const auto& [set, share] : sets) {
    Row decay;
    for (const double s : share) decay.push_back(0.3 * s);
    const std::string options = ", weight_decay: 0.3, no_decay: " + set + "}";
    expect_follows("{name: sgd" + options, naive_sgd(0.9, false, decay));
    expect_follows("{name: adam" + options, naive_adam(0.9, 0.999, 1e-8, false, decay));
    expect_follows("{name: adamw" + options, naive_adam(0.9, 0.999, 1e-8, true, decay));
    expect_follows("{name: lars" + options, naive_lars({.decay = decay, .adapts = {false, true, false, false}}));
  }
}

TEST(OptimizerFormulas, LarsIsAlgorithmOneAndLeavesNormsAndBiasesOut) {
  expect_follows("{name: lars, weight_decay: 0.3}", naive_lars({.decay = {0, 0.3, 0, 0}, .adapts = {false, true, false, false}}));
  expect_follows("{name: lars, weight_decay: 0.3, no_decay: [], no_adaptation: [], eps: 0, trust_coefficient: 0.02, momentum: 0.7}",
                 naive_lars({.momentum = 0.7, .trust = 0.02, .eps = 0, .decay = {0.3, 0.3, 0.3, 0.3}, .adapts = {true, true, true, true}}));
  expect_follows("{name: lars, nesterov: true, no_adaptation: [bias], eps: 0.5, trust_coefficient: 1}",
                 naive_lars({.trust = 1, .eps = 0.5, .nesterov = true, .decay = {0, 0, 0, 0}, .adapts = {false, true, false, true}}));
  expect_follows("{name: lars, momentum: 0, no_adaptation: [norm]}",
                 naive_lars({.momentum = 0, .decay = {0, 0, 0, 0}, .adapts = {false, true, true, false}}));
}

// One step at rate 1, without momentum, from all-equal weights and gradients.
double after_lars(double weight, double gradient, const std::string& options) {
  torch::Tensor x = at::full({4}, weight, at::kDouble).set_requires_grad(true);
  const auto optimizer =
      read_optimizer(parse_yaml("{name: lars, learning_rate: 1, momentum: 0, " + options + "}", "r.yaml")).make(given_parameters({x}));
  x.mutable_grad() = at::full({4}, gradient, at::kDouble);
  optimizer->step();
  return x[0].item<double>();
}

TEST(OptimizerFormulas, TheTrustRatioOfAZeroNormIsOne) {
  EXPECT_EQ(after_lars(0, 0.25, "eps: 0, weight_decay: 0.5"), -0.25);
  EXPECT_EQ(after_lars(2, 0, "eps: 0, weight_decay: 0.5"), 1.0);
  EXPECT_EQ(after_lars(0, 0, "eps: 0"), 0.0);
  EXPECT_NEAR(after_lars(2, 0.25, "eps: 0, trust_coefficient: 0.5"), 2 - 0.5 * 4 / 0.5 * 0.25, 1e-15);
}

// Where two scalars at 0 are after a step of plain SGD at rate 1 against gradients 3 and 4.
Row after_clipping(const std::string& options) {
  std::vector<torch::Tensor> tensors;
  for (const double gradient : {3.0, 4.0, 9.0}) {
    tensors.push_back(at::zeros({1}, at::kDouble).set_requires_grad(true));
    if (gradient < 9) tensors.back().mutable_grad() = at::full({1}, gradient, at::kDouble);  // the third never had one
  }
  const auto optimizer = read_optimizer(parse_yaml("{name: sgd, learning_rate: 1, momentum: 0, " + options + "}", "r.yaml"))
                             .make(given_parameters(tensors, {ParameterKind::kBias}));
  optimizer->step();
  EXPECT_EQ(tensors[2].item<double>(), 0);
  return {-tensors[0].item<double>(), -tensors[1].item<double>()};
}

TEST(OptimizerClipping, ScalesWhatIsAboveTheBoundAndNothingElse) {
  const auto near = [](const Row& found, double a, double b) { return std::abs(found[0] - a) < 1e-14 && std::abs(found[1] - b) < 1e-14; };
  EXPECT_TRUE(near(after_clipping("clip_norm: 1"), 3 / (5 + 1e-6), 4 / (5 + 1e-6)));
  EXPECT_EQ(after_clipping("clip_norm: 5.1"), (Row{3, 4}));
  EXPECT_TRUE(near(after_clipping("clip_norm_per_tensor: 3.5"), 3, 4 * 3.5 / (4 + 1e-6)));
  EXPECT_EQ(after_clipping("clip_norm_per_tensor: 4.1"), (Row{3, 4}));
  const double second = 4 * 3 / (4 + 1e-6), first = 3 * 3 / (3 + 1e-6), both = std::hypot(first, second);  // each to 3, then both to 1
  EXPECT_TRUE(near(after_clipping("clip_norm_per_tensor: 3, clip_norm: 1"), first / (both + 1e-6), second / (both + 1e-6)));
}

}  // namespace optimizer_formulas_test
}  // namespace debias

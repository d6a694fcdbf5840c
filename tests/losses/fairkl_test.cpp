// FairKL against printed values, loops over pairs, and what its modes say about each other.
#include "debias/losses/fairkl.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <optional>

#include "debias/core/error.h"
#include "tests/losses/known_batch.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/refusals.h"
#include "tests/support/with_changes.h"

namespace debias {
namespace fairkl_test {

constexpr double kPrinted = 6e-10;

at::Tensor one_view() { return angles({{0, 41, 133, 205}}); }

FairKlOptions mode(FairKlMode chosen) { return FairKlOptions{.mode = chosen}; }

ObjectiveResult with_engine(Engine engine, const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias,
                            const FairKlOptions& options, const at::Tensor& weights = {}) {
  return fairkl(ObjectiveInput{.z = z, .labels = labels, .bias = bias, .weights = weights, .engine = engine}, options);
}

double golden(const at::Tensor& z, const FairKlOptions& options, Engine engine) {
  return with_engine(engine, z, classes(), biases(), options).value.item<double>();
}

TEST(FairKlGolden, ModesOnTwoViews) {
  for (Engine engine : {Engine::kDense, Engine::kFused, Engine::kAuto}) {
    EXPECT_NEAR(golden(two_views(), mode(FairKlMode::kKl), engine), 2.479111290 + 0.769683533, 2 * kPrinted);
    EXPECT_NEAR(golden(two_views(), mode(FairKlMode::kJeffreys), engine), 80.1640926805 + 3.928191520, 2 * kPrinted);
    EXPECT_NEAR(golden(two_views(), mode(FairKlMode::kStats), engine), 2.319326120 + 1.301794332, 2 * kPrinted);
    EXPECT_NEAR(golden(two_views(), mode(FairKlMode::kMean), engine), 1.674535220 + 0.876467072, 2 * kPrinted);
  }
}

TEST(FairKlGolden, AuthorsOnOneView) {
  for (Engine engine : {Engine::kDense, Engine::kFused}) {
    EXPECT_NEAR(golden(one_view(), mode(FairKlMode::kAuthors), engine), -0.973235068, kPrinted);
    EXPECT_NEAR(golden(one_view(), FairKlOptions{.mode = FairKlMode::kAuthors, .kld = 0}, engine), -1.011121810, kPrinted);
  }
}

// One pair of sets, moments by loops over ordered pairs; `sums` runs f(x, w) over the pairs of one set.
struct Loop {
  double weight = 0, mean = 0, variance = 0, pairs = 0, entries = 0, zero_filled = 0;
};

struct Naive {
  at::Tensor rows;  // [n, D]
  std::vector<int64_t> label, bias;
  at::Tensor features;  // [n, F] or undefined
  FairKlOptions options;
  int64_t anchor = -1;  // -1: all

  int64_t n() const { return rows.size(0); }
  bool known(int64_t i) const { return label[i] >= 0 && (features.defined() || bias[i] >= 0); }
  double value(int64_t a, int64_t j) const {
    const double c = rows[a].dot(rows[j]).item<double>();
    return options.chosen_mode() == FairKlMode::kLogNormal ? std::log(2 - 2 * c + 1e-6) : c;
  }
  double aligned(int64_t a, int64_t j) const {
    if (!features.defined()) return bias[a] == bias[j];
    const double c = features[a].dot(features[j]).item<double>() / (features[a].norm().item<double>() * features[j].norm().item<double>());
    return std::min(std::max(c, 0.0), 1.0);
  }

  Loop set(bool positive, bool is_aligned) const {
    Loop out;
    std::vector<std::pair<double, double>> all;
    double rows_known = 0;
    for (int64_t a = 0; a < n(); ++a) {
      rows_known += known(a);
      for (int64_t j = 0; j < n(); ++j) {
        if (!known(a) || !known(j) || (anchor >= 0 && a != anchor) || (label[a] == label[j]) != positive) continue;
        if (a == j && options.chosen_mode() != FairKlMode::kAuthors) continue;
        const double w = is_aligned ? aligned(a, j) : 1 - aligned(a, j);
        if (w > 0) all.push_back({value(a, j), w});
      }
    }
    out.entries = rows_known * rows_known;
    double square = 0;
    for (auto [x, w] : all) out.weight += w, out.mean += w * x, square += w * w * x * x, out.pairs += 1;
    const double divisor = options.normaliser == FairKlNormaliser::kBatch && features.defined()
                               ? (anchor >= 0 ? rows_known : out.entries)
                               : std::max(out.weight, features.defined() ? 1e-6 : 1.0);
    const double sum = out.mean;
    out.mean /= divisor;
    for (auto [x, w] : all) out.variance += w * (x - out.mean) * (x - out.mean) / divisor;
    out.zero_filled = (square - sum * sum / out.entries) / (out.entries - 1);
    return out;
  }

  // The comparison of one sign, or nothing when a set is too small.
  std::optional<double> sign(bool positive) const {
    Loop a = set(positive, true), c = set(positive, false);
    const FairKlMode m = options.chosen_mode();
    const bool log_normal = m == FairKlMode::kLogNormal;
    const bool zero = options.empty == FairKlEmpty::kZero || (options.empty == FairKlEmpty::kAuto && m == FairKlMode::kAuthors);
    double least = anchor >= 0 && m != FairKlMode::kMean && !zero ? 2 : 1;
    if (features.defined()) least = 1e-6;
    for (Loop* s : {&a, &c}) {
      if (s->weight >= least) continue;
      if (!zero) return std::nullopt;
      *s = {};
      s->mean = log_normal ? std::log(2 + 1e-6) : 0;
    }
    const double unit = log_normal ? 1 : 2;  // d = 2 - 2c
    const double gap = unit * unit * std::pow(a.mean - c.mean, 2);
    const double va = std::max(unit * unit * a.variance, options.variance_floor),
                 vc = std::max(unit * unit * c.variance, options.variance_floor);
    const double kl = 0.5 * ((va + gap) / vc - std::log(va / vc) - 1), mirror = 0.5 * ((vc + gap) / va - std::log(vc / va) - 1);
    if (m == FairKlMode::kKl || log_normal) return kl;
    if (m == FairKlMode::kJeffreys) return kl + mirror;
    if (m == FairKlMode::kMean) return gap;
    if (m == FairKlMode::kStats) return gap + 4 * options.kld * std::pow(std::sqrt(a.variance) - std::sqrt(c.variance), 2);
    return std::pow(a.mean - c.mean, 2) + options.kld * std::pow(std::sqrt(a.zero_filled) - std::sqrt(c.zero_filled), 2) +
           (positive ? -c.mean : a.mean);
  }

  double total() {
    double sum = 0;
    for (bool positive : {true, false}) {
      if (options.pooling == FairKlPooling::kBatch) {
        sum += sign(positive).value_or(0);
        continue;
      }
      double own = 0, anchors = 0;
      for (anchor = 0; anchor < n(); ++anchor) {
        if (!known(anchor)) continue;
        if (const auto one = sign(positive)) own += *one, anchors += 1;
      }
      if (anchors > 0) sum += own / anchors;
    }
    return sum;
  }
};

struct Batch {
  at::Tensor z, labels, bias, weights;
};

Batch batch(int64_t samples, int64_t views, int64_t seed, bool unknown) {
  Batch made;
  made.z = random_embeddings(samples, views, 4, seed);
  made.weights = at::randn({samples, 3}, at::kDouble) + 0.5;
  made.labels = at::randint(0, 3, {samples}, at::kLong);
  made.bias = at::randint(0, 2, {samples}, at::kLong);
  if (unknown) {
    made.labels[1] = -1;
    made.labels[2] = -1;
    made.bias[0] = -1;
  }
  return made;
}

double naive(const Batch& b, const FairKlOptions& options, bool weighted) {
  const int64_t views = b.z.size(1);
  const auto tiled = [&](const at::Tensor& keys) {
    const at::Tensor all = keys.repeat({views}).contiguous();
    return std::vector<int64_t>(all.data_ptr<int64_t>(), all.data_ptr<int64_t>() + all.numel());
  };
  Naive loops;
  loops.rows = b.z.transpose(0, 1).reshape({-1, b.z.size(2)});
  loops.label = tiled(b.labels);
  loops.bias = tiled(b.bias);
  if (weighted) loops.features = b.weights.repeat({views, 1});
  loops.options = options;
  return loops.total();
}

std::vector<FairKlOptions> all_options() {
  std::vector<FairKlOptions> all;
  for (const auto& [name, m] : EnumNames<FairKlMode>::values) {
    for (FairKlPooling pooling : {FairKlPooling::kBatch, FairKlPooling::kAnchor}) {
      if (m == FairKlMode::kAuthors && pooling == FairKlPooling::kAnchor) continue;
      for (FairKlEmpty empty : {FairKlEmpty::kAuto, FairKlEmpty::kSkip, FairKlEmpty::kZero}) {
        all.push_back(FairKlOptions{.mode = m, .pooling = pooling, .empty = empty, .variance_floor = 0.05});
        if (m == FairKlMode::kStats) all.push_back(with_changes(all.back(), [&](auto& o) { o.kld = 0.3; }));
      }
    }
  }
  return all;
}

std::string named(const FairKlOptions& options) { return config_of(options).to_json().dump(); }

// Eq. 10 takes moments by anchor, B.2.4 divides those of a continuous bias by the batch size.
TEST(FairKlOracle, TheVariantOfThePaperIsThePapers) {
  const FairKlOptions paper = options_from<FairKlOptions>(parse_yaml("{variant: paper}", "x"), "fairkl");
  EXPECT_EQ(named(paper),
            named(FairKlOptions{.mode = FairKlMode::kKl, .pooling = FairKlPooling::kAnchor, .normaliser = FairKlNormaliser::kBatch}));
  const Batch b = batch(7, 2, 5, false);
  const double pooled = fairkl(ObjectiveInput{.z = b.z, .labels = b.labels, .bias = b.bias}, mode(FairKlMode::kKl)).value.item<double>();
  const double by_anchor = fairkl(ObjectiveInput{.z = b.z, .labels = b.labels, .bias = b.bias}, paper).value.item<double>();
  EXPECT_NEAR(by_anchor, naive(b, paper, false), 1e-10);
  EXPECT_GT(std::abs(by_anchor - pooled), 0.01);
}

TEST(FairKlOracle, LoopsOverPairsGiveTheSame) {
  for (auto [samples, views, seed] : {std::tuple{7, 1, 1}, std::tuple{5, 2, 2}, std::tuple{4, 3, 3}, std::tuple{3, 1, 4}}) {
    for (bool unknown : {false, true}) {
      const Batch b = batch(samples, views, seed, unknown);
      for (const auto& options : all_options()) {
        const double expected = naive(b, options, false);
        EXPECT_NEAR(with_engine(Engine::kDense, b.z, b.labels, b.bias, options).value.item<double>(), expected,
                    1e-11 * (1 + std::abs(expected)))
            << named(options);
        if (options.chosen_mode() == FairKlMode::kLogNormal) continue;
        EXPECT_NEAR(with_engine(Engine::kFused, b.z, b.labels, b.bias, options).value.item<double>(), expected,
                    1e-11 * (1 + std::abs(expected)))
            << named(options);
      }
    }
  }
}

TEST(FairKlOracle, LoopsOverWeightedPairsGiveTheSame) {
  for (bool unknown : {false, true}) {
    const Batch b = batch(6, 2, 5, unknown);
    for (auto options : all_options()) {
      for (FairKlNormaliser normaliser : {FairKlNormaliser::kWeights, FairKlNormaliser::kBatch}) {
        options.normaliser = normaliser;
        const double expected = naive(b, options, true);
        const auto found = with_engine(Engine::kAuto, b.z, b.labels, {}, options, b.weights);
        EXPECT_NEAR(found.value.item<double>(), expected, 1e-11 * (1 + std::abs(expected))) << named(options);
        EXPECT_FALSE(found.fused());
      }
    }
  }
}

struct Evaluated {
  ObjectiveResult result;
  at::Tensor gradient;
};

Evaluated evaluated(Engine engine, const Batch& b, const FairKlOptions& options) {
  const at::Tensor leaf = b.z.detach().clone().requires_grad_(true);
  Evaluated out = {with_engine(engine, leaf, b.labels, b.bias, options), {}};
  out.result.value.backward();
  out.gradient = leaf.grad();
  return out;
}

TEST(FairKlEngines, MomentsAndPairsAgreeInValueGradientAndDiagnostics) {
  for (int64_t samples : {1, 2, 9, 60}) {
    for (int64_t views : {1, 2}) {
      Batch b = batch(samples, views, samples, samples > 2);
      for (const auto& options : all_options()) {
        if (options.chosen_mode() == FairKlMode::kLogNormal) continue;
        const Evaluated pairs = evaluated(Engine::kDense, b, options), moments = evaluated(Engine::kFused, b, options);
        EXPECT_NEAR(pairs.result.value.item<double>(), moments.result.value.item<double>(), 1e-9) << named(options) << samples;
        EXPECT_LT(largest_difference(pairs.gradient, moments.gradient), 1e-9) << named(options) << samples;
        EXPECT_TRUE(at::allclose(pairs.result.per_anchor, moments.result.per_anchor, 0, 1e-9, true)) << named(options) << samples;
        EXPECT_EQ(pairs.result.clamped, moments.result.clamped) << named(options) << samples;
        EXPECT_EQ(pairs.result.anchors_used, moments.result.anchors_used);
        EXPECT_FALSE(pairs.result.fused());
        EXPECT_TRUE(moments.result.fused());
      }
    }
  }
}

TEST(FairKlEngines, GradientsAreThoseOfFiniteDifferences) {
  const Batch b = batch(6, 2, 8, true);
  for (const auto& options : all_options()) {
    const auto value_at = [&](const at::Tensor& z) {
      return with_engine(Engine::kDense, z, b.labels, b.bias, options).value.item<double>();
    };
    EXPECT_LT(largest_difference(evaluated(Engine::kDense, b, options).gradient, numeric_gradient(value_at, b.z)), 1e-6) << named(options);
  }
}

TEST(FairKlEngines, AutoTakesMomentsOnceRowsOutnumberDimensions) {
  const at::Tensor labels = at::zeros({8}, at::kLong), bias = at::arange(8, at::kLong).remainder(2);
  const auto fused = [&](int64_t dimensions, const FairKlOptions& options, int64_t budget) {
    return fairkl({.z = random_embeddings(8, 1, dimensions, 1), .labels = labels, .bias = bias, .memory_budget = budget}, options).fused();
  };
  EXPECT_TRUE(fused(8, {}, kDefaultMemoryBudget));
  EXPECT_FALSE(fused(9, {}, kDefaultMemoryBudget));
  EXPECT_FALSE(fused(8, {}, 8 * 8 * 16));
  EXPECT_FALSE(fused(8, mode(FairKlMode::kLogNormal), kDefaultMemoryBudget));
}

TEST(FairKlEngines, FusedIsRefusedWherePairsAreNeeded) {
  const Batch b = batch(6, 1, 8, false);
  EXPECT_THROW(with_engine(Engine::kFused, b.z, b.labels, b.bias, mode(FairKlMode::kLogNormal)), Error);
  EXPECT_THROW(with_engine(Engine::kFused, b.z, b.labels, {}, {}, b.weights), Error);
  const at::Tensor leaf = b.z.clone().requires_grad_(true);
  const auto value = with_engine(Engine::kFused, leaf, b.labels, b.bias, {}).value;
  EXPECT_THROW(torch::autograd::grad({value}, {leaf}, {}, true, true), Error);
}

TEST(FairKlLaws, BiasThatSaysNothingCostsNothing) {
  // Two copies of every row, one for each bias label: every set of pairs has the same distances but for the copies themselves.
  const at::Tensor z = random_embeddings(5, 1, 3, 2), twice = at::cat({z, z});
  const at::Tensor labels = integers({0, 0, 1, 1, 2}), bias = at::cat({at::zeros({5}, at::kLong), at::ones({5}, at::kLong)});
  const auto at_ = [&](FairKlMode m) { return fairkl(twice, at::cat({labels, labels}), bias, mode(m)); };
  const double negatives_only = fairkl(twice, at::arange(10, at::kLong).remainder(5), bias, mode(FairKlMode::kMean)).value.item<double>();
  EXPECT_NEAR(negatives_only, 0, 1e-12);  // positives: one pair each, conflicting; so skipped
  EXPECT_GT(at_(FairKlMode::kKl).value.item<double>(), 0);
}

TEST(FairKlLaws, OneBiasValuePerFeatureDirectionIsTheDiscreteBias) {
  const Batch b = batch(7, 2, 9, false);
  const at::Tensor features = at::stack({b.bias.eq(0), b.bias.eq(1)}, 1).to(at::kDouble) * 3;
  for (auto m : {FairKlMode::kKl, FairKlMode::kJeffreys, FairKlMode::kMean, FairKlMode::kStats, FairKlMode::kLogNormal}) {
    EXPECT_NEAR(with_engine(Engine::kAuto, b.z, b.labels, {}, mode(m), features).value.item<double>(),
                fairkl(b.z, b.labels, b.bias, mode(m)).value.item<double>(), 1e-11);
  }
}

TEST(FairKlLaws, UnknownRowsAreAsIfAbsent) {
  Batch b = batch(7, 1, 9, false);
  b.labels = integers({0, 1, 0, 1, 0, -1, 1});
  b.bias = integers({0, 0, 1, 1, 1, 0, -1});
  for (const auto& options : all_options()) {
    const auto found = fairkl(b.z, b.labels, b.bias, options);
    EXPECT_NEAR(found.value.item<double>(),
                fairkl(b.z.slice(0, 0, 5), b.labels.slice(0, 0, 5), b.bias.slice(0, 0, 5), options).value.item<double>(), 1e-11);
    EXPECT_TRUE(found.per_anchor.slice(0, 5).isnan().all().item<bool>());
    EXPECT_EQ(found.anchors, 7);
    EXPECT_LE(found.anchors_used, 5);
  }
}

TEST(FairKlEdges, AnEmptySetIsSkippedOrZero) {
  const at::Tensor z = angles({{0, 60, 150}}), labels = integers({0, 0, 1}), bias = integers({0, 0, 0});  // nothing conflicts
  const auto skipped = fairkl(z, labels, bias, mode(FairKlMode::kMean));
  EXPECT_EQ(skipped.value.item<double>(), 0);
  EXPECT_EQ(skipped.anchors_used, 0);
  EXPECT_EQ(skipped.clamped, 2);
  const auto zero = fairkl(z, labels, bias, FairKlOptions{.mode = FairKlMode::kMean, .empty = FairKlEmpty::kZero});
  const double positive = 4 * 0.25, mean = (std::cos(150 * M_PI / 180) + 0) / 2;
  EXPECT_NEAR(zero.value.item<double>(), positive + 4 * mean * mean, 1e-12);
  EXPECT_EQ(zero.anchors_used, 3);
  EXPECT_EQ(zero.clamped, 2);
}

TEST(FairKlEdges, CollapsedRowsMeetTheVarianceFloor) {
  const at::Tensor z = angles({{30, 30, 30, 30, 30, 30}}).requires_grad_(true);
  const at::Tensor labels = integers({0, 0, 0, 1, 1, 1}), bias = integers({0, 0, 1, 0, 1, 1});
  const auto found = fairkl(z, labels, bias, mode(FairKlMode::kKl));
  EXPECT_NEAR(found.value.item<double>(), 0, 1e-12);
  EXPECT_EQ(found.clamped, 4);
  EXPECT_EQ(found.clamped_of(), 4);
  const auto by_anchor = fairkl(z, labels, bias, FairKlOptions{.mode = FairKlMode::kKl, .pooling = FairKlPooling::kAnchor});
  EXPECT_EQ(by_anchor.clamped, 16);  // sets of one pair or none
  EXPECT_EQ(by_anchor.clamped_of(), 4 * 6);
  EXPECT_EQ(found.anchors_used, 6);
  found.value.backward();
  EXPECT_LT(z.grad().abs().max().item<double>(), 1e-9);
}

TEST(FairKlEdges, EverythingIsFinite) {
  const std::vector<at::Tensor> inputs = {angles({{30, 30, 30, 30, 30, 30}}), angles({{30, 210, 30, 210, 30, 210}}),
                                          angles({{30, 30, 30, 30, 30, 30}, {210, 210, 210, 210, 210, 210}}),
                                          at::zeros({6, 2, 3}, at::kDouble)};
  const std::vector<std::pair<at::Tensor, at::Tensor>> keys = {{integers({0, 0, 0, 1, 1, 1}), integers({0, 0, 1, 0, 1, 1})},
                                                               {integers({0, 0, 0, 0, 0, 0}), integers({0, 0, 0, 0, 0, 0})},
                                                               {integers({0, 1, 2, 3, 4, 5}), integers({5, 4, 3, 2, 1, 0})},
                                                               {integers({-1, -1, -1, -1, -1, -1}), integers({0, 0, 0, 1, 1, 1})}};
  for (const auto& z : inputs) {
    for (const auto& [labels, bias] : keys) {
      for (auto options : all_options()) {
        options.variance_floor = 0;
        for (auto [engine, type] : {std::pair{Engine::kDense, at::kFloat}, std::pair{Engine::kAuto, at::kDouble}}) {
          const auto found = evaluated(engine, {z.to(type), labels, bias, {}}, options);
          ASSERT_TRUE(std::isfinite(found.result.value.item<double>())) << named(options);
          ASSERT_TRUE(found.gradient.isfinite().all().item<bool>()) << named(options);
        }
      }
    }
  }
}

TEST(FairKlEdges, OneRow) {
  for (Engine engine : {Engine::kDense, Engine::kFused}) {
    for (const auto& options : {mode(FairKlMode::kKl), mode(FairKlMode::kAuthors)}) {
      const auto found = evaluated(engine, {angles({{30}}), integers({0}), integers({0}), {}}, options);
      EXPECT_NEAR(found.result.value.item<double>(), options.chosen_mode() == FairKlMode::kAuthors ? 1 : 0,
                  1e-12);  // mu of the row and itself
      EXPECT_EQ(found.result.anchors, 1);
    }
  }
}

ErrorKind refusal(const ObjectiveInput& input, const FairKlOptions& options = {}) {
  const Error error = thrown_by([&] { fairkl(input, options); });
  EXPECT_EQ(std::string(error.what()).rfind("fairkl", 0), 0u) << error.what();
  return error.kind();
}

TEST(FairKlErrors, AreNamed) {
  const Batch b = batch(5, 1, 3, false);
  EXPECT_EQ(refusal({.z = b.z, .labels = b.labels}), ErrorKind::kUsage);
  EXPECT_EQ(refusal({.z = b.z, .bias = b.bias}), ErrorKind::kUsage);
  EXPECT_EQ(refusal({.z = b.z.select(1, 0), .labels = b.labels, .bias = b.bias}), ErrorKind::kData);
  EXPECT_EQ(refusal({.z = b.z, .labels = b.labels, .bias = b.bias.slice(0, 1)}), ErrorKind::kData);
  EXPECT_EQ(refusal({.z = b.z, .labels = b.labels, .weights = b.weights.slice(0, 1)}), ErrorKind::kData);
  EXPECT_EQ(refusal({.z = b.z, .labels = b.labels, .weights = b.labels}), ErrorKind::kData);
  const ObjectiveInput good = {.z = b.z, .labels = b.labels, .bias = b.bias};
  EXPECT_EQ(refusal(good, FairKlOptions{.mode = FairKlMode::kAuthors, .pooling = FairKlPooling::kAnchor}), ErrorKind::kUsage);
  EXPECT_EQ(refusal(good, FairKlOptions{.mode = FairKlMode::kKl, .kld = 0}), ErrorKind::kUsage);
  EXPECT_EQ(refusal(good, FairKlOptions{.variance_floor = -1}), ErrorKind::kUsage);
  EXPECT_EQ(refusal(good, FairKlOptions{.mode = FairKlMode::kStats, .kld = -1}), ErrorKind::kUsage);
}

}  // namespace fairkl_test
}  // namespace debias

// SupCon where it is InfoNCE, what its forms say about each other, and its edges.
#include "debias/losses/over_classes.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "debias/losses/label_free.h"
#include "debias/losses/objective.h"
#include "debias/pairs/pair_sums.h"
#include "tests/losses/known_batch.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/objective_checks.h"
#include "tests/support/refusals.h"
#include "tests/support/with_changes.h"

namespace debias {
namespace supcon_test {

TEST(SupCon, WithoutLabelsOfTwoViewsIsInfoNce) {
  const at::Tensor z = random_embeddings(7, 2, 4, 1);
  for (SupConForm form : {SupConForm::kOut, SupConForm::kIn}) {
    EXPECT_NEAR(value(supcon(z, {}, SupConOptions{.form = form})), value(infonce(z, InfoNceOptions{.temperature = 0.1})), 1e-12);
    EXPECT_NEAR(value(supcon(z, integers({-1, -1, -1, -1, -1, -1, -1}), SupConOptions{.form = form})),
                value(supcon(z, {}, SupConOptions{.form = form})), 1e-12);
  }
}

TEST(SupCon, InIsAtMostOut) {
  const at::Tensor z = random_embeddings(9, 2, 3, 5), labels = integers({0, 1, 2, 0, 1, 2, 0, 0, 1});
  const at::Tensor out = supcon(z, labels).per_anchor, in = supcon(z, labels, SupConOptions{.form = SupConForm::kIn}).per_anchor;
  EXPECT_TRUE((in - out).le(1e-12).all().item<bool>());
}

void expect_edge(const at::Tensor& z, const at::Tensor& labels, double expected, const std::string& what) {
  for (SupConForm form : {SupConForm::kOut, SupConForm::kIn}) {
    debias::expect_edge(z, expected, what + " " + std::string(enum_name(form)),
                        [&](const at::Tensor& rows) { return supcon(rows, labels, SupConOptions{.temperature = 0.005, .form = form}); });
  }
}

TEST(SupCon, EdgesAreFiniteAndRight) {
  const at::Tensor row = random_embeddings(1, 1, 6, 2);
  expect_edge(row.expand({4, 2, 6}), classes(), std::log(7), "identical rows");
  expect_edge(at::cat({row, row, -row, -row}).expand({4, 2, 6}), classes(), std::log(3), "antipodal classes");
  expect_edge(at::cat({row, -row}), integers({0, 0}), 0, "two rows of one class");
  expect_edge(at::cat({row, -row, row}), integers({0, 0, 1}), (400 + std::log(2)) / 3, "a positive at cosine -1");
  expect_edge(at::cat({row, -row}), integers({0, 1}), 0, "no positives");
  expect_edge(row, integers({0}), 0, "one row");
  expect_edge(row.expand({1, 2, 6}), integers({0}), 0, "one sample");
  expect_edge(at::zeros({4, 2, 6}), classes(), std::log(7), "zero rows");
}

TEST(SupCon, OneViewWithoutLabelsIsRefused) {
  EXPECT_TRUE(usage_error_of([] { supcon(random_embeddings(3, 1, 4, 1), {}); }).starts_with("supcon: "));
  EXPECT_THROW(supcon(random_embeddings(3, 1, 4, 1).select(1, 0), integers({0, 0, 1})), Error);
  EXPECT_THROW(supcon(two_views(), classes(), SupConOptions{.temperature = 0}), Error);
}

}  // namespace supcon_test

// SupCon with a margin at its limits and edges.
namespace eps_supcon_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Options = EpsSupConOptions;
double known(const Options& options) { return value(eps_supcon(two_views(), classes(), options)); }
Options l1o() { return Options{.epsilon = kInfinity, .add_epsilon = false}; }

TEST(EpsSupCon, ItsLimitsAreSupConAndInfoL1O) {
  const at::Tensor z = random_embeddings(9, 2, 3, 5), labels = integers({0, 1, 2, 0, 1, 2, 0, 0, 1});
  const at::Tensor none = eps_supcon(z, labels, Options{.epsilon = 0}).per_anchor;
  EXPECT_LT(largest_difference(none, supcon(z, labels).per_anchor), 1e-12);
  const at::Tensor all = eps_supinfonce(z, labels, EpsSupInfoNceOptions{.epsilon = kInfinity}).per_anchor;
  EXPECT_LT(largest_difference(eps_supcon(z, labels, l1o()).per_anchor, all), 1e-12);
  EXPECT_LT(largest_difference(eps_supcon(z, labels, with_changes(l1o(), [&](auto& o) { o.epsilon = 1e9; })).per_anchor, all), 1e-12);
}

void expect_edge(const at::Tensor& z, const at::Tensor& labels, const Options& options, double expected, const std::string& what) {
  debias::expect_edge(z, expected, what, [&](const at::Tensor& rows) {
    return eps_supcon(rows, labels, with_changes(options, [&](auto& o) { o.temperature = 0.005; }));
  });
}

TEST(EpsSupCon, EdgesAreFiniteAndRight) {
  const at::Tensor row = random_embeddings(1, 1, 6, 2), same = row.expand({4, 2, 6});
  const at::Tensor opposite = at::cat({row, row, -row, -row}).expand({4, 2, 6});
  const double omega = std::exp(-0.25);
  expect_edge(same, classes(), Options(), 0.25 + std::log(3 * omega + 4), "identical rows");
  expect_edge(at::zeros({4, 2, 6}), classes(), Options(), 0.25 + std::log(3 * omega + 4), "zero rows");
  expect_edge(opposite, classes(), Options(), std::log(3), "antipodal classes");
  expect_edge(opposite, classes(), l1o(), std::log(4) - 400, "antipodal classes");
  expect_edge(at::cat({row, -row, row}), integers({0, 0, 1}), Options{.epsilon = 0}, (400 + std::log(2)) / 3, "a positive at cosine -1");
  expect_edge(same, integers({5, 5, 5, 5}), Options(), std::log(7), "no negatives");
  expect_edge(same, integers({5, 5, 5, 5}), l1o(), 0, "no negatives");
  expect_edge(row.expand({2, 1, 6}), integers({0, 1}), Options(), 0, "no positives");
  expect_edge(row, integers({0}), Options(), 0, "one row");
}

TEST(EpsSupCon, BadOptionsAreRefused) {
  EXPECT_NE(usage_error_of([] { known(Options{.epsilon = kInfinity}); }).find("add_epsilon: false"), std::string::npos);
  EXPECT_THROW(known(Options{.epsilon = -1}), Error);
  EXPECT_THROW(eps_supcon(two_views(), {}), Error);
}

}  // namespace eps_supcon_test

// All forms against each other, against the released program's arithmetic, and at their edges; form d in panels.
namespace eps_supinfonce_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr EpsForm kForms[] = {EpsForm::kC, EpsForm::kA, EpsForm::kB, EpsForm::kD, EpsForm::kIn};

using Options = EpsSupInfoNceOptions;
double known(const Options& options) { return value(eps_supinfonce(two_views(), classes(), options)); }

at::Tensor similarities(const at::Tensor& z, double t) {
  const at::Tensor rows = z.transpose(0, 1).reshape({-1, z.size(2)});
  return at::mm(rows, rows.t()) / t;
}

TEST(EpsSupInfoNce, FormDInPanelsOfAnySizeIsTheSame) {
  const at::Tensor z = random_embeddings(13, 1, 4, 3).squeeze(1), upstream = at::arange(1, 14).to(at::kDouble);
  const at::Tensor group = integers({0, 1, 0, 0, 2, 1, 0, 0, 0, 1, 2, 7, 0});
  for (double epsilon : {0.25, kInfinity}) {
    at::Tensor sums, gradient;
    for (int64_t terms : {int64_t{1} << 20, int64_t{1}, int64_t{7}, int64_t{40}, int64_t{100}}) {
      const at::Tensor leaf = z.clone().requires_grad_(true);
      const at::Tensor found = log_add_triplet_sums({.anchors = leaf, .group = group, .temperature = 0.3}, epsilon, terms);
      found.mul(upstream).sum().backward();
      if (!sums.defined()) sums = found.detach(), gradient = leaf.grad();
      EXPECT_LT(largest_difference(found.detach(), sums), 1e-11) << terms;
      EXPECT_LT(largest_difference(leaf.grad(), gradient), 1e-10) << terms;
    }
    const auto weighted = [&](const at::Tensor& rows) {
      return log_add_triplet_sums({.anchors = rows, .group = group, .temperature = 0.3}, epsilon).mul(upstream).sum().item<double>();
    };
    EXPECT_LT(largest_difference(gradient, numeric_gradient(weighted, z)), 1e-5 * gradient.abs().max().item<double>());
  }
}

TEST(EpsSupInfoNce, FormDIsDenseWhereAskedAndThenHasASecondDerivative) {
  const auto options = Options{.form = EpsForm::kD};
  const auto with = [&](Engine engine) {
    const at::Tensor leaf = random_embeddings(7, 2, 5, 3).requires_grad_(true);
    const ObjectiveInput input = {.z = leaf, .labels = integers({0, 1, 0, 2, 1, 0, -1}), .engine = engine};
    const ObjectiveResult found = eps_supinfonce(input, options);
    EXPECT_EQ(found.engine, engine);
    found.value.backward();
    return std::pair(found, leaf.grad());
  };
  const auto dense = with(Engine::kDense), blocked = with(Engine::kBlocked);
  EXPECT_NEAR(dense.first.value.item<double>(), blocked.first.value.item<double>(), 1e-13);
  EXPECT_LT(largest_difference(dense.first.per_anchor.detach(), blocked.first.per_anchor.detach()), 1e-12);
  EXPECT_LT(largest_difference(dense.second, blocked.second), 1e-13);
  const at::Tensor leaf = two_views().requires_grad_(true);
  const ObjectiveResult found = eps_supinfonce({.z = leaf, .labels = classes(), .engine = Engine::kDense}, options);
  const at::Tensor slope = torch::autograd::grad({found.value}, {leaf}, {}, true, true)[0];
  EXPECT_GT(torch::autograd::grad({slope.square().sum()}, {leaf})[0].abs().max().item<double>(), 0);
}

TEST(EpsSupInfoNce, FormDInMoreTermsThanDenseHoldsIsRefused) {
  const at::Tensor z = at::ones({1300, 1}, at::kDouble), group = at::arange(1300, at::kLong).remainder(2);  // 1300 * 649 * 650 terms
  const Error error =
      thrown_by([&] { log_add_triplet_sums({.anchors = z, .group = group, .temperature = 1, .engine = Engine::kDense}, 0.25); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_NE(std::string(error.what()).find("548405000 terms"), std::string::npos) << error.what();
}

TEST(EpsSupInfoNce, FormDRefusesASecondDerivative) {
  const at::Tensor leaf = two_views().requires_grad_(true);
  const ObjectiveResult found = eps_supinfonce(leaf, classes(), Options{.form = EpsForm::kD});
  EXPECT_THROW(torch::autograd::grad({found.value}, {leaf}, {}, true, true), Error);
}

TEST(EpsSupInfoNce, FormsAgreeOnOnePositiveAndOneNegative) {
  const at::Tensor z = random_embeddings(3, 1, 4, 8), labels = integers({0, 0, 1});  // the third row has no positive
  for (double epsilon : {0.0, 0.25, 7.0, kInfinity}) {
    const double expected = value(eps_supinfonce(z, labels, Options{.epsilon = epsilon}));
    for (EpsForm form : kForms) {
      for (OverPositives over : {OverPositives::kMean, OverPositives::kSum}) {
        EXPECT_NEAR(value(eps_supinfonce(z, labels, Options{.epsilon = epsilon, .form = form, .over_positives = over})), expected, 1e-12);
      }
    }
  }
}

TEST(EpsSupInfoNce, OfOneSamplePerClassItIsEpsInfoNce) {
  const at::Tensor z = random_embeddings(6, 2, 4, 8);
  for (double epsilon : {0.0, 0.25, kInfinity}) {
    EXPECT_NEAR(value(eps_supinfonce(z, integers({0, 1, 2, 3, -1, -1}), Options{.epsilon = epsilon})),
                value(eps_infonce(z, EpsInfoNceOptions{.epsilon = epsilon})), 1e-12);
  }
}

// The released arithmetic: the row's maximum subtracted, raw exponentials, 1e-6 inside the log.
at::Tensor released(const at::Tensor& z, const at::Tensor& labels, double t, double epsilon, bool in) {
  const at::Tensor s = similarities(z, t), y = labels.repeat({z.size(1)});
  const at::Tensor x = s - std::get<0>(s.max(1, true)).detach();
  const at::Tensor other = at::eye(s.size(0), s.options()).logical_not(), same = y.unsqueeze(1).eq(y.unsqueeze(0));
  const at::Tensor positive = same.logical_and(other).to(at::kDouble), count = positive.sum(1, true).clamp_min(1), e = x.exp();
  const at::Tensor negatives = (e * same.logical_not()).sum(1, true);
  if (in) return -((e * positive).sum(1).log() - ((std::exp(-epsilon) * e * positive / count).sum(1) + negatives.squeeze(1)).log());
  return -((x - (std::exp(-epsilon) * e * positive + negatives + 1e-6).log()) * positive).sum(1) / count.squeeze(1);
}

TEST(EpsSupInfoNce, VariantAuthorsIsTheReleasedArithmetic) {
  // Negatives are so far and the margin is so large that the constant matters.
  const at::Tensor z = angles({{0, 3, 170, 185}, {5, 352, 178, 176}}), labels = classes();
  for (double epsilon : {0.25, 20.0}) {
    for (bool in : {false, true}) {
      const std::string text = fmt::format("{{variant: authors, epsilon: {}, form: {}}}", epsilon, in ? "in" : "c");
      const auto options = options_from<Options>(parse_yaml(text, "term"), "test");
      const at::Tensor leaf = z.clone().requires_grad_(true), other = z.clone().requires_grad_(true);
      const ObjectiveResult found = eps_supinfonce(leaf, labels, options);
      found.value.backward();
      const at::Tensor expected = released(other, labels, 0.1, epsilon, in) * (0.1 / 0.07);
      expected.mean().backward();
      EXPECT_LT(largest_difference(found.per_anchor, expected.detach()), 1e-10) << text;
      EXPECT_LT(largest_difference(leaf.grad(), other.grad()), 1e-10) << text;
      if (epsilon == 20 && !in) {
        EXPECT_GT(std::abs(value(found) - value(eps_supinfonce(z, labels, with_changes(options, [&](auto& o) { o.log_eps = 0; })))), 0.1);
      }
    }
  }
}

void expect_edge(const at::Tensor& z, const at::Tensor& labels, const Options& options, double expected, const std::string& what) {
  debias::expect_edge(z, expected, what + " " + config_of(options).to_json().dump(), [&](const at::Tensor& rows) {
    return eps_supinfonce(rows, labels, with_changes(options, [&](auto& o) { o.temperature = 0.005; }));
  });
}

TEST(EpsSupInfoNce, EdgesAreFiniteAndRight) {
  const at::Tensor row = random_embeddings(1, 1, 6, 2), same = row.expand({4, 2, 6}), none = integers({0, 1, 2, 3});
  const at::Tensor opposite = at::cat({row, row, -row, -row}).expand({4, 2, 6}), mixed = at::cat({row, -row, row, -row}).expand({4, 2, 6});
  for (EpsForm form : kForms) {
    for (double epsilon : {0.0, 2.0, kInfinity}) {
      const auto options = Options{.epsilon = epsilon, .form = form};
      const double omega = std::exp(-epsilon), negatives = form == EpsForm::kB || form == EpsForm::kD ? 1 : 4;
      const double positives = form == EpsForm::kA || form == EpsForm::kB ? 3 : form == EpsForm::kIn ? 1. / 3 : 1;
      const double shift = form == EpsForm::kIn ? omega / 3 : omega;
      expect_edge(same, classes(), options, std::log(shift + negatives * positives), "identical rows");
      expect_edge(at::zeros({4, 2, 6}), classes(), options, std::log(shift + negatives * positives), "zero rows");
      const double far = std::isinf(epsilon) ? std::log(negatives * positives) - 400 : std::log(shift);
      expect_edge(opposite, classes(), options, far, "antipodal classes");
      expect_edge(row.expand({2, 1, 6}), integers({0, 1}), options, 0, "no positives");
      expect_edge(row, integers({0}), options, 0, "one row");
      const bool over_negatives = form == EpsForm::kB || form == EpsForm::kD;
      expect_edge(same, integers({5, 5, 5, 5}), options,
                  over_negatives || std::isinf(epsilon) ? 0 : -epsilon - (form == EpsForm::kIn ? std::log(7) : 0), "no negatives");
    }
    // Positives at cosine 1 (the other view) and -1 (twice), negatives at 1 (twice) and -1 (twice).
    const double hardest = form == EpsForm::kA    ? 400 + std::log(4)
                           : form == EpsForm::kIn ? std::log(std::exp(-0.25) / 3 + 2)
                           : form == EpsForm::kB  ? (2 * (400 + std::log(2)) + 2 * std::log(std::exp(-0.25) + 2)) / 4
                           : form == EpsForm::kC  ? (2 * (400 + std::log(2)) + std::log(std::exp(-0.25) + 2)) / 3
                                                  : 0;
    if (form != EpsForm::kD) expect_edge(mixed, classes(), Options{.form = form}, hardest, "positives at cosine -1");
    expect_edge(random_embeddings(4, 1, 3, 1), none, Options{.form = form}, 0, "no positives");
  }
  expect_edge(same, integers({5, 5, 5, 5}), Options{.epsilon = kInfinity, .log_eps = 1e-6}, std::log(1e-6), "no negatives but a constant");
}

TEST(EpsSupInfoNce, BadOptionsAreRefused) {
  EXPECT_THROW(known(Options{.epsilon = -1}), Error);
  EXPECT_THROW(known(Options{.log_eps = -1e-6}), Error);
  EXPECT_THROW(known(Options{.log_eps = kInfinity}), Error);
  EXPECT_THROW(eps_supinfonce(two_views(), {}), Error);
}

}  // namespace eps_supinfonce_test
}  // namespace debias

// Objectives with keys: held to the square form, to MoCo's logits written out, and to their own definitions over a queue.
#include <gtest/gtest.h>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/losses/debiased.h"
#include "debias/losses/label_free.h"
#include "debias/losses/objective.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/objective_checks.h"
#include "tests/support/refusals.h"

namespace debias {
namespace keys_test {

constexpr int64_t kSamples = 6;

at::Tensor flat(const at::Tensor& z) { return z.transpose(0, 1).reshape({-1, z.size(2)}); }

class Keyed : public testing::TestWithParam<std::string> {
 protected:
  const ObjectiveEntry& entry() const { return find_entry(objective_registry(), GetParam(), "objective"); }
  std::unique_ptr<Objective> make(const std::string& yaml = "{}") const { return entry().make(parse_yaml(yaml, "term"), {}); }
  bool label_free() const { return entry().min_views == 2; }

  std::vector<std::string> settings() const {
    std::vector<std::string> all = {"{}"};
    for (const auto& option : entry().options) {
      for (const auto& choice : option.choices) {
        if (GetParam() == "eps_supinfonce" && choice == "d") continue;  // refused: below
        all.push_back(fmt::format("{{{}: {}}}", option.name, choice));
      }
      if (option.type == "boolean") all.push_back(fmt::format("{{{}: true}}", option.name));
    }
    return all;
  }

  static ObjectiveInput batch(int64_t views) {
    ObjectiveInput made = {.z = random_embeddings(kSamples, views, 5, 1),
                           .labels = integers({0, 1, 2, 0, 1, -1}),
                           .samples = integers({10, 11, 12, 13, 14, 15})};
    return made;
  }

  // A batch of one view, its positives, and a queue in which sample 12 is met again.
  static ObjectiveInput queued() {
    ObjectiveInput made = batch(1);
    made.positives = random_embeddings(kSamples, 1, 5, 2);
    made.keys = random_embeddings(9, 1, 5, 3).squeeze(1);
    made.key_samples = integers({1, 2, 12, 3, -1, -1, 4, 5, 6});
    made.key_labels = integers({0, 1, 2, 2, -1, -1, 1, 0, 0});
    return made;
  }

  ErrorKind refusal(const ObjectiveInput& bad, const std::string& yaml = "{}") const {
    const Error error = thrown_by([&] { (*make(yaml))(bad); });
    EXPECT_NE(std::string(error.what()).find(GetParam()), std::string::npos) << error.what();
    return error.kind();
  }
};

TEST_P(Keyed, ThatAreTheAnchorsGiveTheSquareForm) {
  for (const auto& setting : settings()) {
    const auto objective = make(setting);
    const auto [square, gradient] = with_gradient(batch(2).z, [&](const at::Tensor& z) {
      ObjectiveInput input = batch(2);
      input.z = z;
      return (*objective)(input);
    });
    for (const Engine engine : {Engine::kDense, Engine::kBlocked}) {
      const auto [keyed, keyed_gradient] = with_gradient(batch(2).z, [&](const at::Tensor& z) {
        ObjectiveInput input = batch(2);
        input.z = z;
        input.keys = flat(z);
        input.key_samples = input.samples.repeat({2});
        input.key_labels = input.labels.repeat({2});
        input.self = 0;
        input.engine = engine;
        return (*objective)(input);
      });
      EXPECT_EQ(keyed.engine, engine) << setting;
      EXPECT_NEAR(value(keyed), value(square), 1e-12 * std::max(1.0, std::abs(value(square)))) << setting;
      EXPECT_LT(largest_difference(keyed_gradient, gradient), 1e-11) << setting;
      EXPECT_LT(largest_difference(keyed.per_anchor.nan_to_num(7), square.per_anchor.nan_to_num(7)), 1e-11) << setting;
      EXPECT_EQ(keyed.clamped, square.clamped);
      EXPECT_EQ(keyed.anchors_used, square.anchors_used);
    }
  }
}

TEST_P(Keyed, AQueueAgreesWithFiniteDifferencesInAllThatItReads) {
  for (const auto& setting : settings()) {
    Config term = parse_yaml(setting, "term");
    for (const auto& option : entry().options) {
      if (option.name == "detach_weights") term.set(option.name, Config::boolean(false));
    }
    const auto objective = entry().make(term, {});
    for (at::Tensor ObjectiveInput::*part : {&ObjectiveInput::z, &ObjectiveInput::keys, &ObjectiveInput::positives}) {
      ObjectiveInput given = queued();
      const at::Tensor leaf = (given.*part).clone().requires_grad_(true);
      given.*part = leaf;
      const ObjectiveResult result = (*objective)(given);
      EXPECT_EQ(result.anchors, kSamples);
      result.value.backward();
      const auto value_at = [&](const at::Tensor& moved) {
        ObjectiveInput other = given;
        other.*part = moved;
        return (*objective)(other).value.item<double>();
      };
      const double size = std::max(1.0, leaf.grad().abs().max().item<double>());
      EXPECT_LT(largest_difference(leaf.grad(), numeric_gradient(value_at, leaf)), 1e-6 * size) << setting;
    }
  }
}

TEST_P(Keyed, OrderOfKeysDoesNotMatter) {
  ObjectiveInput given = queued(), other = queued();
  const at::Tensor order = integers({8, 3, 1, 0, 7, 5, 2, 6, 4});
  other.keys = given.keys.index_select(0, order);
  other.key_samples = given.key_samples.index_select(0, order);
  other.key_labels = given.key_labels.index_select(0, order);
  EXPECT_NEAR(value((*make())(other)), value((*make())(given)), 1e-12 * std::max(1.0, std::abs(value((*make())(given)))));
}

class Unkeyed : public Keyed {};

TEST_P(Unkeyed, KeysAreRefusedByName) {
  ObjectiveInput bad = queued();
  if (entry().kind == InputKind::kLogits) bad.z = bad.z.squeeze(1);
  if (entry().needs_bias) bad.bias = bad.labels;
  if (entry().needs_bias_features) bad.weights = random_embeddings(kSamples, 1, 3, 9).squeeze(1);
  EXPECT_EQ(refusal(bad), ErrorKind::kUsage);
}

TEST_P(Keyed, KeysThatDoNotFitAreRefusedInOneLine) {
  ObjectiveInput bad = queued();
  bad.keys = random_embeddings(9, 1, 4, 3).squeeze(1);
  EXPECT_EQ(refusal(bad), ErrorKind::kData);
  bad = queued();
  bad.keys = bad.keys.to(at::kLong);
  EXPECT_EQ(refusal(bad), ErrorKind::kData);
  bad = queued();
  bad.key_samples = integers({1, 2});
  EXPECT_EQ(refusal(bad), ErrorKind::kData);
  bad = queued();
  bad.key_labels = bad.key_labels.to(at::kInt);
  EXPECT_EQ(refusal(bad), ErrorKind::kData);
  bad = queued();
  bad.positives = bad.positives.slice(0, 0, 2);
  EXPECT_EQ(refusal(bad), ErrorKind::kData);
  bad = queued();
  bad.self = 4;
  EXPECT_EQ(refusal(bad), ErrorKind::kData);
  bad = queued();
  bad.keys = at::Tensor();
  EXPECT_EQ(refusal(bad), ErrorKind::kUsage);
  if (!entry().needs_labels) return;
  bad = queued();
  bad.key_labels = at::Tensor();
  EXPECT_EQ(refusal(bad), ErrorKind::kUsage);
}

std::vector<std::string> names(bool taking_keys) {
  std::vector<std::string> all;
  for (const auto& entry : objective_registry()) {
    if (entry.takes_keys == taking_keys) all.push_back(entry.name);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Registry, Keyed, testing::ValuesIn(names(true)), [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(Registry, Unkeyed, testing::ValuesIn(names(false)), [](const auto& test) { return test.param; });

TEST(KeyedInfoNce, WithAQueueIsMocosCrossEntropy) {  // He et al. 2020, Algorithm 1: logits (q . k, q . queue) / t, target 0
  const double t = 0.2;
  const at::Tensor q = random_embeddings(5, 1, 4, 1), k = random_embeddings(5, 1, 4, 2), queue = random_embeddings(7, 1, 4, 3).squeeze(1);
  const at::Tensor logits = at::cat({(q * k).sum(2), q.squeeze(1).mm(queue.t())}, 1) / t;
  const double expected = at::cross_entropy_loss(logits, at::zeros({5}, at::kLong)).item<double>();
  ObjectiveInput input = {.z = q, .keys = queue, .positives = k};
  EXPECT_NEAR(value(infonce(input, InfoNceOptions{.temperature = t})), expected, 1e-12);
}

TEST(KeyedInfoNce, KeysOfTheBatchAreMocoV3s) {  // Chen et al. 2021: logits q k^T / t, target the own key
  const double t = 0.3;
  const at::Tensor q = random_embeddings(5, 1, 4, 1), k = random_embeddings(5, 1, 4, 2).squeeze(1);
  ObjectiveInput input = {.z = q, .keys = k, .key_samples = at::arange(5)};
  EXPECT_NEAR(value(infonce(input, InfoNceOptions{.temperature = t})),
              at::cross_entropy_loss(q.squeeze(1).mm(k.t()) / t, at::arange(5)).item<double>(), 1e-12);
}

TEST(KeyedInfoNce, AKeyOfTheAnchorsSampleIsNoNegative) {
  ObjectiveInput input = {.z = random_embeddings(2, 1, 4, 1),
                          .samples = integers({5, 6}),
                          .keys = random_embeddings(4, 1, 4, 3).squeeze(1),
                          .key_samples = integers({7, 5, 8, -1}),
                          .positives = random_embeddings(2, 1, 4, 2)};
  const at::Tensor s = input.z.squeeze(1).mm(input.keys.t()) / 0.5, p = (input.z * input.positives).sum(2).squeeze(1) / 0.5;
  const auto loss = [&](int64_t row, const std::vector<int64_t>& negatives) {
    double sum = std::exp(p[row].item<double>());
    const double own = sum;
    for (const int64_t j : negatives) sum += std::exp(s[row][j].item<double>());
    return std::log(sum / own);
  };
  const ObjectiveResult found = infonce(input, InfoNceOptions{.temperature = 0.5});
  EXPECT_NEAR(found.per_anchor[0].item<double>(), loss(0, {0, 2, 3}), 1e-12);
  EXPECT_NEAR(found.per_anchor[1].item<double>(), loss(1, {0, 1, 2, 3}), 1e-12);
}

TEST(KeyedInfoNce, AnAnchorWithoutAPositiveIsNamed) {
  ObjectiveInput input = {
      .z = random_embeddings(3, 1, 4, 1), .keys = random_embeddings(4, 1, 4, 3).squeeze(1), .key_samples = integers({0, 2, 7, 8})};
  EXPECT_NE(data_error_of([&] { infonce(input, InfoNceOptions()); }).find("anchor 1 (sample 1)"), std::string::npos);
}

TEST(KeyedDebiased, SeveralPositivesShareTheCorrection) {  // M = 2: their exponentials are averaged, the numerator keeps the first
  const double tau = 0.1, t = 0.5;
  ObjectiveInput input = {
      .z = random_embeddings(1, 1, 4, 1), .keys = random_embeddings(6, 1, 4, 3).squeeze(1), .positives = random_embeddings(1, 2, 4, 2)};
  const at::Tensor s = (input.z[0].mm(input.keys.t()) / t).exp(), p = (input.z[0].mm(input.positives[0].t()) / t).exp()[0];
  const double first = p[0].item<double>(), g = (s.mean() - tau * p.mean()).item<double>() / (1 - tau);
  EXPECT_NEAR(value(debiased_negatives(input, DebiasedNegativesOptions{.temperature = t, .tau_plus = tau})),
              -std::log(first / (first + 6 * g)), 1e-12);
}

TEST(KeyedPositives, MoreThanTheNumeratorReadsAreRefused) {
  ObjectiveInput input = {
      .z = random_embeddings(2, 1, 4, 1), .keys = random_embeddings(6, 1, 4, 3).squeeze(1), .positives = random_embeddings(2, 2, 4, 2)};
  for (const char* name : {"infonce", "eps_infonce", "bayesian"}) {
    const auto& entry = find_entry(objective_registry(), name, "objective");
    EXPECT_THROW((*entry.make(Config::map(), {}))(input), Error) << name;
  }
}

TEST(KeyedClasses, WithoutAnyPositiveAreADataError) {  // a loss of 0 would look perfect
  ObjectiveInput input = {.z = random_embeddings(2, 1, 4, 1),
                          .labels = integers({0, 1}),
                          .keys = random_embeddings(4, 1, 4, 3).squeeze(1),
                          .key_labels = integers({-1, 2, 3, -1})};
  for (const char* name : {"supcon", "eps_supcon", "eps_supinfonce"}) {
    const auto& entry = find_entry(objective_registry(), name, "objective");
    EXPECT_THROW((*entry.make(Config::map(), {}))(input), Error) << name;
  }
}

TEST(KeyedEpsSupInfoNce, FormDNeedsTheSquare) {
  ObjectiveInput input = {.z = random_embeddings(2, 1, 4, 1),
                          .labels = integers({0, 1}),
                          .keys = random_embeddings(4, 1, 4, 3).squeeze(1),
                          .key_labels = integers({0, 1, 0, 1})};
  const auto& entry = find_entry(objective_registry(), "eps_supinfonce", "objective");
  EXPECT_THROW((*entry.make(parse_yaml("{form: d}", "term"), {}))(input), Error);
}

TEST(ReportedEngine, IsTheOneThatComputed) {  // sums over triplets have no fused form
  ObjectiveInput input = {.z = random_embeddings(6, 2, 4, 1).to(at::kFloat), .labels = integers({0, 1, 0, 1, 0, 1})};
  const auto& entry = find_entry(objective_registry(), "eps_supinfonce", "objective");
  EXPECT_EQ((*entry.make(parse_yaml("{form: d}", "term"), {}))(input).engine, Engine::kBlocked);
  EXPECT_EQ((*entry.make(parse_yaml("{form: c}", "term"), {}))(input).engine, Engine::kFused);
  input.engine = Engine::kBlocked;
  EXPECT_EQ((*entry.make(parse_yaml("{form: c}", "term"), {}))(input).engine, Engine::kBlocked);
  input.engine = Engine::kDense;
  EXPECT_EQ((*entry.make(parse_yaml("{form: d}", "term"), {}))(input).engine, Engine::kDense);
  input.engine = Engine::kFused;
  EXPECT_THROW((*entry.make(parse_yaml("{form: d}", "term"), {}))(input), Error);
}

}  // namespace keys_test
}  // namespace debias

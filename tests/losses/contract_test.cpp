// What every registered objective must keep, by being registered.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/losses/objective.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/refusals.h"

namespace debias {
namespace contract_test {

constexpr int64_t kSamples = 6;

class Contract : public testing::TestWithParam<std::string> {
 protected:
  const ObjectiveEntry& entry() const { return find_entry(objective_registry(), GetParam(), "objective"); }
  int64_t views() const { return std::max<int64_t>(2, entry().min_views); }

  // Everything an objective may ask for.
  ObjectiveInput input(int64_t view_count, int64_t seed = 1) const {
    ObjectiveInput made = {
        .z = entry().kind == InputKind::kLogits ? at::randn({kSamples, 4}, at::kDouble) : random_embeddings(kSamples, view_count, 5, seed),
        .labels = integers({0, 1, 2, 0, 1, 0}),
        .bias = integers({0, 0, 1, 1, 0, 1})};
    if (entry().needs_bias_features) made.weights = random_embeddings(kSamples, 1, 3, 9).squeeze(1);
    return made;
  }
  ObjectiveInput input() const { return input(views()); }

  std::unique_ptr<Objective> make(const std::string& yaml = "{}") const { return entry().make(parse_yaml(yaml, "term"), {}); }
  std::unique_ptr<Objective> with_weights_in_the_graph(const std::string& yaml) const {
    Config term = parse_yaml(yaml, "term");
    for (const auto& option : entry().options) {
      if (option.name == "detach_weights") term.set(option.name, Config::boolean(false));
    }
    return entry().make(term, {});
  }

  // Every value of every word and switch, one at a time, beside the defaults.
  std::vector<std::string> settings() const {
    std::vector<std::string> all = {"{}"};
    for (const auto& option : entry().options) {
      for (const auto& choice : option.choices) all.push_back(fmt::format("{{{}: {}}}", option.name, choice));
      if (option.type == "boolean") all.push_back(fmt::format("{{{}: true}}", option.name));
    }
    return all;
  }

  ErrorKind refusal(const Objective& objective, const ObjectiveInput& bad) const {
    const Error error = thrown_by([&] { objective(bad); });
    EXPECT_NE(std::string(error.what()).find(GetParam()), std::string::npos) << error.what();
    return error.kind();
  }
};

TEST_P(Contract, ValueAndGradientAgreeWithFiniteDifferences) {
  for (int64_t view_count : {views(), views() + 1}) {
    for (const auto& setting : settings()) {
      const auto objective = with_weights_in_the_graph(setting);
      // Detached weights are constants of the gradient but not of the value: the objectives' own tests compare them with frozen weights.
      if (GetParam() == "generalized_cross_entropy" && setting == "{form: lff}") continue;
      ObjectiveInput given = input(view_count);
      const at::Tensor leaf = given.z.clone().requires_grad_(true);
      given.z = leaf;
      const ObjectiveResult result = (*objective)(given);
      ASSERT_TRUE(std::isfinite(result.value.item<double>())) << setting;
      EXPECT_EQ(result.value.scalar_type(), at::kDouble);
      EXPECT_EQ(result.value.dim(), 0);
      result.value.backward();
      const auto value_at = [&](const at::Tensor& z) {
        ObjectiveInput moved = given;
        moved.z = z;
        return (*objective)(moved).value.item<double>();
      };
      const double size = std::max(1.0, leaf.grad().abs().max().item<double>());
      EXPECT_LT(largest_difference(leaf.grad(), numeric_gradient(value_at, leaf)), 1e-6 * size) << setting << ", V " << view_count;
      EXPECT_GT(leaf.grad().abs().max().item<double>(), 1e-6) << setting;
    }
  }
}

// Who vouches for an input is spared the looking, and has the same loss.
TEST_P(Contract, WhatIsVouchedForHasTheSameLoss) {
  for (const auto engine : {Engine::kAuto, Engine::kBlocked}) {
    if (engine == Engine::kBlocked && entry().kind != InputKind::kPairs) continue;
    ObjectiveInput given = input();
    given.engine = engine;
    const ObjectiveResult looked = (*make())(given);
    given.vouched = true;
    const ObjectiveResult spared = (*make())(given);
    EXPECT_NEAR(spared.value.item<double>(), looked.value.item<double>(), 1e-12);
    EXPECT_EQ(spared.clamped, looked.clamped);
  }
}

TEST_P(Contract, DiagnosticsIsConsistent) {
  for (const auto& setting : settings()) {
    const ObjectiveResult result = (*make(setting))(input(views() + 1));
    ASSERT_EQ(result.per_anchor.dim(), 1);
    EXPECT_EQ(result.per_anchor.size(0), result.anchors);
    EXPECT_EQ(result.per_anchor.isnan().logical_not().sum().item<int64_t>(), result.anchors_used);
    EXPECT_GE(result.clamped, 0);
    EXPECT_LE(result.clamped, result.clamped_of()) << setting;
    if (result.anchors_used == result.anchors) {
      EXPECT_NEAR(result.per_anchor.mean().item<double>(), result.value.item<double>(), 1e-12) << setting;
    }
  }
}

// Of losses that are a mean over anchors: what a weighted mean of them is to be differentiated by.
TEST_P(Contract, LossesOfAnchorsHaveTheGradientOfTheirMean) {
  if (entry().kind == InputKind::kRegulariser) return;
  for (const auto& setting : settings()) {
    for (const Engine engine : {Engine::kDense, Engine::kAuto}) {
      ObjectiveInput given = input(views() + 1);
      given.engine = engine;
      given.z = given.z.clone().requires_grad_(true);
      const ObjectiveResult result = (*make(setting))(given);
      const at::Tensor used = result.per_anchor.isnan().logical_not();
      if (result.anchors_used != result.anchors) continue;
      const at::Tensor mean = result.per_anchor.where(used, 0).sum() / static_cast<double>(result.anchors_used);
      const at::Tensor expected = torch::autograd::grad({result.value}, {given.z}, {}, true)[0];
      const at::Tensor found = torch::autograd::grad({mean}, {given.z})[0];
      EXPECT_LT(largest_difference(found, expected), 1e-12 * std::max(1.0, expected.abs().max().item<double>())) << setting;
    }
  }
}

// The engine of a result is the one asked for, or the input is rejected with the reason.
TEST_P(Contract, TheEngineAskedForComputesOrIsRefused) {
  for (const auto& setting : settings()) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
      for (const bool keyed : {false, true}) {
        if (keyed && !entry().takes_keys) continue;
        for (const int64_t samples : {kSamples, int64_t{1}}) {
          ObjectiveInput given = input(views());
          given.z = given.z.slice(0, 0, samples).to(type);
          given.labels = given.labels.slice(0, 0, samples);
          given.bias = given.bias.slice(0, 0, samples);
          if (given.weights.defined()) given.weights = given.weights.slice(0, 0, samples);
          if (keyed) {
            given.keys = random_embeddings(5, 1, 5, 4).squeeze(1).to(type);
            given.key_labels = integers({0, 1, 2, 0, 1});
            given.key_samples = integers({0, 1, -1, -1, -1});
            given.positives = given.z.slice(1, 0, 1);
            given.z = given.z.slice(1, 0, 1);
          }
          for (const Engine engine : {Engine::kDense, Engine::kBlocked, Engine::kFused, Engine::kAuto}) {
            given.engine = engine;
            const std::string what =
                fmt::format("{} {} {} keyed {} samples {}", setting, c10::toString(type), enum_name(engine), keyed, samples);
            try {
              const Engine found = (*make(setting))(given).engine;
              if (engine == Engine::kAuto) {
                EXPECT_NE(found, Engine::kAuto) << what;
              } else {
                EXPECT_EQ(found, engine) << what << ", found " << enum_name(found);
              }
            } catch (const Error& error) {
              EXPECT_EQ(error.kind(), ErrorKind::kUsage) << what << ": " << error.what();
              const std::string_view message = error.what();
              EXPECT_TRUE(message.find("engine") != message.npos || (keyed && message.find("keys") != message.npos))
                  << what << ": " << message;
              EXPECT_TRUE(engine != Engine::kAuto || keyed) << what << ": " << message;
            }
          }
        }
      }
    }
  }
}

TEST_P(Contract, OrderOfSamplesAndViewsDoesNotMatter) {
  const ObjectiveInput given = input();
  const at::Tensor order = integers({4, 0, 5, 2, 1, 3});
  ObjectiveInput permuted = given;
  permuted.z = given.z.index_select(0, order);
  permuted.labels = given.labels.index_select(0, order);
  permuted.bias = given.bias.index_select(0, order);
  permuted.samples = integers({40, 0, 50, 20, 10, 30});
  if (given.weights.defined()) permuted.weights = given.weights.index_select(0, order);
  ObjectiveInput swapped = given;
  if (entry().kind != InputKind::kLogits) swapped.z = given.z.flip(1);
  for (const auto& setting : settings()) {
    // The released EnD counts the pairs whose later row has the smaller bias: its value is one of an order.
    if (GetParam() == "end" && setting != "{full_pairs: true}") continue;
    const auto objective = make(setting);
    const double value = (*objective)(given).value.item<double>(), tolerance = 1e-12 * std::max(1.0, std::abs(value));
    EXPECT_NEAR((*objective)(permuted).value.item<double>(), value, tolerance) << setting;
    EXPECT_NEAR((*objective)(swapped).value.item<double>(), value, tolerance) << setting;
  }
}

TEST_P(Contract, LayoutInMemoryDoesNotMatter) {
  const ObjectiveInput given = input();
  ObjectiveInput strided = given;
  strided.z = at::stack({given.z, given.z * 0}, -1).select(-1, 0);
  ASSERT_FALSE(strided.z.is_contiguous());
  EXPECT_EQ((*make())(strided).value.item<double>(), (*make())(given).value.item<double>());
}

TEST_P(Contract, SinglePrecisionIsNearAndHalfIsComputedInSingle) {
  const ObjectiveInput given = input();
  for (const auto& setting : settings()) {
    const auto objective = make(setting);
    ObjectiveInput single = given, half = given, rounded = given;
    single.z = given.z.to(at::kFloat);
    half.z = given.z.to(at::kBFloat16);
    rounded.z = half.z.to(at::kFloat);
    rounded.bfloat16_products = true;
    const ObjectiveResult result = (*objective)(single), from_half = (*objective)(half);
    const double exact = (*objective)(given).value.item<double>();
    EXPECT_EQ(result.value.scalar_type(), at::kFloat);
    EXPECT_NEAR(result.value.item<double>(), exact, 1e-5 * std::max(1.0, std::abs(exact))) << setting;
    EXPECT_EQ(from_half.value.scalar_type(), at::kFloat);
    EXPECT_EQ(from_half.value.item<double>(), (*objective)(rounded).value.item<double>()) << setting;
  }
}

TEST_P(Contract, ConfigMakesTheSameObjectiveAgain) {
  for (const auto& setting : settings()) {
    const Config config = make(setting)->config();
    const auto again = entry().make(parse_yaml(config.to_yaml(), "again"), {});
    EXPECT_EQ(again->config(), config) << setting;
  }
}

TEST_P(Contract, NumbersTakeThePlaceOfOptionsAndChangeNothingElse) {
  const auto options = entry().read(parse_yaml("{}", "recipe.yaml"), {});
  for (size_t i = 0; i < entry().options.size(); ++i) {
    if (entry().options[i].name != "temperature") continue;
    EXPECT_EQ(options->temperature(), options->make()->config().find("temperature")->to_json().get<double>());
    const auto changed = options->with({{i, 0.25, "recipe.yaml:7"}});
    EXPECT_EQ(changed->config(), make("{temperature: 0.25}")->config());
    EXPECT_EQ(changed->temperature(), 0.25);
    EXPECT_EQ((*changed->make())(input()).value.item<double>(), (*make("{temperature: 0.25}"))(input()).value.item<double>());
    const std::string message = thrown_by([&] { options->with({{i, 0.0, "recipe.yaml:7"}}); }).what();
    EXPECT_EQ(message.find("recipe.yaml:7: objective '" + GetParam() + "': temperature: 0 is out of range"), 0u) << message;
    EXPECT_EQ(options->config(), make()->config());
  }
  EXPECT_EQ(options->with({})->config(), options->config());
}

TEST_P(Contract, EveryBadOptionIsReported) {
  const std::string message = thrown_by([&] { make("{no_such_option: 1, neither: 2}"); }).what();
  EXPECT_NE(message.find("unknown option 'no_such_option'"), std::string::npos) << message;
  EXPECT_NE(message.find("(and 1 more)"), std::string::npos) << message;
}

TEST_P(Contract, VariantsAreSettings) {
  for (const char* variant : {"stable", "paper", "authors"}) {
    const auto objective = make(fmt::format("{{variant: {}}}", variant));
    for (const auto& option : entry().options) {
      const auto own = option.variants.find(variant);
      const Config& expected = own == option.variants.end() ? option.default_value : own->second;
      EXPECT_EQ(objective->config().find(option.name)->text(), expected.text()) << variant << " " << option.name;
    }
    EXPECT_TRUE(std::isfinite((*objective)(input()).value.item<double>()));
  }
  EXPECT_THROW(make("{variant: author}"), Error);
}

TEST_P(Contract, BadInputIsRefused) {
  const ObjectiveInput given = input();
  ObjectiveInput bad = given;
  bad.z = given.z.to(at::kLong);
  EXPECT_EQ(refusal(*make(), bad), ErrorKind::kData);
  bad.z = given.z.slice(0, 0, 0);
  EXPECT_EQ(refusal(*make(), bad), ErrorKind::kData);
  if (entry().min_views > 1) {
    bad.z = given.z.slice(1, 0, entry().min_views - 1);
    EXPECT_EQ(refusal(*make(), bad), ErrorKind::kUsage);
    bad.z = given.z.select(1, 0);
    EXPECT_EQ(refusal(*make(), bad), ErrorKind::kData);
  }
  bad = given;
  bad.labels = integers({0, 1, 2});
  EXPECT_EQ(refusal(*make(), bad), ErrorKind::kData);
  bad.labels = given.labels.to(at::kInt);
  EXPECT_EQ(refusal(*make(), bad), ErrorKind::kData);
  if (entry().kind == InputKind::kLogits) return;
  bad = given;
  bad.samples = integers({0, 1, 2, 3, 4, 0});
  EXPECT_EQ(refusal(*make(), bad), ErrorKind::kData);
}

TEST_P(Contract, LabelsAreAskedForWhereNeeded) {
  ObjectiveInput unlabelled = input();
  unlabelled.labels = at::Tensor();
  if (entry().needs_labels) {
    EXPECT_EQ(refusal(*make(), unlabelled), ErrorKind::kUsage);
  } else {
    EXPECT_TRUE(std::isfinite((*make())(unlabelled).value.item<double>()));
  }
  for (const auto& option : entry().options) {
    if (option.name == "drop_false_negatives") {
      EXPECT_EQ(refusal(*make("{drop_false_negatives: true}"), unlabelled), ErrorKind::kUsage);
    }
  }
}

TEST_P(Contract, EveryNumberHasARangeAndEveryOptionALineOfHelp) {
  for (const auto& option : entry().options) {
    EXPECT_FALSE(option.help.empty()) << option.name;
    if (option.type.starts_with("number")) {
      EXPECT_FALSE(option.range.empty()) << option.name;
    }
  }
  EXPECT_FALSE(entry().summary.empty());
  EXPECT_THROW(make("{temperature: 101}"), Error);
  EXPECT_THROW(make("{no_such_option: 1}"), Error);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& entry : objective_registry()) all.push_back(entry.name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Registry, Contract, testing::ValuesIn(names()), [](const auto& test) { return test.param; });

TEST(ObjectiveRegistry, NamesAndAliasesAreUnique) {
  std::vector<std::string> all;
  for (const auto& entry : objective_registry()) {
    all.push_back(entry.name);
    all.insert(all.end(), entry.aliases.begin(), entry.aliases.end());
  }
  const size_t count = all.size();
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  EXPECT_EQ(all.size(), count);
}

}  // namespace contract_test
}  // namespace debias

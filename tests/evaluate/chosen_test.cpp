// Protocols as recipes and commands choose them: by name or alias, with options that are laid over one another.
#include "debias/evaluate/chosen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debias/evaluate/protocol_registry.h"
#include "debias/evaluate/protocols/knn.h"
#include "debias/evaluate/protocols/linear_probe.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace chosen_test {

using testing::HasSubstr;

ChosenProtocols read(const std::string& yaml, const std::vector<std::string>& requested = {}) {
  return read_protocols(SampleKind::kImages, requested, parse_yaml(yaml, "recipe.yaml"));
}

ChosenProtocol asked(const std::string& name, const std::string& yaml) {
  return read_protocol(protocol_for(SampleKind::kImages, name), options(yaml), name);
}

TEST(ChosenProtocol, RequestedOptionsReplaceThoseOfTheRecipe) {
  const ChosenProtocols recipe = read("{knn: {k: 5, temperature: 0.2}}");
  const ChosenProtocol both = asked("knn", "{k: 3, examples: 0}").over(recipe.of("knn"));
  EXPECT_EQ(*both.as<KnnOptions>().k, 3);
  EXPECT_EQ(*both.as<KnnOptions>().temperature, 0.2);
  EXPECT_EQ(both.section.to_json().dump(), R"({"k":3,"temperature":0.2,"examples":0})");
  EXPECT_EQ(*recipe.of("knn").as<KnnOptions>().k, 5);
}

TEST(ChosenProtocol, OptionsTogetherAreCheckedTogether) {
  const ChosenProtocols recipe = read("linear_supcon:\n  milestones: [30, 40]\n");
  EXPECT_EQ(usage_error_of([&] { asked("linear_supcon", "{epochs: 40}").over(recipe.of("linear_supcon")); }),
            "recipe.yaml:1: linear_supcon: milestones: 40 does not come before the last of 40 epochs; lower it, or raise epochs");
}

TEST(ChosenProtocols, AnAliasNamesTheSameProtocolAndStaysAsWritten) {
  const ChosenProtocols recipe = read("{linear: {epochs: 3}, knn: {}}");
  EXPECT_EQ(recipe.of("linear_dcl").as<LinearDclOptions>().epochs, 3);
  EXPECT_EQ(recipe.of("linear").entry->name, "linear_dcl");
  EXPECT_EQ(recipe.section().to_json().dump(), R"({"linear":{"epochs":3},"knn":{}})");
  EXPECT_EQ(asked("linear", "{}").over(recipe.of("linear")).name, "linear");
  EXPECT_EQ(read("{linear: {epochs: 3}, linear_dcl: {epochs: 4}}").of("linear").as<LinearDclOptions>().epochs, 4);
}

TEST(ChosenProtocols, OneThatIsNotWrittenHasItsDefaults) {
  const ChosenProtocol knn = ChosenProtocols().of("knn");
  EXPECT_EQ(knn.as<KnnOptions>().examples, KnnOptions().examples);
  EXPECT_TRUE(knn.section.entries().empty());
  EXPECT_EQ(usage_error_of([] { ChosenProtocols().of("kn"); }), "unknown protocol 'kn'; did you mean 'knn'?");
}

TEST(ChosenProtocols, MistakesNameTheirPlace) {
  const auto refusal = [](const std::string& yaml) { return usage_error_of([&] { read(yaml); }); };
  EXPECT_EQ(refusal("knn:\n  k: 5\n  kk: 5\n"), "recipe.yaml:3: evaluate: knn: unknown option 'kk'; did you mean 'k'?");
  EXPECT_EQ(refusal("linear:\n  epoch: 5\n"), "recipe.yaml:2: evaluate: linear: unknown option 'epoch'; did you mean 'epochs'?");
  EXPECT_EQ(refusal("linear:\n  epochs: 0\n"), "recipe.yaml:2: linear_dcl: epochs: 0 is out of range; give a value in [1, 100000]");
  EXPECT_EQ(refusal("\nkn: {k: 5}\n"), "recipe.yaml:2: unknown protocol 'kn'; did you mean 'knn'?");
  EXPECT_THAT(refusal("\nneighbours: {}\n"), HasSubstr("recipe.yaml:2: protocol 'neighbours' is for sentences, and the run is on images"));
  EXPECT_EQ(usage_error_of([] { read("{knn: {kk: 5}}", {"knnn"}); }), "evaluate: unknown protocol 'knnn'; did you mean 'knn'?");
}

TEST(LinearProbe, KnowsWhetherItsViewsAreWritten) {
  EXPECT_FALSE(asked("linear_dcl", "{}").as<LinearDclOptions>().given_views);
  EXPECT_FALSE(asked("linear_supcon", "{epochs: 3}").as<LinearSupconOptions>().given_views);
  EXPECT_TRUE(asked("linear_dcl", "{views: train}").as<LinearDclOptions>().given_views);
  EXPECT_TRUE(asked("linear_supcon", "{views: crop_flip}").as<LinearSupconOptions>().given_views);
}

// Without an encoder the default views of images give way to stored features.
TEST(LinearProbe, RefusesWrittenViewsOfImagesOnAFeatureTable) {
  EvaluationInput input = toy_input();
  EvaluationCache cache(input, Progress::silent());
  for (const std::string split : {"train", "test"}) input.stored[split] = cache.split(split);
  input.encoder = nullptr;
  for (const std::string protocol : {"linear_dcl", "linear_supcon"}) {
    EXPECT_EQ(details(evaluated(input, protocol, "{epochs: 1}"))["options"]["views"], "eval");
    EXPECT_EQ(usage_error_of([&] { evaluated(input, protocol, "{views: crop_flip}"); }),
              protocol + ": views: crop_flip needs images, and a feature table has none; leave it out");
  }
}

}  // namespace chosen_test
}  // namespace debias

#include "debias/train/methods/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "debias/train/loop/run_parts.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/sample_list.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace sampling_test {

Recipe recipe_with(const std::string& sampler, int64_t batch_size = 16) {
  return read_recipe(changed(small_config("x"), {"sampler=" + sampler, fmt::format("train.batch_size={}", batch_size)}));
}

// Class a: 8 red, 2 green; class b: 5 and 5.
SampleList biased() { return sample_list({{{0, 0}, 8}, {{0, 1}, 2}, {{1, 0}, 5}, {{1, 1}, 5}}); }

std::map<std::string, DrawnGroup> groups_of(const std::string& sampler, const SampleTable& samples) {
  std::map<std::string, DrawnGroup> groups;
  for (const auto& group : drawn_groups(recipe_with(sampler), samples)) groups[group.name] = group;
  return groups;
}

TEST(Sampling, WeightedDrawsTheBiasValuesOfAClassAlike) {
  // 1 / P(b|y) = 1.25, 5, 2, 2: each cell weighs 10.
  const auto groups = groups_of("{name: weighted, oversample_conflicting: inf}", biased());
  ASSERT_EQ(groups.size(), 4u);
  for (const auto& [name, group] : groups) EXPECT_NEAR(group.share, 0.25, 1e-12) << name;
  EXPECT_NEAR(groups.at("a, green").times, 20 * 0.25 / 2, 1e-12);
  EXPECT_EQ(groups.at("a, red").samples, 8);
}

TEST(Sampling, WeightedDrawsNoSampleMoreThanSoManyTimesAsOftenAsTheCommonest) {
  // Capped at 1.6 * 1.25 = 2: cells of 10, 4, 10, 10.
  const auto groups = groups_of("{name: weighted, oversample_conflicting: 1.6}", biased());
  EXPECT_NEAR(groups.at("a, green").share, 4.0 / 34, 1e-12);
  EXPECT_NEAR(groups.at("a, green").times / groups.at("a, red").times, 1.6, 1e-12);
}

TEST(Sampling, ByClassEveryClassIsDrawnAlike) {
  const SampleList samples = sample_list({{{0, 0}, 12}, {{1, 0}, 3}});
  for (const char* name : {"weighted", "balanced"}) {
    const auto groups = groups_of(fmt::format("{{name: {}, by: class}}", name), samples);
    EXPECT_NEAR(groups.at("a, red").share, 0.5, 1e-12) << name;
    EXPECT_NEAR(groups.at("b, red").times, 2.5, 1e-12) << name;
  }
}

TEST(Sampling, SharesAreThoseOfWhatIsDrawn) {
  const SampleList samples = sample_list({{{0, 0}, 800}, {{0, 1}, 20}, {{1, 0}, 500}, {{2, 1}, 680}});
  for (const char* sampler : {"weighted", "{name: weighted, by: class}", "balanced", "{name: balanced, by: class}", "shuffled"}) {
    const Recipe recipe = recipe_with(sampler);
    std::map<std::array<int64_t, 2>, double> drawn;
    const auto visits = make_sampler(recipe, samples)->epoch(3, 1);
    ASSERT_EQ(std::ssize(visits), samples.size());
    for (const Visit& visit : visits) ++drawn[{samples.label(visit.index), samples.bias(visit.index)}];
    size_t i = 0;
    for (const auto& group : drawn_groups(recipe, samples)) {
      EXPECT_NEAR(std::next(drawn.begin(), static_cast<std::ptrdiff_t>(i++))->second / 2000, group.share, 0.045)
          << sampler << " " << group.name;
    }
    EXPECT_EQ(i, 4u) << sampler;
  }
}

TEST(Sampling, WhatCannotBeDrawnByIsRefused) {
  SampleList unlabelled = biased(), unbiased = biased();
  unlabelled.lose_classes();
  unbiased.lose_biases();
  const SampleList partly = sample_list({{{0, 0}, 4}, {{1, -1}, 2}, {{-1, 1}, 1}});
  const auto with = [](const std::string& sampler, const SampleTable& samples) {
    return [&samples, sampler] { make_sampler(recipe_with(sampler), samples); };
  };
  for (const std::string name : {"weighted", "balanced"}) {
    EXPECT_NE(usage_error_of(with(name, unlabelled)).find("needs labels, data set 'listed' (split train) has none"), std::string::npos);
    EXPECT_NE(usage_error_of(with(name, unbiased)).find("needs bias labels, data set 'listed' (split train) has none; write by: class"),
              std::string::npos);
    EXPECT_NO_THROW(with("{name: " + name + ", by: class}", unbiased)());
    const std::string some = data_error_of(with(name, partly));
    EXPECT_NE(some.find("3 of 7 samples of data set 'listed' (split train) have no label or no bias label, the first is 'row 4'"),
              std::string::npos)
        << some;
    EXPECT_NE(data_error_of(with("{name: " + name + ", by: class}", partly)).find("1 of 7 samples"), std::string::npos);
  }
  EXPECT_NE(usage_error_of(with("wieghted", biased())).find("did you mean 'weighted'"), std::string::npos);
  EXPECT_NE(usage_error_of(with("{name: shuffled, oversample_conflicting: 3}", biased())).find("unknown option"), std::string::npos);
  EXPECT_NE(usage_error_of(with("{name: weighted, oversample_conflicting: 0.5}", biased())).find(">= 1"), std::string::npos);
  EXPECT_NE(usage_error_of(with("{name: weighted, by: class, oversample_conflicting: 3}", biased())).find("by: class; leave one out"),
            std::string::npos);
}

TEST(Sampling, GroupsWithoutASampleAreNamed) {
  const SampleList samples = sample_list({{{0, 0}, 8}, {{1, 0}, 5}, {{1, 1}, 5}});  // and no image of class c
  const auto lines = undrawn_groups(recipe_with("balanced"), samples);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "sampler: 1 of 6 groups have no sample and cannot be drawn, the first is class 'a' with bias label 'green'");
  EXPECT_TRUE(undrawn_groups(recipe_with("{name: balanced, by: class}"), samples).empty());
  EXPECT_TRUE(undrawn_groups(recipe_with("shuffled"), samples).empty());
  EXPECT_TRUE(undrawn_groups(recipe_with("balanced"), biased()).empty());
}

TEST(Sampling, ThePriorIsThatOfTheDraws) {
  const SampleList samples = sample_list({{{0, 0}, 900}, {{1, 0}, 60}, {{2, 0}, 40}});  // sum p^2 = 0.8152
  const auto prior = [&](const std::string& sampler, Negatives negatives) {
    return drawn_class_prior(recipe_with(sampler, 12), samples, negatives);
  };
  const std::string weighted = "{name: weighted, by: class}", balanced = "{name: balanced, by: class}";
  EXPECT_NEAR(prior(weighted, Negatives::kBatch), 1.0 / 3, 1e-12);
  EXPECT_NEAR(prior(weighted, Negatives::kEarlierBatches), 1.0 / 3, 1e-12);
  EXPECT_NEAR(prior(balanced, Negatives::kEarlierBatches), 1.0 / 3, 1e-12);
  EXPECT_NEAR(prior(balanced, Negatives::kBatch), 3.0 / 11, 1e-12);      // four of each class in a batch of twelve
  EXPECT_NEAR(prior(balanced, Negatives::kAllSamples), 1.0 / 3, 1e-12);  // 1/3 (0.9 + 0.06 + 0.04)
  EXPECT_NEAR(prior("shuffled", Negatives::kBatch), 0.8152, 0.005);
}

TEST(Sampling, ThePriorOfTheLabelGivenTheBiasIsThatOfTheDraws) {
  Config root = changed(small_config("x"), {"data.train={name: glyphs, size: 16, classes: 2, correlation: 0.75, train_count: 96}",
                                            "classifier={name: linear, gradient: flow}", "objective=bias_balanced"});
  const auto prior_of = [&] {
    const TrainInput input = input_for(root);
    const RunParts parts = make_run_parts(input.recipe, input.dataset);
    return parts.method->terms().begin()->prior()[0][0].item<double>();
  };
  const double counted = prior_of();
  EXPECT_GT(counted, 0.7);
  root.assign("sampler={name: weighted, oversample_conflicting: inf}");
  EXPECT_NEAR(prior_of(), 0.5, 1e-12);
}

TEST(Sampling, ARunGoesOnByteForByteAndItsRecipeSaysHowItDrew) {
  const TemporaryFolder folder;
  for (const char* sampler : {"{name: weighted, oversample_conflicting: 3}", "{name: balanced, by: class}"}) {
    Config root = changed(small_config(folder.path() + "/whole"), {"data.train.correlation=0.75", std::string("sampler=") + sampler});
    train(input_for(root));
    const Config resolved = read_yaml_file(folder.path() + "/whole/config.yaml");
    EXPECT_EQ(resolved.find("sampler")->find("name")->text(), parse_yaml(sampler, "s").find("name")->text());
    EXPECT_EQ(resolve_recipe(read_recipe(resolved), *read_recipe(resolved).train_data.make_images()).to_yaml(), resolved.to_yaml());
    train_in_two(root, folder.path() + "/two", 8);
    expect_same_run(folder.path() + "/whole", folder.path() + "/two");
    for (const char* run : {"/whole", "/two"}) std::filesystem::remove_all(folder.path() + run);
  }
}

}  // namespace sampling_test
}  // namespace debias

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>

#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/methods/sampling.h"
#include "debias/train/methods/term.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/sample_list.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace sampling_test {

using testing::HasSubstr;

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
    EXPECT_THAT(usage_error_of(with(name, unlabelled)), HasSubstr("needs labels, data set 'listed' (split train) has none"));
    EXPECT_THAT(usage_error_of(with(name, unbiased)),
                HasSubstr("needs bias labels, data set 'listed' (split train) has none; write by: class"));
    EXPECT_NO_THROW(with("{name: " + name + ", by: class}", unbiased)());
    EXPECT_THAT(data_error_of(with(name, partly)),
                HasSubstr("3 of 7 samples of data set 'listed' (split train) have no label or no bias label, the first is 'row 4'"));
    EXPECT_THAT(data_error_of(with("{name: " + name + ", by: class}", partly)), HasSubstr("1 of 7 samples"));
  }
  EXPECT_THAT(usage_error_of(with("wieghted", biased())), HasSubstr("did you mean 'weighted'"));
  EXPECT_THAT(usage_error_of(with("{name: shuffled, oversample_conflicting: 3}", biased())), HasSubstr("unknown option"));
  EXPECT_THAT(usage_error_of(with("{name: weighted, oversample_conflicting: 0.5}", biased())), HasSubstr(">= 1"));
  EXPECT_THAT(usage_error_of(with("{name: weighted, by: class, oversample_conflicting: 3}", biased())),
              HasSubstr("by: class; leave one out"));
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
  for (const char* sampler : {"{name: weighted, oversample_conflicting: 3}", "{name: balanced, by: class}"}) {
    const TemporaryFolder folder;
    expect_resumes(folder, changed(small_config(""), {"data.train.correlation=0.75", std::string("sampler=") + sampler}), {8});
    const Config resolved = read_yaml_file(folder / "whole/config.yaml");
    EXPECT_EQ(resolved.find("sampler")->find("name")->text(), parse_yaml(sampler, "s").find("name")->text());
    EXPECT_EQ(resolve_recipe(read_recipe(resolved), *read_recipe(resolved).train_data.make_images()).to_yaml(), resolved.to_yaml());
  }
}

TEST(BiasData, ThePriorIsADistributionOfLabelsForEachBiasValue) {
  const SampleList data({{0, 0}, {0, 0}, {1, 0}, {2, 0}, {1, 1}, {-1, 1}, {1, -1}});
  EXPECT_TRUE(at::allclose(label_given_bias(data), at::tensor({0.5, 0.0, 0.25, 1.0, 0.25, 0.0}, at::kDouble).view({3, 2})));
  EXPECT_EQ(label_given_bias(SampleList({{0, 0}})).select(1, 1).sum().item<double>(), 0);  // no sample of that bias label
  const at::Tensor drawn = label_given_bias(SampleList({{0, 0}, {0, 0}, {1, 0}, {1, 1}}), {0.25, 0.25, 1.5, 0.125});
  EXPECT_TRUE(at::allclose(drawn, at::tensor({0.25, 0.0, 0.75, 1.0, 0.0, 0.0}, at::kDouble).view({3, 2})));
  EXPECT_THROW(label_given_bias(SampleList({{0, 2}})), Error);
}

class BiasFeatures : public ::testing::Test {
 protected:
  std::string write(const std::vector<int64_t>& shape, std::vector<float> values) {
    const std::string path = folder_.path() + "/g.npy";
    write_npy(path, DType::kFloat32, shape, values.data());
    return path;
  }
  std::string refusal(const std::string& path) {
    const std::string message = data_error_of([&] { read_bias_features(path, data_); });
    EXPECT_EQ(message.find(path), 0u) << message;
    return message;
  }
  void SetUp() override { data_.number_from(10); }

  TemporaryFolder folder_;
  SampleList data_{{{0, 0}, {1, 1}}};  // ids 10 and 11
};

TEST_F(BiasFeatures, AreRowsBySampleId) {
  std::vector<float> values(24);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const at::Tensor features = read_bias_features(write({12, 2}, values), data_);
  EXPECT_EQ(features[11][1].item<float>(), 23);
  EXPECT_EQ(features.size(0), 12);
}

TEST_F(BiasFeatures, ThatDoNotFitAreRefusedByPath) {
  EXPECT_THAT(refusal(write({11, 2}, std::vector<float>(22))),
              HasSubstr("a row for each sample id up to 11 of data set 'listed', found (11, 2)"));
  EXPECT_THAT(refusal(write({24}, std::vector<float>(24))), HasSubstr("found (24)"));
  std::vector<float> values(24);
  values[6] = NAN;
  EXPECT_THAT(refusal(write({12, 2}, values)), HasSubstr("row 3 is not finite (1 such rows)"));
  const std::string path = folder_.path() + "/i.npy";
  const std::vector<int64_t> integers(12);
  write_npy(path, DType::kInt64, {12, 1}, integers.data());
  EXPECT_THAT(refusal(path), HasSubstr("must be float32 or float64"));
}

}  // namespace sampling_test
}  // namespace debias

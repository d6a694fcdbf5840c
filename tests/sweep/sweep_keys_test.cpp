// Keys of a recipe as a sweep compares and sets them.
#include "debias/sweep/sweep_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debias/core/recipe_file.h"
#include "tests/support/refusals.h"

namespace debias::sweep_keys_test {

using testing::HasSubstr;

bool overlap_both_ways(std::string_view a, std::string_view b) {
  EXPECT_EQ(keys_overlap(a, b), keys_overlap(b, a)) << a << " and " << b;
  return keys_overlap(a, b);
}

TEST(SweepKeys, OverlapWhereOneIsTheOtherOrASectionOfIt) {
  EXPECT_TRUE(overlap_both_ways("train.epochs", "train.epochs"));
  EXPECT_TRUE(overlap_both_ways("train.epochs", "train"));
  EXPECT_FALSE(overlap_both_ways("train.epochs", "train.epoch"));
  EXPECT_FALSE(overlap_both_ways("train.epochs", "train.batch_size"));
  EXPECT_FALSE(overlap_both_ways("objective.0.weight", "objective.1.weight"));
}

TEST(SweepKeys, OverlapInEitherSpelling) {
  EXPECT_TRUE(overlap_both_ways("objective[1].weight", "objective.1.weight"));
  EXPECT_TRUE(overlap_both_ways("objective[1]", "objective.1.weight"));
  EXPECT_TRUE(overlap_both_ways("objective.01.weight", "objective[1].weight"));
  EXPECT_TRUE(overlap_both_ways("objective.tau_plus", "objective[0].tau_plus"));
  EXPECT_TRUE(overlap_both_ways("objective.0", "objective.tau_plus"));
  EXPECT_FALSE(overlap_both_ways("objective[0].weight", "objective.1.weight"));
  EXPECT_FALSE(overlap_both_ways("objective[1].weight", "objective.weight"));
  EXPECT_FALSE(overlap_both_ways("objective.alpha.values.0", "objective.alpha.values.6"));
}

TEST(SweepKeys, LieInTheirSections) {
  EXPECT_TRUE(key_lies_in("objective[0].tau_plus", "objective"));
  EXPECT_TRUE(key_lies_in("objective[0].tau_plus", "objective.tau_plus"));
  EXPECT_FALSE(key_lies_in("objective", "objective.0.tau_plus"));
  EXPECT_FALSE(key_lies_in("train", "optimizer"));
}

TEST(SweepKeys, ReachTheOnlyTermInEitherSpelling) {
  for (const char* key : {"objective.0.tau_plus", "objective[0].tau_plus", "objective.tau_plus"}) {
    Config recipe = parse_yaml("objective: {name: debiased_negatives}", "recipe.yaml");
    assign_key(recipe, key, Config::scalar("0.1"));
    EXPECT_EQ(recipe.to_json()["objective"].dump(), R"([{"name":"debiased_negatives","tau_plus":0.1}])") << key;
  }
}

TEST(SweepKeys, ThatAreNoneAreRefusedByTheirName) {
  for (const char* key : {"", "train.epochs=2"}) {
    Config recipe = Config::map();
    EXPECT_THAT(usage_error_of([&] { assign_key(recipe, key, Config::scalar("3")); }), HasSubstr("is not a key of a recipe"));
  }
}

}  // namespace debias::sweep_keys_test

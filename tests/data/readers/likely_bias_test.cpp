#include "debias/data/readers/likely_bias.h"

#include <gtest/gtest.h>

#include "debias/data/sample_table.h"

namespace debias {
namespace likely_bias_test {

using Values = std::vector<std::string>;

// 20 images of two classes.
std::vector<int64_t> classes() {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 20; ++i) labels.push_back(i % 2);
  return labels;
}

// Of `different` values in turn.
Values in_turn(int different) {
  Values values;
  for (int i = 0; i < 20; ++i) values.push_back("v" + std::to_string(i / 2 % different));
  return values;
}

TEST(LikelyBias, FewValuesMayBeABias) {
  EXPECT_TRUE(may_be_bias(in_turn(2), classes()));
  EXPECT_TRUE(may_be_bias(in_turn(4), classes()));
}

TEST(LikelyBias, OneValueAndManyValuesAreNone) {
  EXPECT_FALSE(may_be_bias(in_turn(1), classes()));
  EXPECT_FALSE(may_be_bias(in_turn(5), classes()));  // 25 > 20
  EXPECT_FALSE(may_be_bias({}, {}));
}

TEST(LikelyBias, MissingValuesCountOnlyUpToHalf) {
  Values values = in_turn(2);
  for (size_t i = 0; i < 10; ++i) values[i] = "";
  EXPECT_TRUE(may_be_bias(values, classes()));
  values[10] = "";
  EXPECT_FALSE(may_be_bias(values, classes()));
}

TEST(LikelyBias, NamesOfSplitsAreNone) {
  Values values = in_turn(2);
  for (auto& value : values) value = value == "v0" ? "Train" : "test";
  EXPECT_FALSE(may_be_bias(values, classes()));
  values[0] = "night";
  EXPECT_TRUE(may_be_bias(values, classes()));
}

TEST(LikelyBias, ARenamedClassIsNoneUnlessOneImageDisagrees) {
  Values values;
  for (int i = 0; i < 20; ++i) values.push_back(i % 2 == 0 ? "felis" : "canis");
  EXPECT_FALSE(may_be_bias(values, classes()));
  values[3] = "felis";
  EXPECT_TRUE(may_be_bias(values, classes()));
  EXPECT_TRUE(may_be_bias(values, std::vector<int64_t>(20, kUnknown)));
}

}  // namespace likely_bias_test
}  // namespace debias

// Confusion matrix, classes and rates of bias labels, worked by hand, and who leaves them.
#include "debias/evaluate/confusion.h"

#include <gtest/gtest.h>

#include "debias/evaluate/protocols/group_tables.h"
#include "tests/evaluate/toy.h"

namespace debias {
namespace confusion_test {

Json table_of(const DatasetInfo& info, const GroupSamples& samples) {
  return group_table_json(group_table(info, count_groups(samples)),
                          class_table(samples.labels, samples.predictions, samples.classes, info.class_names));
}

TEST(Confusion, CountsLabelledImagesByLabelAndPrediction) {
  const Json table = class_table_json(class_table({0, 0, 1, kUnknown, 1}, {0, 1, 1, 2, 1}, 3, {"a", "b"}));
  EXPECT_EQ(table["confusion"].dump(), "[[1,1,0],[0,2,0],[0,0,0]]");
  EXPECT_EQ(table["per_class"].dump(), R"({"a":{"count":2,"predicted":1,"accuracy":0.5},"b":{"count":2,"predicted":3,"accuracy":1.0},)"
                                       R"("2":{"count":0,"predicted":0,"accuracy":null}})");
}

TEST(Confusion, OfVeryManyClassesOnlyTheClassesAreListed) {
  const Json table = class_table_json(class_table({200}, {0}, kLargestConfusion + 1, {}));
  EXPECT_FALSE(table.contains("confusion"));
  EXPECT_EQ(table["per_class"]["200"]["accuracy"], 0.0);
}

// The four cells of group_metrics_test: (0,0) 3 of 4 right, (0,1) 1 of 2, (1,0) 0 of 1, (1,1) 3 of 3; one more of unknown bias label.
TEST(GroupTables, HoldFairlearnsRatesByBiasValueAndClass) {
  const GroupSamples samples{
      {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 1, 1, 0, 1, 1, 1, -1}, {0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 0}, 2, 2};
  DatasetInfo info;
  info.class_names = {"cat", "dog"};
  info.bias_names = {"red", "blue"};
  const Json table = table_of(info, samples);
  EXPECT_EQ(table["labels"].dump(), R"(["cat","dog"])");
  EXPECT_EQ(table["count"].dump(), "[[4,2],[1,3]]");
  EXPECT_EQ(table["confusion"].dump(), "[[4,2],[2,3]]");
  EXPECT_EQ(table["per_class"]["dog"]["count"], 5);
  EXPECT_EQ(table["by_bias"]["red"].dump(), R"({"count":5,"accuracy":0.6,"error_rate":0.4,"selection_rate":{"cat":0.8,"dog":0.2},)"
                                            R"("true_positive_rate":{"cat":0.75,"dog":0.0},"false_positive_rate":{"cat":1.0,"dog":0.25},)"
                                            R"("false_negative_rate":{"cat":0.25,"dog":1.0}})");
  EXPECT_EQ(table["by_bias"]["blue"]["false_positive_rate"].dump(), R"({"cat":0.0,"dog":0.5})");
}

TEST(GroupTables, ARateWithoutImagesIsNull) {
  const GroupSamples samples{{0, 0}, {0, 0}, {0, 1}, 2, 2};
  const Json table = table_of({}, samples);
  EXPECT_TRUE(table["by_bias"]["0"]["false_positive_rate"]["0"].is_null());
  EXPECT_TRUE(table["by_bias"]["0"]["true_positive_rate"]["1"].is_null());
  EXPECT_TRUE(table["by_bias"]["1"]["accuracy"].is_null());
  EXPECT_EQ(table["by_bias"]["1"]["count"], 0);
}

TEST(Predictions, OfEveryClassifyingProtocolAreDescribed) {
  const std::string quick = "{epochs: 2, batch_size: 16, views: eval}";
  const std::vector<std::array<std::string, 3>> protocols = {{"knn", "{}", "knn"},
                                                             {"linear_dcl", quick, "linear"},
                                                             {"linear_supcon", quick, "linear"},
                                                             {"linear_features", "{epochs: 2}", "linear"},
                                                             {"mean_classifier", "{}", "mean_classifier"}};
  for (const auto& [name, yaml, whose] : protocols) {
    const EvaluationResult result = evaluated(toy_input(), name, yaml);
    EXPECT_EQ(details(result)["predictions"], whose) << name;
    const auto table = details(result)["by_class"]["test"];
    EXPECT_EQ(table["confusion"].size(), 3u) << name;
    int64_t right = 0;
    for (size_t c = 0; c < 3; ++c) right += table["confusion"][c][c].get<int64_t>();
    int64_t expected = 0;
    for (size_t i = 0; i < 31; ++i) expected += result.predictions.at("test")[i] == static_cast<int64_t>(i) % 3;
    EXPECT_EQ(right, expected) << name;
  }
}

}  // namespace confusion_test
}  // namespace debias

#include "debias/data/name_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusals.h"

namespace debias {
namespace name_table_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One-pixel images whose red value is their place.
class Listed : public Dataset {
 public:
  Listed(std::vector<std::string> classes, std::vector<int64_t> labels, std::vector<std::string> biases = {},
         std::vector<int64_t> bias_values = {})
      : labels_(std::move(labels)), biases_(std::move(bias_values)) {
    info_.name = "listed";
    info_.split = "test";
    info_.class_names = std::move(classes);
    info_.bias_names = std::move(biases);
    biases_.resize(labels_.size(), kUnknown);
  }
  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return std::ssize(labels_); }
  Sample get(int64_t index) const override {
    Sample sample;
    sample.image.height = sample.image.width = 1;
    sample.image.pixels = {static_cast<uint8_t>(index), 0, 0};
    sample.id = 100 + index;
    sample.label = label(index);
    sample.bias = bias(index);
    return sample;
  }
  int64_t id(int64_t index) const override { return 100 + index; }
  int64_t label(int64_t index) const override { return labels_.at(static_cast<size_t>(index)); }
  int64_t bias(int64_t index) const override { return biases_.at(static_cast<size_t>(index)); }
  std::string source(int64_t index) const override { return fmt::format("image {}", index); }

 private:
  DatasetInfo info_;
  std::vector<int64_t> labels_, biases_;
};

std::vector<int64_t> labels_of(const Dataset& dataset) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    EXPECT_EQ(dataset.get(i).label, dataset.label(i));
    labels.push_back(dataset.label(i));
  }
  return labels;
}

std::vector<int64_t> biases_of(const Dataset& dataset) {
  std::vector<int64_t> biases;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    EXPECT_EQ(dataset.get(i).bias, dataset.bias(i));
    biases.push_back(dataset.bias(i));
  }
  return biases;
}

std::string refusal(const std::shared_ptr<const Dataset>& dataset, const NameTable& table, UnknownNames unknown = UnknownNames::kRefuse) {
  return data_error_of([&] { map_to_table(dataset, table, unknown); });
}

const NameTable kAnimals{{"bird", "cat", "dog", "fish"}, {"blue", "red"}};

TEST(NameTable, NumbersAFolderWithSomeOfTheClassesAsTrainingDid) {
  const auto test = std::make_shared<Listed>(std::vector<std::string>{"cat", "fish"}, std::vector<int64_t>{0, 1, 1, kUnknown});
  const MappedDataset mapped = map_to_table(test, kAnimals, UnknownNames::kRefuse);
  EXPECT_THAT(labels_of(*mapped.dataset), ElementsAre(1, 3, 3, kUnknown));
  EXPECT_EQ(mapped.dataset->info().class_names, kAnimals.classes);
  EXPECT_EQ(mapped.dataset->get(2).image.pixels[0], 2);
  EXPECT_EQ(mapped.dataset->id(2), 102);
  EXPECT_TRUE(mapped.remarks.empty());
}

TEST(NameTable, MapsBiasValuesWhoseNamesSortOtherwise) {
  const auto test = std::make_shared<Listed>(std::vector<std::string>{"bird", "cat", "dog", "fish"}, std::vector<int64_t>{0, 1, 2},
                                             std::vector<std::string>{"red", "blue"}, std::vector<int64_t>{0, 1, kUnknown});
  EXPECT_THAT(biases_of(*map_to_table(test, kAnimals, UnknownNames::kRefuse).dataset), ElementsAre(1, 0, kUnknown));
}

TEST(NameTable, TheSameNamesNeedNoMapping) {
  const auto test = std::make_shared<Listed>(kAnimals.classes, std::vector<int64_t>{0, 3}, kAnimals.biases, std::vector<int64_t>{1, 0});
  EXPECT_EQ(map_to_table(test, kAnimals, UnknownNames::kRefuse).dataset, test);
}

TEST(NameTable, AnUnlabelledTrainingSetMapsNothing) {
  const auto test = std::make_shared<Listed>(std::vector<std::string>{"x"}, std::vector<int64_t>{0});
  EXPECT_EQ(map_to_table(test, NameTable{}, UnknownNames::kRefuse).dataset, test);
}

TEST(NameTable, RefusesAClassThatTrainingDidNotKnowWithTheNearestName) {
  const auto test = std::make_shared<Listed>(std::vector<std::string>{"cat", "dogs"}, std::vector<int64_t>{0, 1});
  const std::string message = refusal(test, kAnimals);
  EXPECT_THAT(message, HasSubstr("'dogs'"));
  EXPECT_THAT(message, testing::EndsWith("; did you mean 'dog'?"));
  EXPECT_THAT(message, HasSubstr("evaluate.unknown_classes: ignore"));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(NameTable, AClassWithoutImagesNeedsNoCounterpart) {
  const auto test = std::make_shared<Listed>(std::vector<std::string>{"cat", "wolf"}, std::vector<int64_t>{0, 0});
  EXPECT_THAT(labels_of(*map_to_table(test, kAnimals, UnknownNames::kRefuse).dataset), ElementsAre(1, 1));
}

TEST(NameTable, RefusesUnknownBiasValuesAndNumbersBeyondTheTable) {
  const auto purple =
      std::make_shared<Listed>(kAnimals.classes, std::vector<int64_t>{0}, std::vector<std::string>{"purple"}, std::vector<int64_t>{0});
  EXPECT_THAT(refusal(purple, kAnimals), HasSubstr("bias label 'purple'"));
  const auto numbered = std::make_shared<Listed>(std::vector<std::string>{}, std::vector<int64_t>{3, 4});
  EXPECT_THAT(refusal(numbered, kAnimals), HasSubstr("class '4'"));
}

TEST(NameTable, IgnoringLeavesUnknownClassesOutAndCountsThem) {
  const auto test = std::make_shared<Listed>(std::vector<std::string>{"dog", "wolf"}, std::vector<int64_t>{1, 0, 1, 0},
                                             std::vector<std::string>{"purple", "red"}, std::vector<int64_t>{0, 0, 1, 1});
  const MappedDataset mapped = map_to_table(test, kAnimals, UnknownNames::kIgnore);
  EXPECT_THAT(labels_of(*mapped.dataset), ElementsAre(2, 2));
  EXPECT_THAT(biases_of(*mapped.dataset), ElementsAre(kUnknown, 1));
  EXPECT_EQ(mapped.dataset->get(1).image.pixels[0], 3);
  ASSERT_EQ(mapped.remarks.size(), 2u);
  EXPECT_THAT(mapped.remarks[0], HasSubstr("2 of 4 images are left out: 1 class ('wolf')"));
  EXPECT_THAT(mapped.remarks[1], HasSubstr("2 of 4 images are a group of unknown bias"));
}

TEST(NameTable, NothingLeftIsRefused) {
  const auto test = std::make_shared<Listed>(std::vector<std::string>{"wolf"}, std::vector<int64_t>{0, 0});
  EXPECT_THAT(refusal(test, kAnimals, UnknownNames::kIgnore), HasSubstr("none of its images"));
}

}  // namespace name_table_test
}  // namespace debias

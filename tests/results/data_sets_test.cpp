// Whether two runs saw the same images, by what data/sets.json says.
#include "debias/results/run_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias::data_sets_test {

Json sets(const Json& changes = Json::object()) {
  Json train = {{"name", "image_folder"},
                {"count", 2},
                {"classes", {"cat", "dog"}},
                {"biases", Json::array()},
                {"options", {{"hold_out", 0}, {"seed", 0}}},
                {"labels", "abc"},
                {"images", "0123"}};
  train.update(changes);
  return {{"train", train}};
}

TEST(DataSets, AreAlikeWhateverTheFileOfLabelsAndTheOptionsThatOneOfThemLacks) {
  EXPECT_EQ(compare_data_sets(sets(), sets(), "train"), DataLikeness::kAlike);
  EXPECT_EQ(compare_data_sets(sets(), sets({{"labels", "other bytes"}, {"root", "elsewhere"}}), "train"), DataLikeness::kAlike);
  EXPECT_EQ(compare_data_sets(sets(), sets({{"options", {{"hold_out", 0}, {"gained", true}}}}), "train"), DataLikeness::kAlike);
}

TEST(DataSets, DifferByNamesCountImagesAndOptions) {
  for (const Json& change : {Json{{"classes", {"dog", "cat"}}}, Json{{"biases", {"red"}}}, Json{{"count", 3}}, Json{{"images", "4567"}},
                             Json{{"options", {{"hold_out", 5}}}}}) {
    EXPECT_EQ(compare_data_sets(sets(), sets(change), "train"), DataLikeness::kDifferent) << change;
  }
}

TEST(DataSets, DifferByBytesWhereBothKnowThem) {
  EXPECT_EQ(compare_data_sets(sets({{"contents", "a"}}), sets({{"contents", "b"}}), "train"), DataLikeness::kDifferent);
  EXPECT_EQ(compare_data_sets(sets({{"contents", "a"}}), sets({{"contents", ""}}), "train"), DataLikeness::kAlike);
}

TEST(DataSets, OfSentencesDifferByTheirVocabulary) {
  EXPECT_EQ(compare_data_sets(sets({{"name", "sentences"}}), sets({{"name", "sentences"}, {"labels", "def"}}), "train"),
            DataLikeness::kDifferent);
}

TEST(DataSets, AreUndeterminedForASplitOrARunWithoutAFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(compare_data_sets(sets(), sets(), "test"), DataLikeness::kUndetermined);
  EXPECT_EQ(compare_data_sets(sets(), read_data_sets(folder / "run"), "train"), DataLikeness::kUndetermined);
}

TEST(DataSets, OfADamagedFileAreADataErrorThatNamesIt) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "run/data");
  for (const char* text :
       {"[]", "{", R"({"train": 3})", R"({"train": {"count": "many"}})", R"({"train": {"name": 1}})", R"({"accepted": 1})"}) {
    std::ofstream(folder / "run/data/sets.json") << text;
    EXPECT_NE(data_error_of([&] { read_data_sets(folder / "run"); }).find("data/sets.json"), std::string::npos) << text;
  }
}

}  // namespace debias::data_sets_test

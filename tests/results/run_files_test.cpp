// Whether two runs saw the same images, by what data/sets.json says.
#include "debias/results/run_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "debias/core/error.h"
#include "debias/results/predictions.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace data_sets_test {

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

}  // namespace data_sets_test

// How long training took, by the lines of times.jsonl.
namespace training_speed_test {

TrainingSpeed speed_of(const std::vector<EpochTime>& times) {
  const TemporaryFolder folder;
  for (const auto& time : times) EXPECT_TRUE(append_epoch_time(folder.path(), time));
  return read_training_speed(folder.path());
}

TEST(TrainingSpeed, AddsTheEpochsAndTakesTheMedianOfTheirRates) {
  const TrainingSpeed speed = speed_of({{1, 8.5, 1020, "images"}, {2, 2.5, 1000, "images"}, {3, 2.0, 1000, "images"}});
  EXPECT_DOUBLE_EQ(speed.seconds, 13.0);
  EXPECT_EQ(speed.per_second, 400);
  EXPECT_DOUBLE_EQ(speed.minutes_per_epoch, 13.0 / 60 / 3);
  const auto metrics = speed.metrics();
  ASSERT_EQ(metrics.size(), 3u);
  EXPECT_EQ(metrics[0].first.name, "training_seconds");
  EXPECT_EQ(metrics[1].second, speed.minutes_per_epoch);
  EXPECT_EQ(metrics[2].first.name, "images_per_second");
  EXPECT_EQ(metrics[2].first.title, "images per second");
}

TEST(TrainingSpeed, AnEpochInTwoPartsIsOne) {
  const TrainingSpeed speed = speed_of({{1, 8, 800, "images"}, {2, 6, 600, "images"}, {2, 4, 400, "images"}});
  EXPECT_DOUBLE_EQ(speed.seconds, 18.0);
  EXPECT_DOUBLE_EQ(speed.minutes_per_epoch, 18.0 / 60 / 2);
}

TEST(TrainingSpeed, CountsWhateverTheLoopCounts) {
  const auto metric = speed_of({{1, 4, 50, "agent_steps"}}).metrics().back();
  EXPECT_EQ(metric.first.name, "agent_steps_per_second");
  EXPECT_EQ(metric.first.title, "agent steps per second");
  EXPECT_EQ(metric.second, 12.5);
}

TEST(TrainingSpeed, OfARunWithoutAWholeEpochIsNotKnown) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_training_speed(folder.path()).metrics().empty());
  std::ofstream(folder / kEpochTimesFile) << "";
  const TrainingSpeed speed = read_training_speed(folder.path());
  EXPECT_TRUE(std::isnan(speed.seconds) && std::isnan(speed.per_second) && std::isnan(speed.minutes_per_epoch));
  EXPECT_EQ(speed.damaged_lines, 0);
}

TEST(TrainingSpeed, DamagedLinesAreCountedAndLeftOut) {
  for (const char* line :
       {R"({"epoch": 1, "seconds": 8.5, "cou)", "epoch 1: 8.5 s", "[1, 8.5]", R"({"epoch": 1, "seconds": 8.5})",
        R"({"epoch": 1.5, "seconds": 8.5, "count": 10, "counted": "images"})",
        R"({"epoch": 1, "seconds": null, "count": 10, "counted": "images"})",
        R"({"epoch": 1, "seconds": 0, "count": 10, "counted": "images"})",
        R"({"epoch": 1, "seconds": 1, "count": -10, "counted": "images"})", R"({"epoch": 1, "seconds": 1, "count": 10, "counted": ""})"}) {
    const TemporaryFolder folder;
    std::ofstream(folder / kEpochTimesFile) << line << "\n";
    append_epoch_time(folder.path(), {2, 2, 100, "images"});
    const TrainingSpeed speed = read_training_speed(folder.path());
    EXPECT_EQ(speed.damaged_lines, 1) << line;
    EXPECT_EQ(speed.seconds, 2) << line;
    EXPECT_EQ(speed.per_second, 50) << line;
  }
}

TEST(TrainingSpeed, SaysThatALineCannotBeWritten) {
  const TemporaryFolder folder;
  EXPECT_FALSE(append_epoch_time(folder / "nowhere", {1, 2, 3, "images"}));
}

}  // namespace training_speed_test

namespace image_marks_test {

TEST(ImageMarks, CountPairsOfEachSide) {
  const std::string a = "AaCCcR.r", b = "AACcCr.r";
  ASSERT_TRUE(are_of_one_set(a, b));
  const PairedCounts all = paired_counts(a, b, MarkedImages::kAll);  // all but the image without a class
  EXPECT_EQ(all.images(), 7);
  EXPECT_EQ(all.both, 2);
  EXPECT_EQ(all.only_first, 2);
  EXPECT_EQ(all.only_second, 2);
  EXPECT_EQ(all.neither, 1);
  const PairedCounts conflicting = paired_counts(a, b, MarkedImages::kConflicting);
  EXPECT_EQ(conflicting.images(), 3);
  EXPECT_DOUBLE_EQ(conflicting.first(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(conflicting.second(), 2.0 / 3);
  EXPECT_EQ(conflicting.only_first, 1);
  EXPECT_EQ(paired_counts(a, b, MarkedImages::kAligned).only_second, 1);
  EXPECT_TRUE(std::isnan(paired_counts("RR", "Rr", MarkedImages::kConflicting).first()));
}

// By hand: p = 1/2, group sums -1 or 1 of four groups: (4 / 3) 4 / 2 = 8 / 3.
TEST(ImageMarks, OfGroupsThatAreAlikeCountForFewer) {
  const std::vector<int64_t> pairs = {0, 0, 1, 1, 2, 2, 3, 3}, alone(8, -1);
  const std::string alike = "AAaaAAaa", mixed = "AaAaAaAa", right = "AAAAAAAA";
  EXPECT_NEAR(design_effect(alike, nullptr, MarkedImages::kAll, pairs), 8.0 / 3, 1e-12);
  EXPECT_EQ(design_effect(mixed, nullptr, MarkedImages::kAll, pairs), 1);  // less alike than by chance shows nothing
  EXPECT_EQ(design_effect(alike, nullptr, MarkedImages::kAll, alone), 1);
  EXPECT_NEAR(design_effect(right, nullptr, MarkedImages::kAligned, pairs), 2, 1e-12);   // 2 images a group
  EXPECT_NEAR(design_effect(right, &alike, MarkedImages::kAll, pairs), 8.0 / 3, 1e-12);  // of the difference
  EXPECT_EQ(design_effect("AAaaAAaa", nullptr, MarkedImages::kAll, {0, 0, 0, 0, 0, 0, 0, 0}), 8);
}

TEST(ImageMarks, OfOtherImagesAreOfAnotherSet) {
  EXPECT_TRUE(are_of_one_set("", ""));
  EXPECT_FALSE(are_of_one_set("AA", "A"));
  EXPECT_FALSE(are_of_one_set("AC", "AA"));
  EXPECT_FALSE(are_of_one_set("R.", "RR"));
}

TEST(ImageMarks, RefuseOtherLetters) {
  EXPECT_NO_THROW(require_marks("AaCcRr.", "groups.json"));
  try {
    require_marks("AaX", "groups.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_STREQ(error.what(), "reading 'groups.json': letter 3 of `marks` must be one of AaCcRr.; debias eval writes the file again");
  }
}

}  // namespace image_marks_test
}  // namespace debias

// How long training took, by the lines of times.jsonl.
#include "debias/results/run_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace debias::training_speed_test {

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

}  // namespace debias::training_speed_test

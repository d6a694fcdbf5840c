#include "debias/report/training_speed.h"

#include <gtest/gtest.h>

#include <cmath>

namespace debias {
namespace training_speed_test {

TEST(TrainingSpeed, AddsTheEpochsAndTakesTheMedianOfTheirRates) {
  const TrainingSpeed speed = training_speed(
      "2026-11-22 03:00:00 debias 0.1.0, threads 2\n"
      "2026-11-22 03:00:09 epoch 1: 8.5 s, 120 images/s, waited 0.00 s for views\n"
      "2026-11-22 03:00:12 warning: epoch 1: an image was left out\n"
      "2026-11-22 03:00:19 epoch 2: 2.5 s, 400 images/s, waited 0.00 s for views\n"
      "2026-11-22 03:00:29 epoch 3: 2.0 s, 500 images/s, waited 0.00 s for views\n");
  EXPECT_DOUBLE_EQ(speed.seconds, 13.0);
  EXPECT_EQ(speed.per_second, 400);
  EXPECT_EQ(speed.counted, "images");
  EXPECT_DOUBLE_EQ(speed.minutes_per_epoch, 13.0 / 60 / 3);
}

TEST(TrainingSpeed, AnEpochInTwoPartsIsOne) {
  const TrainingSpeed speed = training_speed(
      "2026-11-22 03:00:09 epoch 1: 8.0 s, 100 images/s, waited 0.00 s for views\n"
      "2026-11-22 03:00:15 epoch 2: 6.0 s, 100 images/s, waited 0.00 s for views; stopped after batch 30\n"
      "2026-11-22 03:02:00 epoch 2: 4.0 s, 100 images/s, waited 0.00 s for views\n");
  EXPECT_DOUBLE_EQ(speed.seconds, 18.0);
  EXPECT_DOUBLE_EQ(speed.minutes_per_epoch, 18.0 / 60 / 2);
}

TEST(TrainingSpeed, OfSentencesAndOfAgentsSaysWhatItCounts) {
  const TrainingSpeed sentences = training_speed("2026-11-22 03:00:09 epoch 1: 8.0 s, 1500 sentences/s, waited 0.00 s for sentences\n");
  EXPECT_DOUBLE_EQ(sentences.seconds, 8.0);
  EXPECT_EQ(sentences.per_second, 1500);
  EXPECT_EQ(sentences.counted, "sentences");
  const TrainingSpeed agent = training_speed(
      "2026-11-22 03:00:09 epoch 1: 90.0 s, 12.5 steps of the agent a second\n"
      "2026-11-22 03:02:09 epoch 2: 60.0 s, 17.5 steps of the agent a second; stopped after step 900\n"
      "2026-11-22 03:04:09 epoch 2: 30.0 s, 15.0 steps of the agent a second\n");
  EXPECT_DOUBLE_EQ(agent.seconds, 180.0);
  EXPECT_DOUBLE_EQ(agent.minutes_per_epoch, 1.5);
  EXPECT_EQ(agent.per_second, 15);
  EXPECT_EQ(agent.counted, "agent_steps");
}

TEST(TrainingSpeed, OfALogWithoutAWholeEpochIsNotKnown) {
  for (const char* log : {"", "\n", "2026-11-22 03:00:09 epoch 1: 8.5 s, 12", "2026-11-22 03:00:09 epoch one: 8.5 s, 12 images/s\n",
                          "2026-11-22 03:00:09 epoch 1: inf s, nan images/s\n", "2026-11-22 03:00:09 epoch 1: 8.5 s, 12 rows/s\n"}) {
    EXPECT_TRUE(std::isnan(training_speed(log).seconds)) << log;
    EXPECT_TRUE(std::isnan(training_speed(log).per_second)) << log;
    EXPECT_TRUE(std::isnan(training_speed(log).minutes_per_epoch)) << log;
  }
}

}  // namespace training_speed_test
}  // namespace debias

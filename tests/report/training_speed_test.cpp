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
  EXPECT_EQ(speed.images_per_second, 400);
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

TEST(TrainingSpeed, OfALogWithoutAWholeEpochIsNotKnown) {
  for (const char* log : {"", "\n", "2026-11-22 03:00:09 epoch 1: 8.5 s, 12", "2026-11-22 03:00:09 epoch one: 8.5 s, 12 images/s\n",
                          "2026-11-22 03:00:09 epoch 1: inf s, nan images/s\n"}) {
    EXPECT_TRUE(std::isnan(training_speed(log).seconds)) << log;
    EXPECT_TRUE(std::isnan(training_speed(log).images_per_second)) << log;
    EXPECT_TRUE(std::isnan(training_speed(log).minutes_per_epoch)) << log;
  }
}

}  // namespace training_speed_test
}  // namespace debias

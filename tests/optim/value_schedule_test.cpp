#include "debias/optim/value_schedule.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/refusals.h"

namespace debias {
namespace value_schedule_test {

std::unique_ptr<ValueSchedule> schedule(const std::string& yaml, int64_t epochs) {
  return read_value_schedule(parse_yaml(yaml, "r.yaml"), "objective 'x': beta", epochs);
}

double value(const std::string& yaml, int64_t epochs, int64_t epoch) { return schedule(yaml, epochs)->value(epoch); }

// Liu and Wang 2023: beta = 2 - 0.005 e, refreshed every 20 of 400 epochs.
TEST(ValueSchedule, LinearGoesFromTheFirstStageToTheLast) {
  const auto beta = schedule("{schedule: linear, from: 2.0, to: 0.1, every: 20}", 400);
  for (int64_t e = 0; e < 400; ++e) EXPECT_NEAR(beta->value(e), 2 - 0.005 * static_cast<double>(e / 20 * 20), 1e-12) << e;
  EXPECT_NEAR(beta->value(1000), 0.1, 1e-12);
  EXPECT_NEAR(value("{schedule: linear, from: 0, to: 3}", 4, 2), 2, 1e-15);             // a stage an epoch
  EXPECT_NEAR(value("{schedule: linear, from: 0, to: 3, every: 3}", 10, 9), 3, 1e-15);  // the last stage is a short one
  EXPECT_EQ(value("{schedule: linear, from: 5, to: 3, every: 20}", 10, 9), 5);          // one stage
}

// The annealings of alpha that its code has: linspace(0.501, 0.9, 20), a step every 20 epochs; of an earlier commit 0.5 + 0.35 e / 400 with
// e from 1.
TEST(ValueSchedule, LinearIsHowTheCodeOfBayesianLearningAnneals) {
  const auto steps = schedule("{schedule: linear, from: 0.501, to: 0.9, every: 20}", 400);
  const auto early = schedule("{schedule: linear, from: 0.500875, to: 0.85}", 400);
  for (int64_t e = 0; e < 400; ++e) {
    EXPECT_NEAR(steps->value(e), 0.501 + (0.9 - 0.501) * static_cast<double>(e / 20) / 19, 1e-12) << e;
    EXPECT_NEAR(early->value(e), 0.5 + 0.35 * static_cast<double>(e + 1) / 400, 1e-12) << e;
  }
}

TEST(ValueSchedule, CosineIsHalfAPeriod) {
  const std::string yaml = "{schedule: cosine, from: 3, to: 1}";
  EXPECT_NEAR(value(yaml, 5, 0), 3, 1e-15);
  EXPECT_NEAR(value(yaml, 5, 1), 2.7071067811865475, 1e-15);
  EXPECT_NEAR(value(yaml, 5, 2), 2, 1e-15);
  EXPECT_NEAR(value(yaml, 5, 4), 1, 1e-15);
  EXPECT_NEAR(value("{schedule: cosine, from: 3, to: 1, every: 2}", 6, 3), 2, 1e-15);
}

TEST(ValueSchedule, StepsHoldUntilTheNext) {
  const std::string yaml = "{schedule: steps, values: {300: 0.7, 0: 0.5}}";
  EXPECT_EQ(value(yaml, 400, 0), 0.5);
  EXPECT_EQ(value(yaml, 400, 299), 0.5);
  EXPECT_EQ(value(yaml, 400, 300), 0.7);
  EXPECT_EQ(value(yaml, 400, 399), 0.7);
  EXPECT_EQ(value("{schedule: steps, values: {0: 1, 2: inf}}", 3, 2), INFINITY);
}

// Robinson et al. 2021's released `anneal=down`: beta from nine evenly spaced values down to 0, the next one after every epoch that is a
// multiple of a ninth of the run, epochs counted from 1; the first change is to the value already in force.
TEST(ValueSchedule, StepsExpressTheAnnealingOfHardNegatives) {
  const auto beta = schedule(
      "{schedule: steps, values: {0: 1, 88: 0.875, 132: 0.75, 176: 0.625, 220: 0.5, 264: 0.375, 308: 0.25, 352: 0.125, 396: 0}}", 400);
  double in_force = 1;
  int64_t next = 0;
  for (int64_t e = 1; e <= 400; ++e) {
    EXPECT_EQ(beta->value(e - 1), in_force) << e;
    if (e % (400 / 9) == 0) in_force = 1 - static_cast<double>(next++) / 8;
  }
}

TEST(ValueSchedule, ConfigRoundTrips) {
  for (const char* yaml : {"{schedule: linear, from: 2, to: 0.1, every: 3}", "{schedule: cosine, from: 1, to: 0}",
                           "{schedule: steps, values: {0: 0.5, 7: inf}}"}) {
    const auto once = schedule(yaml, 12), again = schedule(once->config().to_yaml(), 12);
    EXPECT_EQ(again->config(), once->config());
    for (int64_t e = 0; e < 12; ++e) EXPECT_EQ(again->value(e), once->value(e)) << yaml << e;
  }
  EXPECT_EQ(schedule("{schedule: cosine, from: 1, to: 0}", 9)->config().find("every")->text(), "1");
}

std::string message(const std::string& yaml) {
  return usage_error_of([&] { schedule(yaml, 10); });
}

TEST(ValueSchedule, MistakesAreNamed) {
  const std::string prefix = "r.yaml:1: objective 'x': beta: ";
  EXPECT_EQ(message("{from: 1, to: 2}"),
            prefix + "expected a value, or a schedule such as {schedule: linear, from: 2, to: 0.1, every: 20}");
  EXPECT_EQ(message("{schedule: linar, from: 1, to: 2}"), prefix + "unknown schedule 'linar'; did you mean 'linear'?");
  EXPECT_EQ(message("{schedule: linear, from: 1}"), prefix + "a linear schedule needs `to`; add it");
  EXPECT_EQ(message("{schedule: cosine, to: 1}"), prefix + "a cosine schedule needs `from`; add it");
  EXPECT_EQ(message("{schedule: linear, from: 1, to: 2, evry: 3}"), prefix + "unknown option 'evry'; did you mean 'every'?");
  EXPECT_EQ(message("{schedule: linear, from: 1, to: 2, every: 0}"), prefix + "every: 0 is out of range; give a value in [1, 1000000]");
  EXPECT_EQ(message("{schedule: steps}"), prefix + "values: expected values by epoch such as {0: 0.5, 300: 0.7}");
  EXPECT_EQ(message("{schedule: steps, values: {0: 1}, from: 1}").find(prefix + "unknown option 'from'"), 0u);
  EXPECT_EQ(message("{schedule: steps, values: {5: 1}}"), prefix + "values: none is given for epoch 0, the first is for epoch 5; add one");
  EXPECT_EQ(message("{schedule: steps, values: {0: 1, -3: 2}}"), prefix + "values: '-3' is not an epoch; epochs are counted from 0");
  EXPECT_EQ(message("{schedule: steps, values: {0: one}}"), prefix + "values: 0: expected a number, found one");
}

}  // namespace value_schedule_test
}  // namespace debias

// Schedules of learning rates and of other values.
#include <gtest/gtest.h>

#include <vector>

#include "debias/optim/schedule.h"
#include "tests/support/refusals.h"

namespace debias {
namespace schedules_test {

std::unique_ptr<Schedule> schedule(const std::string& yaml, double base = 1, int64_t epochs = 100) {
  return read_schedule(parse_yaml(yaml, "r.yaml")).make(base, epochs);
}

double rate(const std::string& yaml, double base, int64_t epochs, int64_t epoch, int64_t step = 0) {
  return schedule(yaml, base, epochs)->learning_rate(epoch, step, 10);
}

TEST(Schedule, ConstantStaysAndIsTheDefault) {
  EXPECT_EQ(rate("constant", 0.3, 5, 0), 0.3);
  EXPECT_EQ(rate("constant", 0.3, 5, 4, 9), 0.3);
  EXPECT_EQ(read_schedule(Config()).make(0.3, 5)->learning_rate(4, 9, 10), 0.3);
}

// eta_min = 0.5 * 0.1^3; epoch 0 is e = 1 of 100.
TEST(Schedule, CosineCountsFromOne) {
  EXPECT_NEAR(rate("cosine", 0.5, 100, 0), 0.49987676345134147, 1e-15);
  EXPECT_NEAR(rate("cosine", 0.5, 100, 9), 0.4877763649447146, 1e-15);
  EXPECT_NEAR(rate("cosine", 0.5, 100, 49), 0.25025, 1e-15);
  EXPECT_NEAR(rate("cosine", 0.5, 100, 99), 0.0005, 1e-15);
  EXPECT_EQ(rate("cosine", 0.5, 100, 9, 0), rate("cosine", 0.5, 100, 9, 7));  // one value per epoch
}

TEST(Schedule, CosineFromZeroIsTorchs) {
  EXPECT_NEAR(rate("{name: cosine, from_zero: true}", 0.5, 4, 0), 0.5, 1e-15);
  EXPECT_NEAR(rate("{name: cosine, from_zero: true}", 0.5, 4, 2), 0.25, 1e-15);
  EXPECT_NEAR(rate("{name: cosine, from_zero: true}", 0.5, 4, 3), 0.07322330470336313, 1e-15);
}

TEST(Schedule, CosineEndsWhereItIsSet) {
  EXPECT_NEAR(rate("{name: cosine, decay_rate: 0.5}", 0.8, 10, 9), 0.1, 1e-15);
  EXPECT_NEAR(rate("{name: cosine, eta_min: 0.2}", 0.8, 10, 9), 0.2, 1e-15);
  EXPECT_NEAR(rate("{name: cosine, eta_min: 0.2, from_zero: true}", 0.8, 10, 5), 0.5, 1e-15);
  EXPECT_NEAR(rate("{name: cosine, eta_min: 0.2}", 0.8, 10, 12), 0.2, 1e-15);  // and stays there
}

TEST(Schedule, MultistepDecaysAfterAsManyEpochsAsTheMilestone) {
  const std::string yaml = "{name: multistep, milestones: [26, 53], gamma: 0.1}";
  EXPECT_EQ(rate(yaml, 1, 80, 0), 1);
  EXPECT_EQ(rate(yaml, 1, 80, 25), 1);
  EXPECT_NEAR(rate(yaml, 1, 80, 26), 0.1, 1e-15);
  EXPECT_NEAR(rate(yaml, 1, 80, 52), 0.1, 1e-15);
  EXPECT_NEAR(rate(yaml, 1, 80, 53), 0.01, 1e-15);
  EXPECT_NEAR(rate("{name: multistep, milestones: [2, 3], gamma: 0.2}", 5, 80, 3), 0.2, 1e-15);
}

// SupContrast: from 0.01 linearly over 10 epochs to the cosine's value at e = 10, which epoch index 9 has.
TEST(Schedule, WarmupRisesPerStepToTheSchedule) {
  const std::string yaml = "{name: cosine, warmup_epochs: 10}";
  const double to = 0.4877763649447146;
  EXPECT_NEAR(rate(yaml, 0.5, 100, 0, 0), 0.01, 1e-15);
  EXPECT_NEAR(rate(yaml, 0.5, 100, 0, 1), 0.01 + (to - 0.01) / 100, 1e-15);
  EXPECT_NEAR(rate(yaml, 0.5, 100, 5, 0), 0.01 + (to - 0.01) / 2, 1e-15);
  EXPECT_NEAR(rate(yaml, 0.5, 100, 9, 9), 0.01 + (to - 0.01) * 0.99, 1e-15);
  EXPECT_EQ(rate(yaml, 0.5, 100, 10, 0), rate("cosine", 0.5, 100, 10, 0));
}

TEST(Schedule, WarmupOfTheOthers) {
  EXPECT_NEAR(rate("{name: constant, warmup_epochs: 2, warmup_from: 0.2}", 1, 8, 1, 0), 0.6, 1e-15);
  EXPECT_EQ(rate("{name: constant, warmup_epochs: 2, warmup_from: 0.2}", 1, 8, 2, 0), 1);
  EXPECT_NEAR(rate("{name: multistep, milestones: [5], warmup_epochs: 4, warmup_from: 0}", 1, 8, 1, 0), 0.25, 1e-15);
  // From zero, the value at e = 2 of 4 is the one that follows the warm-up.
  EXPECT_NEAR(rate("{name: cosine, from_zero: true, warmup_epochs: 2, warmup_from: 0}", 1, 4, 1, 0), 0.25, 1e-15);
}

TEST(Schedule, ConfigRoundTrips) {
  for (const char* yaml : {"constant", "{name: cosine, eta_min: 0.25, warmup_epochs: 3}", "{name: multistep, milestones: [2, 4]}"}) {
    const Config config = read_schedule(parse_yaml(yaml, "r.yaml")).section;
    const auto again = schedule(config.to_yaml());
    EXPECT_EQ(read_schedule(config).section, config);
    for (int64_t epoch : {0, 1, 2, 50}) EXPECT_EQ(again->learning_rate(epoch, 1, 3), schedule(yaml)->learning_rate(epoch, 1, 3));
  }
  EXPECT_EQ(schedule_registry().size(), 3u);
}

std::string message(const std::string& yaml, int64_t epochs = 10) {
  return usage_error_of([&] { schedule(yaml, 1, epochs); });
}

TEST(Schedule, MistakesAreNamed) {
  EXPECT_EQ(message("cosin"), "r.yaml:1: unknown schedule 'cosin'; did you mean 'cosine'?");
  EXPECT_EQ(message("multistep"), "r.yaml:1: schedule 'multistep': milestones: none is given; write e.g. milestones: [60, 80]");
  EXPECT_EQ(message("{name: multistep, milestones: [4, 4]}"),
            "r.yaml:1: schedule 'multistep': milestones: they do not increase; sort them");
  EXPECT_EQ(message("{name: multistep, milestones: [4], gamma: 0}"),
            "r.yaml:1: schedule 'multistep': gamma: 0 is out of range; give a value in (0, 1]");
  EXPECT_TRUE(message("{name: constant, decay_rate: 1}").starts_with("r.yaml:1: schedule 'constant': unknown option 'decay_rate'; "));
  EXPECT_EQ(message("constant", 0), "r.yaml:1: schedule: a run of 0 epochs; it needs at least 1");
  EXPECT_EQ(
      message("{name: cosine, warmup_epochs: 1, warmup_from: 2}"),
      "r.yaml:1: schedule 'cosine': warmup_from 2 is above the learning rate 1, so that the warm-up would go down; give at most that");
  EXPECT_NO_THROW(schedule("{name: cosine, warmup_from: 2}", 1, 10));
}

std::unique_ptr<ValueSchedule> values(const std::string& yaml, int64_t epochs) {
  return read_value_schedule(parse_yaml(yaml, "r.yaml"), "objective 'x': beta", epochs);
}

double value(const std::string& yaml, int64_t epochs, int64_t epoch) { return values(yaml, epochs)->value(epoch); }

// Liu and Wang 2023: beta = 2 - 0.005 e, refreshed every 20 of 400 epochs.
TEST(ValueSchedule, LinearGoesFromTheFirstStageToTheLast) {
  const auto beta = values("{schedule: linear, from: 2.0, to: 0.1, every: 20}", 400);
  for (int64_t e = 0; e < 400; ++e) EXPECT_NEAR(beta->value(e), 2 - 0.005 * static_cast<double>(e / 20 * 20), 1e-12) << e;
  EXPECT_NEAR(beta->value(1000), 0.1, 1e-12);
  EXPECT_NEAR(value("{schedule: linear, from: 0, to: 3}", 4, 2), 2, 1e-15);             // a stage an epoch
  EXPECT_NEAR(value("{schedule: linear, from: 0, to: 3, every: 3}", 10, 9), 3, 1e-15);  // the last stage is a short one
  EXPECT_EQ(value("{schedule: linear, from: 5, to: 3, every: 20}", 10, 9), 5);          // one stage
}

// The annealings of alpha that its code has: linspace(0.501, 0.9, 20), a step every 20 epochs; of an earlier commit 0.5 + 0.35 e / 400 with
// e from 1.
TEST(ValueSchedule, LinearIsHowTheCodeOfBayesianLearningAnneals) {
  const auto steps = values("{schedule: linear, from: 0.501, to: 0.9, every: 20}", 400);
  const auto early = values("{schedule: linear, from: 0.500875, to: 0.85}", 400);
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
  const auto beta = values(
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
    const auto once = values(yaml, 12), again = values(once->config().to_yaml(), 12);
    EXPECT_EQ(again->config(), once->config());
    for (int64_t e = 0; e < 12; ++e) EXPECT_EQ(again->value(e), once->value(e)) << yaml << e;
  }
  EXPECT_EQ(values("{schedule: cosine, from: 1, to: 0}", 9)->config().find("every")->text(), "1");
}

std::string value_message(const std::string& yaml) {
  return usage_error_of([&] { values(yaml, 10); });
}

TEST(ValueSchedule, MistakesAreNamed) {
  const std::string prefix = "r.yaml:1: objective 'x': beta: ";
  EXPECT_EQ(value_message("{from: 1, to: 2}"),
            prefix + "expected a value, or a schedule such as {schedule: linear, from: 2, to: 0.1, every: 20}");
  EXPECT_EQ(value_message("{schedule: linar, from: 1, to: 2}"), prefix + "unknown schedule 'linar'; did you mean 'linear'?");
  EXPECT_EQ(value_message("{schedule: linear, from: 1}"), prefix + "a linear schedule needs `to`; add it");
  EXPECT_EQ(value_message("{schedule: cosine, to: 1}"), prefix + "a cosine schedule needs `from`; add it");
  EXPECT_EQ(value_message("{schedule: linear, from: 1, to: 2, evry: 3}"), prefix + "unknown option 'evry'; did you mean 'every'?");
  EXPECT_EQ(value_message("{schedule: linear, from: 1, to: 2, every: 0}"),
            prefix + "every: 0 is out of range; give a value in [1, 1000000]");
  EXPECT_EQ(value_message("{schedule: steps}"), prefix + "values: expected values by epoch such as {0: 0.5, 300: 0.7}");
  EXPECT_EQ(value_message("{schedule: steps, values: {0: 1}, from: 1}").find(prefix + "unknown option 'from'"), 0u);
  EXPECT_EQ(value_message("{schedule: steps, values: {5: 1}}"),
            prefix + "values: none is given for epoch 0, the first is for epoch 5; add one");
  EXPECT_EQ(value_message("{schedule: steps, values: {0: 1, -3: 2}}"), prefix + "values: '-3' is not an epoch; epochs are counted from 0");
  EXPECT_EQ(value_message("{schedule: steps, values: {0: one}}"), prefix + "values: 0: expected a number, found one");
}

}  // namespace schedules_test
}  // namespace debias

#include "debias/optim/schedule.h"

#include <gtest/gtest.h>

#include "tests/support/refusals.h"

namespace debias {
namespace schedule_test {

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

}  // namespace schedule_test
}  // namespace debias

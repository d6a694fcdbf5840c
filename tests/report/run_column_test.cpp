#include "debias/report/run_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/reading_program.h"
#include "tests/report/run_fixture.h"

namespace debias {
namespace run_column_test {

using testing::ElementsAre;

class RunColumns : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  std::vector<std::string> titles(const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const auto& name : names) paths.push_back(path(name));
    runs_ = read_runs(paths, reading_program());
    columns_ = run_columns(runs_);
    std::vector<std::string> found;
    for (const auto& column : columns_) found.push_back(column.title());
    return found;
  }

  TemporaryFolder folder_;
  std::vector<RunRecord> runs_;
  std::vector<RunColumn> columns_;
};

TEST_F(RunColumns, RunsThatDifferInTheirSeedAloneAreOne) {
  write_run(path("infonce-10"), {.seed = 10, .name = "infonce-10"});
  write_run(path("infonce-2"), {.seed = 2, .name = "infonce-2"});
  write_run(path("debiased-1"), {.seed = 1, .objective = "debiased_positives"});
  EXPECT_THAT(titles({"infonce-10", "debiased-1", "infonce-2"}), ElementsAre("infonce (2 seeds)", "debiased-1"));
  EXPECT_EQ(columns_[0].shown().seed(), "2");  // by size, not as text
  const auto shown = shown_runs(columns_);
  EXPECT_EQ(shown[0].label, "infonce, seed 2");
  EXPECT_EQ(shown[1].label, "debiased-1");
}

TEST_F(RunColumns, ASeedThatIsRepeatedAndARunThatStandsElsewhereAreNoFurtherSeeds) {
  write_run(path("a-1"), {.seed = 1});
  write_run(path("a-2"), {.seed = 2});
  write_run(path("again"), {.seed = 1});
  write_run(path("unfinished"), {.epochs_done = 2, .seed = 3});
  EXPECT_THAT(titles({"a-1", "a-2", "again", "unfinished"}), ElementsAre("a (2 seeds)", "again", "unfinished"));
}

TEST_F(RunColumns, RunsThatSawOtherImagesAreNoSeedsOfEachOther) {
  for (const int64_t seed : {1, 2, 3}) {
    write_run(path(fmt::format("a-{}", seed)), {.seed = seed});
    write_text(path(fmt::format("a-{}/data/sets.json", seed)), fmt::format(R"({{"test": {{"count": {}}}}})", seed < 3 ? 75 : 36));
  }
  EXPECT_THAT(titles({"a-1", "a-2", "a-3"}), ElementsAre("a (2 seeds)", "a-3"));
}

TEST_F(RunColumns, OfASweepHaveTheNamesOfItsVariants) {
  for (const char* variant : {"ce", "fairkl"}) {
    for (const int64_t seed : {1, 2, 3}) {
      write_run(path(fmt::format("{}/seed-{}", variant, seed)), {.seed = seed, .objective = variant});
    }
  }
  EXPECT_THAT(titles({"ce/seed-1", "ce/seed-2", "ce/seed-3", "fairkl/seed-1", "fairkl/seed-2", "fairkl/seed-3"}),
              ElementsAre("ce (3 seeds)", "fairkl (3 seeds)"));
}

TEST_F(RunColumns, WhoseLabelsShareNothingHaveTheRecipesNameOrAllOfThem) {
  write_run(path("x"), {.seed = 1, .name = "recipe"});
  write_run(path("y"), {.seed = 2, .name = "recipe"});
  EXPECT_THAT(titles({"x", "y"}), ElementsAre("recipe (2 seeds)"));
  write_run(path("u"), {.seed = 1, .name = "recipe", .objective = "infonce"});
  write_run(path("v"), {.seed = 2, .name = "recipe", .objective = "infonce"});
  EXPECT_THAT(titles({"x", "y", "u", "v"}), ElementsAre("x, y (2 seeds)", "u, v (2 seeds)"));
}

}  // namespace run_column_test
}  // namespace debias

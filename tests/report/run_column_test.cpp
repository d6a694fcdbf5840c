#include "debias/report/run_column.h"
#include "tests/report/reports.h"

namespace debias::run_column_test {

class RunColumns : public Reports {
 protected:
  std::vector<std::string> titles(const std::vector<std::string>& names) {
    runs_ = Reports::read(names);
    columns_ = run_columns(runs_);
    std::vector<std::string> found;
    for (const auto& column : columns_) found.push_back(column.title());
    return found;
  }

  std::vector<RunRecord> runs_;
  std::vector<RunColumn> columns_;
};

TEST_F(RunColumns, RunsThatDifferInTheirSeedAloneAreOne) {
  write_run("infonce-10", {.seed = 10, .name = "infonce-10"});
  write_run("infonce-2", {.seed = 2, .name = "infonce-2"});
  write_run("debiased-1", {.seed = 1, .objective = "debiased_positives"});
  EXPECT_THAT(titles({"infonce-10", "debiased-1", "infonce-2"}), ElementsAre("infonce (2 seeds)", "debiased-1"));
  EXPECT_EQ(columns_[0].shown().seed(), "2");  // by size, not as text
  const auto shown = shown_runs(columns_);
  EXPECT_EQ(shown[0].label, "infonce, seed 2");
  EXPECT_EQ(shown[1].label, "debiased-1");
}

TEST_F(RunColumns, ASeedThatIsRepeatedAndARunThatStandsElsewhereAreNoFurtherSeeds) {
  write_run("a-1", {.seed = 1});
  write_run("a-2", {.seed = 2});
  write_run("again", {.seed = 1});
  write_run("unfinished", {.epochs_done = 2, .seed = 3});
  EXPECT_THAT(titles({"a-1", "a-2", "again", "unfinished"}), ElementsAre("a (2 seeds)", "again", "unfinished"));
}

TEST_F(RunColumns, RunsThatSawOtherImagesAreNoSeedsOfEachOther) {
  for (const int64_t seed : {1, 2, 3}) {
    write_run(fmt::format("a-{}", seed), {.seed = seed});
    write_text(fmt::format("a-{}/data/sets.json", seed), fmt::format(R"({{"test": {{"count": {}}}}})", seed < 3 ? 75 : 36));
  }
  EXPECT_THAT(titles({"a-1", "a-2", "a-3"}), ElementsAre("a (2 seeds)", "a-3"));
}

TEST_F(RunColumns, OfASweepHaveTheNamesOfItsVariants) {
  for (const char* variant : {"ce", "fairkl"}) {
    for (const int64_t seed : {1, 2, 3}) {
      write_run(fmt::format("{}/seed-{}", variant, seed), {.seed = seed, .objective = variant});
    }
  }
  EXPECT_THAT(titles({"ce/seed-1", "ce/seed-2", "ce/seed-3", "fairkl/seed-1", "fairkl/seed-2", "fairkl/seed-3"}),
              ElementsAre("ce (3 seeds)", "fairkl (3 seeds)"));
}

TEST_F(RunColumns, WhoseLabelsShareNothingHaveTheRecipesNameOrAllOfThem) {
  write_run("x", {.seed = 1, .name = "recipe"});
  write_run("y", {.seed = 2, .name = "recipe"});
  EXPECT_THAT(titles({"x", "y"}), ElementsAre("recipe (2 seeds)"));
  write_run("u", {.seed = 1, .name = "recipe", .objective = "infonce"});
  write_run("v", {.seed = 2, .name = "recipe", .objective = "infonce"});
  EXPECT_THAT(titles({"x", "y", "u", "v"}), ElementsAre("x, y (2 seeds)", "u, v (2 seeds)"));
}

}  // namespace debias::run_column_test

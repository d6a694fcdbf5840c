#include "debias/report/run_column.h"

#include "tests/report/reports.h"
#include "tests/report/seed_table_fixture.h"

namespace debias {
namespace run_column_test {

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

}  // namespace run_column_test

// Runs whose data are drawn by their own seed, and runs that share one draw.
namespace data_draw_test {

constexpr const char* kFollowing = "{name: glyphs, correlation: 0.1, split: test, seed: run}";
constexpr const char* kFixed = "{name: glyphs, correlation: 0.1, split: test, seed: 0}";

class DataDraws : public SeedTables {
 protected:
  // Two settings of three seeds; each seed has images of its own, which both settings have.
  void drawn_by_seed(const char* test = kFollowing, const char* odd_images = nullptr) {
    for (const char* variant : {"a", "b"}) {
      for (int seed = 1; seed <= 3; ++seed) {
        const std::string images = "of-" + std::to_string(seed);
        const bool is_odd = odd_images != nullptr && *variant == 'b' && seed == 2;
        add({.variant = variant,
             .seed = std::to_string(seed),
             .accuracy = 0.5 + 0.01 * seed,
             .test = test,
             .train_images = images,
             .test_images = is_odd ? odd_images : images});
        plan_run_trains_on(test);
      }
    }
  }
  // The training set of the last run follows its seed where the test set does.
  void plan_run_trains_on(const char* test) {
    const std::string path = "sweep/" + plan_.runs.back().name() + "/config.yaml";
    std::string recipe = file_text(path);
    const std::string from = "train: {name: glyphs}", seed = std::string(test) == kFollowing ? "run" : "0";
    recipe.replace(recipe.find(from), from.size(), "train: {name: glyphs, correlation: 0.9, seed: " + seed + "}");
    write_text(path, recipe);
  }
};

TEST_F(DataDraws, OfEachSeedStandInOneTable) {
  drawn_by_seed();
  const SeedTable found = table();
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].values.size(), 3u);
  EXPECT_TRUE(found.differences.at(0).paired);
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST_F(DataDraws, MustBeAlikeInRunsOfOneSeed) {
  drawn_by_seed(kFollowing, "others");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("the samples, labels or bias labels of data.test are not the same in"), HasSubstr("a/seed-2'"),
                               HasSubstr("b/seed-2'")));
}

TEST_F(DataDraws, OfAFixedSeedMayNotDiffer) {
  drawn_by_seed(kFixed);
  EXPECT_THAT(refusal(), HasSubstr("data.t"));
}

TEST_F(DataDraws, ThatFollowTheSeedDoNotStandBesideFixedOnes) {
  add({.variant = "a", .seed = "1", .accuracy = 0.5, .test = kFollowing, .train_images = "t", .test_images = "x"});
  add({.variant = "b", .seed = "1", .accuracy = 0.5, .test = kFixed, .train_images = "t", .test_images = "y"});
  EXPECT_THAT(refusal(), AllOf(HasSubstr("data.test.seed is run in"), HasSubstr("and 0 in")));
}

TEST_F(DataDraws, SharedByAllSeedsMakeConclusionsConditional) {
  for (int seed = 1; seed <= 2; ++seed) {
    add({.variant = "a", .seed = std::to_string(seed), .accuracy = 0.5 + 0.01 * seed, .test = kFixed});
    plan_run_trains_on(kFixed);
  }
  EXPECT_THAT(table().notes,
              ElementsAre("Conclusions are conditional on one draw of data.train and data.test, which all seeds share; `seed: "
                          "run` there draws anew for each seed"));
}

TEST_F(DataDraws, OfASingleSeedOrOfPicturesAreNotSpokenOf) {
  add({.variant = "a", .seed = "1", .accuracy = 0.5, .test = kFixed});
  plan_run_trains_on(kFixed);
  for (const char* seed : {"1", "2"}) add({.variant = "b", .seed = seed, .accuracy = 0.5, .test = "{name: cifar10, seed: 0, hold_out: 0}"});
  const ComparedRuns found = compared();
  EXPECT_EQ(shared_draws({&found.runs[0]}), "");
  EXPECT_EQ(shared_draws({&found.runs[1], &found.runs[2]}), "");
}

// evaluation/*.json says the number with which the data were opened.
TEST_F(DataDraws, AreOneColumnOfAReportAndComparable) {
  std::vector<std::string> paths;
  for (const char* objective : {"ce", "fairkl"}) {
    for (int64_t seed = 1; seed <= 3; ++seed) {
      paths.push_back(fmt::format("{}-{}", objective, seed));
      const RunShape shape{.seed = seed, .objective = objective};
      write_biased_run(
          paths.back(),
          {.aligned = 0.95,
           .conflicting = *objective == 'c' ? 0.2 + 0.01 * static_cast<double>(seed * seed) : 0.6 + 0.01 * static_cast<double>(seed)},
          shape);
      auto groups = nlohmann::ordered_json::parse(file_text(paths.back() + "/evaluation/groups.json"));
      groups["data"]["test"] = {{"name", "glyphs"}, {"split", "test"}, {"seed", seed}};
      write_evaluation(paths.back(), "groups", groups);
      std::string recipe = fixture_recipe(shape, paths.back());
      for (size_t at; (at = recipe.find("seed: 0")) != std::string::npos;) recipe.replace(at, 7, "seed: run");
      write_text(paths.back() + "/config.yaml", recipe);
      write_text(paths.back() + "/data/sets.json",
                 fmt::format(R"({{"train": {{"count": 9, "images": "{0}"}}, "test": {{"count": 5, "images": "{0}"}}}})", seed));
    }
  }
  const auto json = run_report_json(read_runs(paths, reading_program()));
  ASSERT_EQ(json["columns"].size(), 2u);
  EXPECT_EQ(json["verdict"]["comparisons"][0]["result"], "better");
  EXPECT_EQ(json["verdict"]["note"], "");
}

}  // namespace data_draw_test
}  // namespace debias

// Sweep files: what runs they make, and what is refused.
#include "debias/sweep/sweep_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "debias/core/error.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias::sweep_plan_test {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kBase = R"(
base:
  name: tiny
  objective: {name: debiased_negatives, tau_plus: 0.1}
  optimizer: {learning_rate: 1e-3}
  data: {train: {name: glyphs, correlation: 0.5}}
output: runs/tiny
)";

class SweepFile : public testing::Test {
 protected:
  SweepPlan read(const std::string& more, const std::vector<std::string>& words = {}) {
    const std::string path = folder_ / "sweep.yaml";
    std::ofstream(path) << kBase << more;
    return read_sweep(path, words, [](const std::string& name) -> std::string { throw usage_error("no recipe '{}'", name); });
  }
  std::string refusal(const std::string& more, const std::vector<std::string>& words = {}) {
    return usage_error_of([&] { read(more, words); });
  }
  TemporaryFolder folder_;
};

std::vector<std::string> names(const SweepPlan& plan) {
  std::vector<std::string> found;
  for (const auto& run : plan.runs) found.push_back(run.name());
  return found;
}

nlohmann::ordered_json recipe(const SweepPlan& plan, size_t run) { return plan.runs.at(run).recipe.to_json(); }

TEST_F(SweepFile, MayHaveItsOutputInTheHomeFolder) {
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') GTEST_SKIP() << "HOME is not set";
  const SweepPlan plan = read("", {"output=~/sweeps"});
  EXPECT_EQ(plan.output, std::string(home) + "/sweeps");
  EXPECT_EQ(recipe(plan, 0)["output"], plan.output + "/seed-1");
  EXPECT_THAT(refusal("", {"output=~other/sweeps"}), HasSubstr("the home folder of another user is not looked up"));
}

TEST_F(SweepFile, MakesARunOfEachVariantGridValueAndSeed) {
  const SweepPlan plan =
      read("variants: {a: {}, b: {optimizer.learning_rate: 2e-3}}\ngrid: {objective.0.tau_plus: [0, 0.1]}\nseeds: [3, 1]\n");
  EXPECT_THAT(names(plan),
              ElementsAre("a/objective.0.tau_plus=0/seed-3", "a/objective.0.tau_plus=0/seed-1", "a/objective.0.tau_plus=0.1/seed-3",
                          "a/objective.0.tau_plus=0.1/seed-1", "b/objective.0.tau_plus=0/seed-3", "b/objective.0.tau_plus=0/seed-1",
                          "b/objective.0.tau_plus=0.1/seed-3", "b/objective.0.tau_plus=0.1/seed-1"));
  EXPECT_EQ(plan.points.size(), 4u);
  EXPECT_EQ(plan.points[3].label(), "b, tau_plus 0.1");
  const auto last = recipe(plan, 7);
  EXPECT_EQ(last["objective"][0]["tau_plus"], 0.1);  // the only term of a map is objective.0, too
  EXPECT_EQ(last["objective"][0]["name"], "debiased_negatives");
  EXPECT_EQ(last["optimizer"]["learning_rate"], 2e-3);
  EXPECT_EQ(last["seed"], 1);
  EXPECT_EQ(last["name"], "b");
  EXPECT_EQ(last["output"], "runs/tiny/b/objective.0.tau_plus=0.1/seed-1");
}

TEST(SweepPointLabel, NamesKeysByWhatTellsThemApart) {
  const SweepPoint point = {"a", {{"train.epochs", "3"}, {"objective.1.weight", "0.5"}, {"objective.0.weight", "1"}}};
  EXPECT_EQ(point.label(), "a, epochs 3, objective.1.weight 0.5, objective.0.weight 1");
  EXPECT_EQ(point.label("objective.1.weight"), "a, epochs 3, objective.0.weight 1");
  const SweepPoint sections = {"", {{"data.train.root", "x"}, {"data.test.root", "y"}, {"seed", "1"}}};
  EXPECT_EQ(sections.label(), "train.root x, test.root y, seed 1");
  const SweepPoint within = {"", {{"objective.temperature", "1"}, {"temperature", "2"}}};
  EXPECT_EQ(within.label(), "objective.temperature 1, temperature 2");
}

TEST_F(SweepFile, WithoutVariantsGridAndSeedsIsTheRecipeItself) {
  const SweepPlan plan = read("");
  EXPECT_THAT(names(plan), ElementsAre("seed-1"));
  EXPECT_EQ(plan.points[0].label(), "");
  EXPECT_EQ(recipe(plan, 0)["name"], "tiny");
}

TEST_F(SweepFile, AVariantReplacesASectionAsTheCommandLineDoes) {
  const SweepPlan plan = read("variants: {a: {objective: {name: infonce}}}\n");
  EXPECT_EQ(recipe(plan, 0)["objective"].dump(), R"({"name":"infonce"})");
}

TEST_F(SweepFile, OverridesFollowTheGridAndWordsComeLast) {
  const SweepPlan plan = read(
      "variants: {a: {}, b: {}}\ngrid: {data.train.correlation: [0.9, 0.99]}\n"
      "overrides: [{variant: b, at: {data.train.correlation: 0.99}, set: {optimizer.learning_rate: 7}}]\n",
      {"optimizer.name=sgd"});
  std::vector<double> rates;
  for (const auto& run : plan.runs) rates.push_back(run.recipe.to_json()["optimizer"]["learning_rate"].get<double>());
  EXPECT_THAT(rates, ElementsAre(1e-3, 1e-3, 1e-3, 7));
  EXPECT_EQ(recipe(plan, 0)["optimizer"]["name"], "sgd");
  EXPECT_EQ(
      recipe(read("overrides: [{set: {optimizer.learning_rate: 7}}]\n", {"optimizer.learning_rate=8"}), 0)["optimizer"]["learning_rate"],
      8);
}

TEST_F(SweepFile, ExpectationsGoToTheirRunsOneOfEachGridValue) {
  const SweepPlan plan = read(
      "variants: {a: {}, b: {}}\ngrid: {data.train.correlation: [0.9, 0.99]}\nmetric: test.acc1\n"
      "expected: [{variant: b, over: data.train.correlation, values: [0.5, 0.25], spreads: [0.01, 0.02], source: T1}, {variant: a, value: "
      "1}]\n");
  EXPECT_EQ(recipe(plan, 0)["expected"].dump(), R"([{"metric":"test.acc1","value":1}])");
  EXPECT_EQ(recipe(plan, 2)["expected"].dump(), R"([{"metric":"test.acc1","source":"T1","value":0.5,"spread":0.01}])");
  EXPECT_EQ(recipe(plan, 3)["expected"].dump(), R"([{"metric":"test.acc1","source":"T1","value":0.25,"spread":0.02}])");
}

constexpr const char* kOfAgents = R"(
base:
  environment: {task: cartpole_swingup}
  objective: {name: debiased_negatives, tau_plus: 0.1}
variants: {biased: {objective: infonce}, m2: {objective.positives: 2}}
grid: {environment.task: [cartpole_swingup, reacher_easy]}
overrides: [{at: {environment.task: reacher_easy}, set: {train.control_steps: 5000}}]
metric: test.return_mean
expected: [{variant: m2, over: environment.task, values: [858, 754], source: T3}]
output: runs/agents
)";

TEST_F(SweepFile, OfAnAgentsRecipeIsRunByTheAgentsVerbWithItsOneObjective) {
  std::ofstream(folder_ / "agents.yaml") << kOfAgents;
  const SweepPlan plan = read_sweep(folder_ / "agents.yaml", {"objective.temperature=2"}, [](const std::string& name) { return name; });
  ASSERT_EQ(plan.runs.size(), 4u);
  EXPECT_THAT(plan.runs[0].verb(), ElementsAre("rl", "train"));
  EXPECT_EQ(recipe(plan, 0)["objective"].dump(), R"({"name":"infonce","temperature":2})");
  EXPECT_EQ(recipe(plan, 2)["objective"].dump(), R"({"name":"debiased_negatives","tau_plus":0.1,"positives":2,"temperature":2})");
  EXPECT_FALSE(recipe(plan, 2).contains("train"));
  EXPECT_EQ(recipe(plan, 3)["train"]["control_steps"], 5000);
  EXPECT_EQ(recipe(plan, 3)["expected"].dump(), R"([{"metric":"test.return_mean","source":"T3","value":754}])");
  EXPECT_EQ(plan.points[3].label(), "m2, task reacher_easy");
  EXPECT_THAT(read("").runs.at(0).verb(), ElementsAre("train"));
}

TEST_F(SweepFile, WordsMaySetItsOwnKeys) {
  const SweepPlan plan = read("seeds: [1, 2, 3]\n", {"seeds=[5]", "output=elsewhere", "metric=valid.acc1"});
  EXPECT_THAT(names(plan), ElementsAre("seed-5"));
  EXPECT_EQ(plan.output, "elsewhere");
  EXPECT_EQ(plan.metric, "valid.acc1");
}

TEST_F(SweepFile, BadInputIsRefusedInOneLineThatNamesIt) {
  EXPECT_THAT(refusal("seeds: [1, 2, 1]\n"), HasSubstr("seed 1 is given twice"));
  EXPECT_THAT(refusal("seeds: [1, 01]\n"), HasSubstr("seed 1 is given twice"));
  EXPECT_THAT(refusal("seeds: []\n"), HasSubstr("seeds: expected a list"));
  EXPECT_THAT(refusal("seeds: [-1]\n"), HasSubstr("whole numbers from 0 on"));
  EXPECT_THAT(refusal("seed: [1]\n"), HasSubstr("unknown key 'seed'; did you mean 'seeds'?"));
  EXPECT_THAT(refusal("grid: {optimizer.learning_rate: [1e-3, 1e-3]}\n"), HasSubstr("1e-3 is given twice"));
  EXPECT_THAT(refusal("grid: {optimizer.learning_rate: 1e-3}\n"), HasSubstr("expected a list of values"));
  EXPECT_THAT(refusal("grid: {objective: [infonce, {name: unbiased}]}\n"), HasSubstr("can be variants"));
  EXPECT_THAT(refusal("grid: {data.train.root: [a/b]}\n"), HasSubstr("cannot name a folder"));
  EXPECT_THAT(refusal("grid: {seed: [1, 2]}\n"), HasSubstr("write `seeds` beside the grid"));
  EXPECT_THAT(refusal("grid: {data.train: [a], data.train.correlation: [0.1]}\n"), HasSubstr("set the same"));
  EXPECT_THAT(refusal("grid: {objective.3.tau_plus: [0]}\n"), HasSubstr("objective.3.tau_plus: index 3 is beyond"));
  EXPECT_THAT(refusal("variants: {../a: {}}\n"), HasSubstr("names a folder"));
  EXPECT_THAT(refusal("variants: [a]\n"), HasSubstr("named sets of keys"));
  EXPECT_THAT(refusal("variants: {a: {}}\nexpected: [{variant: b, metric: m, value: 1}]\n"), HasSubstr("no variant 'b'"));
  EXPECT_THAT(refusal("overrides: [{at: {train.epochs: 1}, set: {train.epochs: 2}}]\n"), HasSubstr("'train.epochs' is not in the grid"));
  EXPECT_THAT(refusal("grid: {objective.tau_plus: [0, 0.1]}\noverrides: [{set: {objective: infonce}}]\n"),
              HasSubstr("'objective' would undo grid: objective.tau_plus"));
  EXPECT_THAT(refusal("expected: [{value: 1}]\n"), HasSubstr("no metric is given"));
  EXPECT_THAT(refusal("expected: [{metric: m, value: high}]\n"), HasSubstr("expected the number"));
  EXPECT_THAT(refusal("grid: {train.epochs: [1, 2]}\nexpected: [{metric: m, over: train.epochs, values: [1]}]\n"),
              HasSubstr("a list of 2"));
  EXPECT_THAT(refusal("grid: {train.epochs: [1, 2]}\n", {"train.epochs=3"}), HasSubstr("would undo grid: train.epochs"));
  EXPECT_THAT(refusal("", {"seed=3"}), HasSubstr("write seeds="));
  EXPECT_THAT(refusal("", {"nonsense"}), HasSubstr("'nonsense' is not of the form key.sub=value"));
  for (const auto& text : {refusal("seeds: [1, 1]\n"), refusal("grid: {objective.3.tau_plus: [0]}\n")})
    EXPECT_THAT(text, Not(HasSubstr("\n")));
}

TEST_F(SweepFile, AWordInAnotherSpellingStillWouldUndoTheGrid) {
  const std::string grid = "grid: {objective.0.tau_plus: [0, 0.1]}\n";
  EXPECT_THAT(refusal(grid, {"objective[0].tau_plus=0.3"}), HasSubstr("would undo grid: objective.0.tau_plus"));
  EXPECT_THAT(refusal(grid, {"objective.tau_plus=0.3"}), HasSubstr("would undo grid: objective.0.tau_plus"));
  EXPECT_THAT(refusal("grid: {objective.0.tau_plus: [0, 0.1], \"objective[0].tau_plus\": [0.2]}\n"), HasSubstr("set the same"));
}

class SweepOfAPublishedBase : public testing::Test {
 protected:
  // What the runs' recipes expect of the metric, run by run; none: "".
  std::vector<std::string> published(const std::string& more, const std::vector<std::string>& words = {}) const {
    std::ofstream(folder_ / "base.yaml") << "train: {epochs: 3}\nexpected: [{metric: test.acc1, value: 0.5}]\n";
    std::ofstream(folder_ / "sweep.yaml") << "base: base.yaml\noutput: runs/x\nmetric: test.acc1\n" << more;
    std::vector<std::string> values;
    for (const auto& run : read_sweep(folder_ / "sweep.yaml", words, [](const std::string& name) { return name; }).runs) {
      const Config* expected = run.recipe.find("expected");
      values.push_back(expected == nullptr ? "" : expected->items().at(0).find("value")->text());
    }
    return values;
  }
  TemporaryFolder folder_;
};

TEST_F(SweepOfAPublishedBase, HasItsNumbersOnlyWhereAPointChangesNothing) {
  EXPECT_THAT(published(""), ElementsAre("0.5"));
  EXPECT_THAT(published("variants: {a: {}, b: {train.epochs: 4}}\n"), ElementsAre("0.5", ""));
  EXPECT_THAT(published("variants: {a: {}, b: {}}\noverrides: [{variant: b, set: {train.epochs: 4}}]\n"), ElementsAre("0.5", ""));
  EXPECT_THAT(published("grid: {train.epochs: [3, 4]}\n"), ElementsAre("", ""));
  EXPECT_THAT(published("", {"train.epochs=4"}), ElementsAre(""));
}

TEST_F(SweepOfAPublishedBase, HasNoneOfThemWhereTheSweepHasItsOwn) {
  EXPECT_THAT(published("variants: {a: {}, b: {}}\nexpected: [{variant: b, value: 0.7}]\n"), ElementsAre("", "0.7"));
  EXPECT_THAT(published("expected: null\n"), ElementsAre(""));
  EXPECT_THAT(published("grid: {train.epochs: [3, 4]}\nexpected: [{over: train.epochs, values: [null, 0.7]}]\n"), ElementsAre("", "0.7"));
}

TEST_F(SweepFile, OfSeveralMetricsSaysWhichOneIsPublished) {
  const std::string metrics = "metric: test.conflicting_acc, test.acc1\n";
  EXPECT_THAT(refusal(metrics + "expected: [{value: 0.5}]\n"),
              HasSubstr("'test.conflicting_acc, test.acc1' are several; say here which one is published"));
  EXPECT_EQ(recipe(read(metrics + "expected: [{metric: test.acc1, value: 0.5}]\n"), 0)["expected"][0]["metric"], "test.acc1");
}

TEST_F(SweepFile, ItsPublishedNumbersStayThoseOfItsOwnMetric) {
  const SweepPlan plan = read("metric: test.acc1\nexpected: [{value: 0.5}]\n", {"metric=valid.acc1,test.acc1"});
  EXPECT_EQ(plan.metric, "valid.acc1,test.acc1");
  EXPECT_EQ(recipe(plan, 0)["expected"][0]["metric"], "test.acc1");
}

TEST_F(SweepFile, AVariantThatTheGridWouldUndoIsRefused) {
  EXPECT_THAT(refusal("variants: {a: {train.epochs: 5}, b: {}}\ngrid: {train.epochs: [1, 2]}\n"),
              HasSubstr("variants: a: 'train.epochs' would be undone by grid: train.epochs"));
  EXPECT_THAT(refusal("variants: {a: {\"objective[0].tau_plus\": 0.2}}\ngrid: {objective.tau_plus: [0, 0.1]}\n"),
              HasSubstr("'objective[0].tau_plus' would be undone by grid: objective.tau_plus"));
  EXPECT_THAT(refusal("variants: {a: {objective.tau_plus: 0.2}}\ngrid: {objective: [infonce, unbiased]}\n"),
              HasSubstr("'objective.tau_plus' would be undone by grid: objective"));
  const SweepPlan above = read("variants: {a: {objective: {name: hard_negatives}}}\ngrid: {objective.0.tau_plus: [0, 0.1]}\n");
  EXPECT_EQ(recipe(above, 1)["objective"].dump(), R"([{"name":"hard_negatives","tau_plus":0.1}])");
}

TEST_F(SweepFile, WhatItSetsItselfIsRefusedInVariantsAndOverrides) {
  EXPECT_THAT(refusal("variants: {a: {seed: 5}}\n"), HasSubstr("variants: 'seed' is set by the sweep; write `seeds` beside the variants"));
  EXPECT_THAT(refusal("variants: {a: {output: x}}\n"), HasSubstr("write `output` beside the variants"));
  EXPECT_THAT(refusal("variants: {a: {expected: []}}\n"), HasSubstr("write `expected` beside the variants"));
  EXPECT_THAT(refusal("overrides: [{set: {seed: 5}}]\n"), HasSubstr("overrides: 'seed' is set by the sweep"));
  EXPECT_THAT(refusal("overrides: [{set: {\"output[0]\": x}}]\n"), HasSubstr("write `output` beside the overrides"));
  EXPECT_THAT(refusal("", {"output.folder=x"}), HasSubstr("write output=DIR"));
}

TEST_F(SweepFile, ANumberInTwoSpellingsIsGivenTwice) {
  EXPECT_THAT(refusal("grid: {optimizer.learning_rate: [0.001, 1e-3]}\n"), HasSubstr("1e-3 is given twice, first as 0.001; keep one"));
  EXPECT_THAT(refusal("grid: {optimizer.learning_rate: [1e-3, 2e-3, 1.0e-3]}\n"), HasSubstr("1.0e-3 is given twice, first as 1e-3"));
  EXPECT_EQ(read("grid: {optimizer.learning_rate: [1e-3, 1e-2]}\n").runs.size(), 2u);
}

TEST_F(SweepFile, AnExpectationThatCannotBeMeantIsRefused) {
  const std::string two = "variants: {a: {}, b: {}}\nmetric: m\n";
  EXPECT_THAT(refusal(two + "expected: [{value: 1}, {variant: a, value: 2}]\n"), HasSubstr("expected: a: m is given twice (1 and 2)"));
  EXPECT_THAT(refusal(two + "expected: [{value: 1, spread: abc}]\n"), HasSubstr("expected: spread: expected a number from 0 on"));
  EXPECT_THAT(refusal(two + "expected: [{value: 1, spread: -1}]\n"), HasSubstr("expected: spread: expected a number from 0 on"));
  EXPECT_THAT(refusal("metric: m\ngrid: {train.epochs: [1, 2]}\nexpected: [{at: {train.epochs: 1}, over: train.epochs, values: [3, 4]}]\n"),
              HasSubstr("'train.epochs' is in `at` and in `over`"));
  EXPECT_THAT(refusal("metric: m\nexpected: [{variant: q, value: 1}]\n"), HasSubstr("the sweep has no variants; leave it out"));
  EXPECT_EQ(read(two + "expected: [{value: 1}, {metric: n, value: 2}]\n").runs.size(), 2u);
}

TEST_F(SweepFile, PublishedMinutesAndEpochsGoToTheirRuns) {
  const SweepPlan plan = read(
      "metric: m\ngrid: {train.epochs: [1, 2]}\n"
      "expected: [{over: train.epochs, values: [3, 4], minutes: [12.5, null], epoch: 50, source: T}]\n");
  EXPECT_EQ(recipe(plan, 0)["expected"].dump(), R"([{"metric":"m","epoch":50,"source":"T","value":3,"minutes":12.5}])");
  EXPECT_EQ(recipe(plan, 1)["expected"].dump(), R"([{"metric":"m","epoch":50,"source":"T","value":4}])");
  EXPECT_EQ(recipe(read("metric: m\nexpected: [{value: 1, epoch: 10}, {value: 2, epoch: 20}, {value: 3}]\n"), 0)["expected"].size(), 3u);
}

TEST_F(SweepFile, PublishedMinutesAndEpochsThatCannotBeMeantAreRefused) {
  const auto of = [&](const std::string& more) { return refusal("metric: m\nexpected: [{value: 1, " + more + "}]\n"); };
  for (const char* minutes : {"0", "-1", "inf", "long", "[1, 2]"})
    EXPECT_THAT(of(fmt::format("minutes: {}", minutes)), HasSubstr("expected: minutes: expected the published minutes")) << minutes;
  for (const char* epoch : {"0", "2.5", "last"})
    EXPECT_THAT(of(fmt::format("epoch: {}", epoch)), HasSubstr("expected: epoch: expected a whole number from 1 on")) << epoch;
  EXPECT_THAT(refusal("metric: m\nexpected: [{value: 1, epoch: 5}, {value: 2, epoch: 5}]\n"), HasSubstr("m is given twice (1 and 2)"));
  EXPECT_THAT(refusal("metric: m\ngrid: {train.epochs: [1, 2]}\nexpected: [{over: train.epochs, values: [3, 4], minutes: 5}]\n"),
              HasSubstr("over train.epochs: minutes: expected a list of 2"));
}

TEST_F(SweepFile, MayHaveNumbersThatStandForItsVariants) {
  const SweepPlan plan = read(
      "variants: {M1: {}, M2-grouping: {}, M2-pairs: {}}\naxes:\n"
      "  - {over: M, line: grouping, variants: {M1: 1, M2-grouping: 2}}\n  - {over: M, line: pairs, variants: {M1: 1, M2-pairs: 2}}\n");
  ASSERT_EQ(plan.axes.size(), 2u);
  EXPECT_EQ(plan.axes[1], (VariantAxis{"M", "pairs", {{"M1", 1}, {"M2-pairs", 2}}}));
  const auto places = places_of(plan.axes, "M1");
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].line, "grouping");
  EXPECT_EQ(places_of(plan.axes, "M2-pairs").at(0).number, 2);
}

TEST_F(SweepFile, AxesThatCannotBeDrawnAreRefused) {
  const auto of = [&](const std::string& axes) { return refusal("variants: {small: {}, large: {}}\naxes: " + axes + "\n"); };
  EXPECT_THAT(of("[{over: M, variants: {small: 1, larg: 2}}]"), HasSubstr("axes: over M: no variant 'larg'; did you mean 'large'?"));
  EXPECT_THAT(of("[{over: M, variants: {small: 1, large: two}}]"),
              HasSubstr("axes: over M: large: expected the number that it stands for"));
  EXPECT_THAT(of("[{over: M, variants: {small: 1, large: inf}}]"), HasSubstr("expected the number"));
  EXPECT_THAT(of("[{over: M, variants: {small: 1}}]"), HasSubstr("expected two or more variants"));
  EXPECT_THAT(of("[{over: M}]"), HasSubstr("expected two or more variants"));
  EXPECT_THAT(of("[{over: M, variants: {small: 1, large: 1}}]"), HasSubstr("small and large both stand for 1"));
  EXPECT_THAT(of("[{variants: {small: 1, large: 2}}]"), HasSubstr("no `over` is given"));
  EXPECT_THAT(of("[{over: M, lines: a, variants: {small: 1, large: 2}}]"), HasSubstr("unknown key 'lines'; did you mean 'line'?"));
  EXPECT_THAT(of("{over: M}"), HasSubstr("axes: expected a list of maps"));
  const std::string entry = "{over: M, variants: {small: 1, large: 2}}", named = "{over: M, line: a, variants: {small: 1, large: 2}}";
  EXPECT_THAT(of("[" + entry + ", " + entry + "]"), HasSubstr("several entries; give each a `line`"));
  EXPECT_THAT(of("[" + named + ", " + named + "]"), HasSubstr("line 'a' is given twice"));
  EXPECT_THAT(refusal("axes: [" + entry + "]\n"), HasSubstr("the sweep has no variants"));
}

TEST_F(SweepFile, ASourceIsOneLine) {
  const SweepPlan plan = read("metric: m\nexpected:\n  - value: 1\n    source: |\n      USC,\n      Table 3\n");
  EXPECT_EQ(recipe(plan, 0)["expected"][0]["source"], "USC, Table 3");
}

TEST_F(SweepFile, NamesThatItsOutputCannotHoldAreRefused) {
  EXPECT_THAT(refusal("variants: {sweep.json: {}}\n"), HasSubstr("'sweep.json' names a file of the sweep's; choose another name"));
  EXPECT_THAT(refusal("variants: {events.out.tfevents.1: {}}\n"), HasSubstr("choose another name"));
  EXPECT_THAT(refusal("variants: {" + std::string(256, 'a') + ": {}}\n"), HasSubstr("has a name of 256 bytes, more than 255"));
  EXPECT_EQ(read("variants: {" + std::string(255, 'a') + ": {}}\n").runs.size(), 1u);
  EXPECT_THAT(refusal("grid: {train.epochs: [" + std::string(243, '1') + "]}\n"), HasSubstr("has a name of 256 bytes"));
}

TEST_F(SweepFile, AWordWithoutAKeyIsRefusedInOneLine) {
  EXPECT_THAT(refusal("", {"=3"}), HasSubstr("'=3' is not of the form key.sub=value"));
  EXPECT_THAT(refusal("variants: {a: {\"\": 3}}\n"), HasSubstr("'' is not a key of a recipe"));
}

// In a folder with a recipe of the same name.
TEST_F(SweepFile, TakesTheBaseThatLiesBesideIt) {
  const auto here = std::filesystem::current_path();
  std::filesystem::create_directories(folder_ / "sweeps");
  std::ofstream(folder_ / "base.yaml") << "name: here\n";
  std::ofstream(folder_ / "other.yaml") << "name: other\n";
  std::ofstream(folder_ / "sweeps/base.yaml") << "name: beside\n";
  std::filesystem::current_path(folder_.path());
  const auto name_of_base = [](const std::string& base) {
    std::ofstream("sweeps/sweep.yaml") << "base: " << base << "\noutput: x\n";
    return recipe(read_sweep("sweeps/sweep.yaml", {}, [](const std::string& name) { return name; }), 0)["name"];
  };
  EXPECT_EQ(name_of_base("base.yaml"), "beside");
  EXPECT_EQ(name_of_base("other.yaml"), "other");
  std::filesystem::current_path(here);
}

TEST_F(SweepFile, MoreRunsThanCanBeMeantAreRefusedBeforeTheyAreMade) {
  std::string grid = "grid:\n";
  for (int key = 0; key < 20; ++key) grid += fmt::format("  train.key{}: [1, 2, 3, 4, 5, 6, 7, 8, 9]\n", key);
  EXPECT_THAT(refusal(grid), HasSubstr("allowed; split it into several sweeps"));
}

// A scalar with `over` is of every number.
TEST_F(SweepFile, PublishedNumbersSayOfHowManyRunsTheyAre) {
  const SweepPlan plan =
      read("metric: m\ngrid: {train.epochs: [1, 2]}\nexpected: [{over: train.epochs, values: [3, 4], runs: 3, source: T}]\n");
  EXPECT_EQ(recipe(plan, 1)["expected"].dump(), R"([{"metric":"m","runs":3,"source":"T","value":4}])");
  for (const char* runs : {"0", "-1", "2.5", "three", "[3]"})
    EXPECT_THAT(refusal(fmt::format("metric: m\nexpected: [{{value: 3, runs: {}}}]\n", runs)),
                HasSubstr("expected: runs: expected a whole number"))
        << runs;
}

TEST(SeedsPlan, HasARunOfEachSeedFromTheRecipesOwnOn) {
  const auto plan_of = [](const std::string& yaml, int64_t count) { return seeds_plan("r.yaml", parse_yaml(yaml, "r.yaml"), count); };
  const SweepPlan plan = plan_of("{seed: 4, output: runs/x, name: n}", 3);
  EXPECT_EQ(plan.seeds, (std::vector<std::string>{"4", "5", "6"}));
  ASSERT_EQ(plan.points.size(), 1u);
  ASSERT_EQ(plan.runs.size(), 3u);
  EXPECT_EQ(plan.runs[2].name(), "seed-6");
  EXPECT_EQ(recipe(plan, 2).dump(), R"({"seed":6,"output":"runs/x/seed-6","name":"n"})");
  EXPECT_EQ(plan_of("{output: runs/x}", 2).seeds.front(), "1");
  EXPECT_THAT(usage_error_of([&] { plan_of("{seed: 1}", 2); }), HasSubstr("names no output folder"));
  EXPECT_THAT(usage_error_of([&] { plan_of("{output: x}", 0); }), HasSubstr("--seeds 0: give 1 to 10000"));
  EXPECT_THAT(usage_error_of([&] { plan_of("{output: x, seed: one}", 2); }), HasSubstr("expected a whole number from 0 on"));
}

}  // namespace debias::sweep_plan_test

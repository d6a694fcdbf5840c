#include "debias/report/sections/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "debias/report/recipe_facts.h"
#include "debias/report/seed_interval.h"
#include "tests/apps/process.h"
#include "tests/report/reading_program.h"
#include "tests/report/run_fixture.h"

namespace debias {
namespace verdict_test {

using testing::HasSubstr;
using testing::Not;

class Verdicts : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }

  void read(const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const auto& name : names) paths.push_back(path(name));
    runs_ = read_runs(paths, reading_program());
    columns_ = run_columns(runs_);
    rows_ = key_numbers(columns_);
  }
  // Of one run with these groups.
  ShortcutVerdict verdict_of(const BiasShape& bias) {
    write_biased_run(path("run"), bias);
    read({"run"});
    return shortcut_verdict(columns_, 0, rows_);
  }
  // Runs NAME-1, NAME-2, ... whose conflicting accuracies are given; aligned 0.95.
  std::vector<std::string> write_seeds(const std::string& name, const std::vector<double>& conflicting, int64_t first = 1,
                                       int64_t images = 4000) {
    std::vector<std::string> names;
    for (size_t i = 0; i < conflicting.size(); ++i) {
      const int64_t seed = first + static_cast<int64_t>(i);
      names.push_back(fmt::format("{}-{}", name, seed));
      write_biased_run(path(names.back()), {.aligned = 0.95, .conflicting = conflicting[i], .images = images},
                       {.seed = seed, .objective = name});
    }
    return names;
  }
  std::vector<ComparisonVerdict> compare(std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    read(a);
    return comparison_verdicts(columns_, rows_);
  }

  TemporaryFolder folder_;
  std::vector<RunRecord> runs_;
  std::vector<RunColumn> columns_;
  std::vector<NumberRow> rows_;
};

TEST_F(Verdicts, AShortcutThatIsUsed) {
  const ShortcutVerdict verdict = verdict_of({.aligned = 0.975, .conflicting = 0.2, .images = 800});
  EXPECT_EQ(verdict.finding, Finding::kUsed);
  EXPECT_EQ(verdict.head, "the shortcut is still used very strongly");
  // Newcombe's interval of 780/800 and 160/800 by hand: Wilson [0.9617, 0.9838] and [0.1738, 0.2291].
  EXPECT_THAT(verdict.words,
              HasSubstr("On test, 97.5 % of the bias-aligned and 20.0 % of the bias-conflicting images are classified correctly "
                        "(classifier): a very strong difference of 77.5 points, 95 % interval 74.3 to 80.3 over the evaluated images "
                        "(other images, the same network)."));
  EXPECT_THAT(verdict.words, HasSubstr("one training run: the interval does not cover other seeds"));
  EXPECT_THAT(verdict.words, HasSubstr("The shortcut: bias label red belongs to class cat, blue with dog."));
  EXPECT_THAT(verdict.words, HasSubstr("The worst group is class cat with bias label blue: 20.0 % of its 400 images."));
  EXPECT_EQ(verdict.difference.over, Coverage::kImages);
  EXPECT_NEAR(verdict.difference.mean, 0.775, 1e-12);
}

TEST_F(Verdicts, AShortcutThatIsUsedALittle) {
  const ShortcutVerdict verdict = verdict_of({.aligned = 0.95, .conflicting = 0.93, .images = 20000});
  EXPECT_EQ(verdict.finding, Finding::kUsedLittle);
  EXPECT_EQ(verdict.head, "the shortcut is still used slightly");
}

TEST_F(Verdicts, NoSignOfAShortcut) {
  EXPECT_EQ(verdict_of({.aligned = 0.9, .conflicting = 0.9, .images = 2000}).finding, Finding::kNotUsed);
}

TEST_F(Verdicts, ConflictingImagesAboveAlignedOnesAreOverCorrection) {
  const ShortcutVerdict verdict = verdict_of({.aligned = 0.8, .conflicting = 0.9, .images = 2000});
  EXPECT_EQ(verdict.finding, Finding::kOverCorrected);
  EXPECT_EQ(verdict.head, "moderate over-correction");
  EXPECT_THAT(verdict.words, HasSubstr("a moderate difference of -10.0 points, 95 % interval -12.2 to -7.8"));
  EXPECT_THAT(verdict.words, HasSubstr("Bias-conflicting images are recognised more often than bias-aligned ones"));
  read(write_seeds("over", {0.98, 0.985, 0.982}));  // aligned 0.95
  EXPECT_EQ(shortcut_verdict(columns_, 0, rows_).finding, Finding::kOverCorrected);
  EXPECT_STREQ(finding_name(Finding::kOverCorrected), "over_corrected");
}

// 14 and 63 points do not read alike.
TEST_F(Verdicts, SayTheSizeInWords) {
  const auto head = [&](double conflicting) { return verdict_of({.aligned = 0.95, .conflicting = conflicting, .images = 20000}).head; };
  EXPECT_EQ(head(0.32), "the shortcut is still used very strongly");
  EXPECT_EQ(head(0.70), "the shortcut is still used strongly");
  EXPECT_EQ(head(0.81), "the shortcut is still used moderately");
  EXPECT_EQ(head(0.91), "the shortcut is still used slightly");
}

TEST_F(Verdicts, FewImagesCannotTell) {
  const ShortcutVerdict verdict = verdict_of({.aligned = 0.9, .conflicting = 0.9, .images = 40});
  EXPECT_EQ(verdict.finding, Finding::kCannotTell);
  EXPECT_THAT(verdict.words, HasSubstr("evaluate more images or train more seeds"));
}

TEST_F(Verdicts, ANetworkThatLearnedNothingIsNoProofOfFairness) {
  const ShortcutVerdict verdict = verdict_of({.aligned = 0.5, .conflicting = 0.5, .images = 8000});
  EXPECT_EQ(verdict.finding, Finding::kCannotTell);
  EXPECT_THAT(verdict.words, HasSubstr("not classified better than by chance (50.0 %)"));
}

TEST_F(Verdicts, WithoutAnIntervalItIsInconclusive) {
  write_run(path("run"));
  write_evaluation(path("run"), "knn", described("knn", {}, {{"test.aligned_acc", 0.9}, {"test.conflicting_acc", 0.2}}));
  read({"run"});
  const ShortcutVerdict verdict = shortcut_verdict(columns_, 0, rows_);
  EXPECT_EQ(verdict.finding, Finding::kCannotTell);
  EXPECT_THAT(verdict.words, HasSubstr("(kNN): a very strong difference of 70.0 points. No interval is known"));
  EXPECT_EQ(verdict.next.command, "debias eval groups " + path("run"));
}

TEST_F(Verdicts, WithoutBiasValuesOrATestNothingIsSaid) {
  write_run(path("unbiased"));
  read({"unbiased"});
  EXPECT_EQ(shortcut_verdict(columns_, 0, rows_).finding, Finding::kNoBias);
  EXPECT_EQ(shortcut_verdict(columns_, 0, rows_).head, "no bias information");
  write_run(path("untested"), {.epochs_done = 0});
  read({"untested"});
  EXPECT_EQ(shortcut_verdict(columns_, 0, rows_).finding, Finding::kNoTest);
  EXPECT_EQ(shortcut_verdict(columns_, 0, rows_).head, "not tested");
}

TEST_F(Verdicts, OfSeveralSeedsTheIntervalIsOverTheSeeds) {
  read(write_seeds("ce", {0.20, 0.22, 0.27}));
  const ShortcutVerdict verdict = shortcut_verdict(columns_, 0, rows_);
  EXPECT_EQ(verdict.finding, Finding::kUsed);
  EXPECT_THAT(verdict.words, HasSubstr("23.0 % of the bias-conflicting images are classified correctly, in the mean over the seeds"));
  EXPECT_THAT(verdict.words,
              HasSubstr("72.0 points, 95 % interval 63.0 to 81.0 over 3 seeds (further trainings), and "));  // 4.303 * 0.036056 / sqrt(3)
  EXPECT_THAT(verdict.words, Not(HasSubstr("one training run")));
}

TEST_F(Verdicts, SeedsThatAgreeOnAFewImagesDoNotTellOfOthers) {
  read(write_seeds("ce", {0.75, 0.76, 0.75}, 1, 20));
  const ShortcutVerdict verdict = shortcut_verdict(columns_, 0, rows_);
  EXPECT_EQ(verdict.finding, Finding::kCannotTell);
  EXPECT_THAT(verdict.words, HasSubstr("Seeds and images disagree"));
}

TEST_F(Verdicts, AProbeStandsBesideChance) {
  write_biased_run(path("run"), {});
  const auto words = [&](double probe, bool converged) {
    auto geometry =
        described("geometry", {}, {{"test.bias_probe_acc1", probe}, {"test.bias_majority_rate", 0.05}, {"test.bias_uniform_rate", 0.104}});
    geometry["bias_probe"] = {{"converged", converged}};
    write_evaluation(path("run"), "geometry", geometry);
    read({"run"});
    return shortcut_verdict(columns_, 0, rows_).words;
  };
  EXPECT_THAT(words(0.959, true), testing::EndsWith("predicts the bias label from the features of 95.9 % of the images, where chance gives "
                                                    "10.4 %: the bias is in the features."));
  EXPECT_THAT(words(0.12, true), testing::EndsWith("little of the bias is in the features."));
  EXPECT_THAT(words(0.12, false), testing::EndsWith("The probe has not converged, so it may predict more."));
}

TEST_F(Verdicts, ADifferenceLargerThanTheSeedsSpread) {
  const auto verdicts = compare(write_seeds("ce", {0.20, 0.22, 0.27}), write_seeds("fairkl", {0.60, 0.63, 0.66}));
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].comparison, Comparison::kBetter);
  EXPECT_EQ(verdicts[0].head, "fairkl is better than ce, beyond the variation over seeds");
  // Pairs 0.40, 0.41, 0.39: 4.303 * 0.01 / sqrt(3).
  EXPECT_THAT(verdicts[0].words, HasSubstr("63.0 % against 23.0 % on bias-conflicting images of test (classifier): +40.0 points, 95 % "
                                           "interval +37.5 to +42.5 over the same 3 seeds."));
  EXPECT_THAT(verdicts[0].words, HasSubstr("On bias-aligned images: +0.0 points."));
}

TEST_F(Verdicts, OtherSeedsAreNotPaired) {
  const auto verdicts = compare(write_seeds("ce", {0.20, 0.22, 0.27}), write_seeds("fairkl", {0.60, 0.63, 0.66}, 11));
  EXPECT_EQ(verdicts[0].comparison, Comparison::kBetter);
  EXPECT_THAT(verdicts[0].words, HasSubstr("over at least 3 seeds"));
}

TEST_F(Verdicts, ADifferenceWithinTheSpreadIsNone) {
  const auto verdicts = compare(write_seeds("ce", {0.20, 0.40, 0.30}), write_seeds("fairkl", {0.35, 0.30, 0.34}));
  EXPECT_EQ(verdicts[0].comparison, Comparison::kAlike);
  EXPECT_EQ(verdicts[0].head, "fairkl against ce: inconclusive");
  EXPECT_THAT(verdicts[0].words, HasSubstr("within the variation over seeds"));
}

// Newcombe's interval of 2400/4000 less 800/4000; without marks as of different images.
TEST_F(Verdicts, OfOneSeedEachTheIntervalIsOverTheImages) {
  const auto verdicts = compare(write_seeds("ce", {0.20}), write_seeds("fairkl", {0.60}));
  EXPECT_EQ(verdicts[0].comparison, Comparison::kBetterOnImages);
  EXPECT_EQ(verdicts[0].head, "of these two runs fairkl-1 is better than ce-1, beyond the variation over images");
  EXPECT_THAT(verdicts[0].words,
              HasSubstr("+40.0 points, 95 % interval +38.0 to +41.9 over 4000 images each, taken as different ones, which "
                        "covers other images and these two networks. With a single seed each it does not cover other seeds"));
  EXPECT_EQ(verdicts[0].difference.over, Coverage::kImages);
  EXPECT_EQ(verdicts[0].next.command,
            fmt::format("debias train {0} --seeds 3 output={0}-seeds && debias train {1} --seeds 3 output={1}-seeds", path("fairkl-1"),
                        path("ce-1")));
}

// 16 conflicting images, of which one run alone is right on 9 and the other on none: McNemar's p is 2/2^9.
TEST_F(Verdicts, OfOneSeedEachImagesThatBothWereEvaluatedOnArePaired) {
  write_biased_run(path("ce"), {.aligned = 0.5, .conflicting = 0.25, .images = 16}, {.objective = "ce"});
  write_biased_run(path("fairkl"), {.aligned = 0.5, .conflicting = 0.8125, .images = 16}, {.objective = "fairkl"});
  const auto mark = [&](const std::string& name, const std::string& conflicting) {
    auto groups = nlohmann::ordered_json::parse(file_text(path(name) + "/evaluation/groups.json"));
    groups["marks"]["test"] = "AAAAAAAAaaaaaaaa" + conflicting;
    write_evaluation(path(name), "groups", groups);
  };
  mark("ce", "CCCCcccccccccccc");
  mark("fairkl", "CCCCCCCCCCCCCccc");
  auto verdicts = compare({"ce"}, {"fairkl"});
  EXPECT_EQ(verdicts[0].comparison, Comparison::kBetterOnImages);
  EXPECT_EQ(verdicts[0].difference.over, Coverage::kPairedImages);
  EXPECT_NEAR(verdicts[0].p, 2.0 / 512, 1e-12);
  EXPECT_THAT(verdicts[0].words, HasSubstr("over 16 images, the same of both"));
  EXPECT_THAT(verdicts[0].words, HasSubstr("On bias-aligned images: +0.0 points, 95 % interval"));
  mark("fairkl", "CCCCCCCCCCCCcccc");  // of other predictions than the numbers are of
  EXPECT_EQ(compare({"ce"}, {"fairkl"})[0].difference.over, Coverage::kImages);
}

TEST_F(Verdicts, OfOneSeedEachImagesMayNotTell) {
  const auto verdicts = compare(write_seeds("ce", {0.60}, 1, 100), write_seeds("fairkl", {0.64}, 1, 100));
  EXPECT_EQ(verdicts[0].comparison, Comparison::kAlike);
  EXPECT_FALSE(verdicts[0].next.command.empty());
}

TEST_F(Verdicts, OneSeedCannotTellWhichIsBetter) {
  write_seeds("fairkl", {0.60});
  auto verdicts = compare(write_seeds("ce", {0.20, 0.22}), {"fairkl-1"});
  EXPECT_EQ(verdicts[0].comparison, Comparison::kTooFewSeeds);
  EXPECT_THAT(verdicts[0].words, HasSubstr("with a single seed on one side."));
}

TEST_F(Verdicts, ARunThatIsStillTrainingIsComparedWithTheWordsThatItIs) {
  write_seeds("ce", {0.20});
  write_biased_run(path("fairkl-1"), {.conflicting = 0.6}, {.epochs = 4, .epochs_done = 2, .objective = "fairkl"});
  EXPECT_THAT(compare({"ce-1"}, {"fairkl-1"})[0].words, testing::EndsWith(" fairkl-1 has trained 2 of 4 epochs, unfinished."));
}

TEST_F(Verdicts, SeedsThatAllAgreeToTheLastImageSayNothingOfOthers) {
  const auto verdicts = compare(write_seeds("ce", {0.5, 0.5, 0.5}), write_seeds("fairkl", {0.625, 0.625, 0.625}));
  EXPECT_EQ(verdicts[0].comparison, Comparison::kTooFewSeeds);
  EXPECT_THAT(verdicts[0].words, HasSubstr("+12.5 points in every seed"));
}

TEST_F(Verdicts, RunsAreComparedWithThoseThatWereEvaluatedByTheSame) {
  std::vector<std::string> by_knn = write_seeds("infonce", {0.60, 0.61, 0.59}), by_classifier = write_seeds("ce", {0.20, 0.21, 0.22});
  for (const auto& run : write_seeds("debiased", {0.70, 0.72, 0.69})) by_knn.push_back(run);
  for (const auto& run : write_seeds("fairkl", {0.60, 0.59, 0.61})) by_classifier.push_back(run);
  for (const auto& run : by_knn) {
    auto groups = nlohmann::ordered_json::parse(file_text(path(run) + "/evaluation/groups.json"));
    groups["predictions"] = "knn";
    write_evaluation(path(run), "groups", groups);
  }
  for (const auto& run : by_classifier) {  // has no accuracy by kNN
    std::string metrics = file_text(path(run) + "/metrics.jsonl");
    for (size_t at; (at = metrics.find("test.knn_acc1")) != std::string::npos;) metrics.replace(at, 13, "test.unnamed");
    write_text(path(run) + "/metrics.jsonl", metrics);
  }
  const auto verdicts = compare(by_knn, by_classifier);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_THAT(verdicts[0].head, HasSubstr("fairkl is better than ce"));
  EXPECT_THAT(verdicts[1].head, HasSubstr("debiased is better than infonce"));
}

TEST_F(Verdicts, RunsOnOtherDataAreNotCompared) {
  write_seeds("ce", {0.20});
  write_seeds("fairkl", {0.60});
  auto groups = nlohmann::ordered_json::parse(file_text(path("ce-1") + "/evaluation/groups.json"));
  groups["data"]["test"]["correlation"] = 0.5;
  write_evaluation(path("ce-1"), "groups", groups);
  const auto verdicts = compare({"ce-1"}, {"fairkl-1"});
  EXPECT_EQ(verdicts[0].comparison, Comparison::kNotComparable);
  EXPECT_THAT(verdicts[0].words, HasSubstr("evaluated on the same test data"));
}

TEST_F(Verdicts, PredictionsOfOthersAreNotCompared) {
  write_biased_run(path("a"), {.conflicting = 0.2}, {.objective = "infonce"});
  write_biased_run(path("b"), {.conflicting = 0.9, .predictions = "knn"});
  const auto verdicts = compare({"a"}, {"b"});  // what both have is the kNN accuracy of training
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_THAT(verdicts[0].words, HasSubstr("by kNN of test"));
  EXPECT_THAT(verdicts[0].words, Not(HasSubstr("90.0 %")));
}

TEST_F(Verdicts, OfThreeRunsTheBestIsComparedWithEachOther) {
  auto names = write_seeds("ce", {0.20, 0.22, 0.27});
  for (const auto& name : write_seeds("end", {0.30, 0.33, 0.31})) names.push_back(name);
  const auto verdicts = compare(names, write_seeds("fairkl", {0.60, 0.63, 0.66}));
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_THAT(verdicts[0].head, HasSubstr("fairkl is better than ce"));
  EXPECT_THAT(verdicts[1].head, HasSubstr("fairkl is better than end"));
}

// p-values of 0.02 and 0.04 alone; the best of three was chosen by the same numbers.
TEST_F(Verdicts, TheBestOfSeveralIsAdjustedForTheChoice) {
  auto names = write_seeds("ce", {0.50, 0.55, 0.52});
  for (const auto& name : write_seeds("end", {0.51, 0.53, 0.55})) names.push_back(name);
  const auto verdicts = compare(names, write_seeds("fairkl", {0.55, 0.58, 0.59}));
  ASSERT_EQ(verdicts.size(), 2u);
  for (const auto& verdict : verdicts) {
    EXPECT_EQ(verdict.tests, 3u);
    EXPECT_GE(verdict.p_holm, verdict.p);
    EXPECT_THAT(verdict.words, HasSubstr("Adjusted for 3 comparisons, of which the best was chosen (Holm): p = "));
    EXPECT_EQ(verdict.comparison, verdict.p_holm < 0.05 ? Comparison::kBetter : Comparison::kAlike) << verdict.p_holm;
  }
  EXPECT_TRUE(
      std::ranges::any_of(verdicts, [](const auto& verdict) { return verdict.p < 0.05 && verdict.comparison == Comparison::kAlike; }));
}

// Five settings that do not differ, three seeds of each: how often the report calls one better than another.
TEST(VerdictsByChance, CallNothingBetterMoreOftenThanTheLevel) {
  constexpr int kReports = 600;
  constexpr size_t kSettings = 5;
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<RunRecord> runs(kSettings * 3);
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].recipe = read_recipe_facts(parse_yaml(fmt::format("{{seed: {}, data: {{test: {{name: cifar10}}}}}}", i % 3 + 1), "recipe"));
    runs[i].label = std::to_string(i);
  }
  std::vector<RunColumn> columns(kSettings);
  for (size_t i = 0; i < kSettings; ++i) columns[i] = {std::to_string(i), {&runs[3 * i], &runs[3 * i + 1], &runs[3 * i + 2]}};
  int better = 0, better_alone = 0;
  for (int report = 0; report < kReports; ++report) {
    NumberRow row;
    row.metric = "test.knn_acc1";
    for (size_t i = 0; i < kSettings; ++i) {
      KeyNumber number;
      for (int seed = 0; seed < 3; ++seed) number.by_seed.push_back(0.7 + 0.01 * normal(random));
      number.value = seed_interval(number.by_seed).mean;
      row.by_column.emplace_back(number);
    }
    const auto verdicts = comparison_verdicts(columns, {row});
    better += std::ranges::any_of(verdicts, [](const auto& verdict) { return verdict.comparison == Comparison::kBetter; });
    better_alone += std::ranges::any_of(verdicts, [](const auto& verdict) { return verdict.p < 0.05; });
  }
  EXPECT_LE(static_cast<double>(better) / kReports, 0.05 + 3 * std::sqrt(0.05 * 0.95 / kReports));
  EXPECT_GT(static_cast<double>(better_alone) / kReports, 0.1);  // what the adjustment is for
}

TEST_F(Verdicts, WithoutBiasValuesAdviseWhatWorks) {
  write_run(path("run"));
  std::string recipe = file_text(path("run") + "/config.yaml");
  for (size_t at; (at = recipe.find(", correlation")) != std::string::npos;) recipe.erase(at, std::string(", correlation: 0.1").size());
  write_text(path("run") + "/config.yaml", recipe);
  read({"run"});
  const ShortcutVerdict unknown = shortcut_verdict(columns_, 0, rows_);
  EXPECT_EQ(unknown.finding, Finding::kNoBias);
  EXPECT_EQ(unknown.next.command, "debias eval groups " + path("run") + " --labels FILE.csv");
  EXPECT_THAT(unknown.words, HasSubstr("debias audit FOLDER"));
  write_text(path("run") + "/classes.json", R"({"classes": ["cat", "dog"], "biases": ["red", "blue"]})");
  read({"run"});
  EXPECT_EQ(shortcut_verdict(columns_, 0, rows_).next.command, "debias eval groups,geometry " + path("run"));
}

// The classifier's accuracy on training batches is `acc1` of the epoch lines.
TEST_F(Verdicts, FarBetterOnTrainingThanOnTestImagesIsASignOfAShortcut) {
  const auto verdict = [&](const std::string& more) {
    write_run(path("run"));
    write_text(path("run") + "/metrics.jsonl", R"({"epoch":4,"train_loss":1,"acc1":0.94,"test.acc1":0.28)" + more + "}\n");
    read({"run"});
    return shortcut_verdict(columns_, 0, rows_);
  };
  const ShortcutVerdict sign = verdict("");
  EXPECT_EQ(sign.head, "no bias information, but a sign of a shortcut");
  EXPECT_THAT(sign.words, HasSubstr("right on 94.0 % of the training images and on 28.0 % of the test images: a sign of a shortcut"));
  EXPECT_THAT(sign.words, HasSubstr("Overfitting looks the same"));
  EXPECT_THAT(verdict(R"(,"valid.acc1":0.91)").words, HasSubstr("that were held out it is right on 91.0 %, so it is not overfitting"));
  EXPECT_THAT(verdict(R"(,"valid.acc1":0.33)").words, HasSubstr("which is overfitting, not a sign of a shortcut"));
  EXPECT_EQ(verdict(R"(,"valid.acc1":0.33)").head, "no bias information");
}

TEST_F(Verdicts, NextStepsHaveTheMinutesOfTheRunsOwnTraining) {
  write_biased_run(path("run"), {});
  write_text(path("run") + "/times.jsonl", R"({"epoch":1,"seconds":120,"count":400,"counted":"images"})"
                                           "\n"
                                           R"({"epoch":2,"seconds":130,"count":400,"counted":"images"})"
                                           "\n");
  read({"run"});
  const NextStep next = shortcut_verdict(columns_, 0, rows_).next;
  EXPECT_EQ(step_words(next),
            fmt::format("Next, for an interval over seeds: debias train {0} --seeds 3 output={0}-seeds (about 12 minutes)", path("run")));
  std::filesystem::create_directories(path("run-seeds"));
  read({"run"});
  EXPECT_THAT(shortcut_verdict(columns_, 0, rows_).next.command, testing::EndsWith("output=" + path("run-seeds-2")));
}

TEST_F(Verdicts, FurtherSeedsGoBesideTheGroupThatTheRunIsIn) {
  const auto step_of = [&](const std::string& run) {
    write_biased_run(path(run), {});
    read({run});
    return shortcut_verdict(columns_, 0, rows_).next.command;
  };
  const std::string record = R"({"metric": "", "grid": [], "runs": []})";
  write_text(path("seeds/sweep.json"), record);
  EXPECT_THAT(step_of("seeds/seed-4"), testing::EndsWith(" output=" + path("seeds-seeds")));
  std::filesystem::create_directories(path("seeds-seeds"));
  EXPECT_THAT(step_of("seeds/seed-4"), testing::EndsWith(" output=" + path("seeds-seeds-2")));
  write_text(path("sweep/sweep.json"), record);
  EXPECT_THAT(step_of("sweep/wide/seed-1"), testing::EndsWith(" output=" + path("sweep-wide-seeds")));
  EXPECT_THAT(step_of("sweep/deep/seed-1"), testing::EndsWith(" output=" + path("sweep-deep-seeds")));
  write_text(path("sweep/deep/seed-1-seeds/sweep.json"), record);  // where earlier versions advised to put it
  EXPECT_THAT(step_of("sweep/deep/seed-1-seeds/seed-2"), testing::EndsWith(" output=" + path("sweep-deep-seed-1-seeds-seeds")));
}

}  // namespace verdict_test
}  // namespace debias

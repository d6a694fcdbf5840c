#include "debias/report/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_EQ(verdict.head, "the shortcut is still used");
  // Newcombe's interval of 780/800 and 160/800 by hand: Wilson [0.9617, 0.9838] and [0.1738, 0.2291].
  EXPECT_THAT(verdict.words, HasSubstr("On test, 97.5 % of the bias-aligned and 20.0 % of the bias-conflicting images are judged right "
                                       "(classifier): a difference of 77.5 points, 95 % interval 74.3 to 80.3 over the images judged."));
  EXPECT_THAT(verdict.words, HasSubstr("one training run: how far another seed would fall is not known"));
}

TEST_F(Verdicts, AShortcutThatIsUsedALittle) {
  const ShortcutVerdict verdict = verdict_of({.aligned = 0.95, .conflicting = 0.93, .images = 20000});
  EXPECT_EQ(verdict.finding, Finding::kUsedLittle);
  EXPECT_EQ(verdict.head, "the shortcut is still used, though little");
}

TEST_F(Verdicts, NoSignOfAShortcut) {
  EXPECT_EQ(verdict_of({.aligned = 0.9, .conflicting = 0.9, .images = 2000}).finding, Finding::kNotUsed);
  EXPECT_EQ(verdict_of({.aligned = 0.8, .conflicting = 0.9, .images = 2000}).finding, Finding::kNotUsed);
}

TEST_F(Verdicts, FewImagesCannotTell) {
  const ShortcutVerdict verdict = verdict_of({.aligned = 0.9, .conflicting = 0.9, .images = 40});
  EXPECT_EQ(verdict.finding, Finding::kCannotTell);
  EXPECT_THAT(verdict.words, HasSubstr("more images or more seeds would tell"));
}

TEST_F(Verdicts, ANetworkThatLearnedNothingIsNoProofOfFairness) {
  const ShortcutVerdict verdict = verdict_of({.aligned = 0.5, .conflicting = 0.5, .images = 8000});
  EXPECT_EQ(verdict.finding, Finding::kCannotTell);
  EXPECT_THAT(verdict.words, HasSubstr("not judged better than by chance (50.0 %)"));
}

TEST_F(Verdicts, WithoutAnIntervalItCannotBeTold) {
  write_run(path("run"));
  write_evaluation(path("run"), "knn", described("knn", {}, {{"test.aligned_acc", 0.9}, {"test.conflicting_acc", 0.2}}));
  read({"run"});
  const ShortcutVerdict verdict = shortcut_verdict(columns_, 0, rows_);
  EXPECT_EQ(verdict.finding, Finding::kCannotTell);
  EXPECT_THAT(verdict.words, HasSubstr("(kNN): a difference of 70.0 points. No interval is known"));
  EXPECT_EQ(verdict.command, "debias eval groups " + path("run"));
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
  EXPECT_THAT(verdict.words, HasSubstr("23.0 % of the bias-conflicting images are judged right, in the mean over the seeds"));
  EXPECT_THAT(verdict.words, HasSubstr("72.0 points, 95 % interval 63.0 to 81.0 over 3 seeds."));  // 4.303 * 0.036056 / sqrt(3)
  EXPECT_THAT(verdict.words, Not(HasSubstr("one training run")));
}

TEST_F(Verdicts, SeedsThatAgreeOnAFewImagesDoNotTellOfOthers) {
  read(write_seeds("ce", {0.75, 0.76, 0.75}, 1, 20));
  const ShortcutVerdict verdict = shortcut_verdict(columns_, 0, rows_);
  EXPECT_EQ(verdict.finding, Finding::kCannotTell);
  EXPECT_THAT(verdict.words, HasSubstr("seeds and images do not say the same"));
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
  EXPECT_THAT(words(0.959, true), testing::EndsWith("reads the bias value from the features of 95.9 % of the images, where chance would "
                                                    "give 10.4 %: the bias is in the features."));
  EXPECT_THAT(words(0.12, true), testing::EndsWith("little of the bias is in the features."));
  EXPECT_THAT(words(0.12, false), testing::EndsWith("The probe has not converged: it may read more."));
}

TEST_F(Verdicts, ADifferenceLargerThanTheSeedsSpread) {
  const auto verdicts = compare(write_seeds("ce", {0.20, 0.22, 0.27}), write_seeds("fairkl", {0.60, 0.63, 0.66}));
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].comparison, Comparison::kBetter);
  EXPECT_EQ(verdicts[0].head, "fairkl is better than ce, by more than the seeds' spread");
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
  EXPECT_EQ(verdicts[0].head, "fairkl and ce cannot be told apart");
  EXPECT_THAT(verdicts[0].words, HasSubstr("which is within the seeds' spread"));
}

TEST_F(Verdicts, OneSeedCannotTellWhichIsBetter) {
  auto verdicts = compare(write_seeds("ce", {0.20}), write_seeds("fairkl", {0.60}));
  EXPECT_EQ(verdicts[0].comparison, Comparison::kTooFewSeeds);
  EXPECT_EQ(verdicts[0].head, "which of fairkl-1 and ce-1 is better cannot be told");
  EXPECT_THAT(verdicts[0].words, HasSubstr("+40.0 points, with a single seed each."));
  verdicts = compare(write_seeds("ce", {0.20, 0.22}), {"fairkl-1"});
  EXPECT_EQ(verdicts[0].comparison, Comparison::kTooFewSeeds);
  EXPECT_THAT(verdicts[0].words, HasSubstr("with a single seed on one side."));
}

TEST_F(Verdicts, ARunThatIsStillTrainingIsComparedWithTheWordsThatItIs) {
  write_seeds("ce", {0.20});
  write_biased_run(path("fairkl-1"), {.conflicting = 0.6}, {.epochs = 4, .epochs_done = 2, .objective = "fairkl"});
  EXPECT_THAT(compare({"ce-1"}, {"fairkl-1"})[0].words, testing::EndsWith(" fairkl-1 stands at 2 of 4 epochs, unfinished."));
}

TEST_F(Verdicts, SeedsThatAllAgreeToTheLastImageSayNothingOfOthers) {
  const auto verdicts = compare(write_seeds("ce", {0.5, 0.5, 0.5}), write_seeds("fairkl", {0.625, 0.625, 0.625}));
  EXPECT_EQ(verdicts[0].comparison, Comparison::kTooFewSeeds);
  EXPECT_THAT(verdicts[0].words, HasSubstr("+12.5 points in every seed"));
}

TEST_F(Verdicts, RunsAreComparedWithThoseThatWereJudgedByTheSame) {
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
  EXPECT_THAT(verdicts[0].words, HasSubstr("judged on the same test data"));
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

}  // namespace verdict_test
}  // namespace debias

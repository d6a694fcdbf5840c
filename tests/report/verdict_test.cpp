#include "debias/report/sections/verdict.h"

#include "debias/report/recipe_facts.h"
#include "debias/report/sections/first_screen.h"
#include "debias/report/seed_interval.h"
#include "tests/report/reports.h"

namespace debias::verdict_test {

class Verdicts : public Reports {
 protected:
  void read(const std::vector<std::string>& names) {
    runs_ = Reports::read(names);
    columns_ = run_columns(runs_);
    rows_ = key_numbers(columns_);
  }
  // Of one run with these groups.
  ShortcutVerdict verdict_of(const BiasShape& bias) {
    write_biased_run("run", bias);
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
      write_biased_run(names.back(), {.aligned = 0.95, .conflicting = conflicting[i], .images = images}, {.seed = seed, .objective = name});
    }
    return names;
  }
  std::vector<ComparisonVerdict> compare(std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    read(a);
    return comparison_verdicts(columns_, rows_);
  }

  std::vector<RunRecord> runs_;
  std::vector<RunColumn> columns_;
  std::vector<NumberRow> rows_;
};

struct ShortcutCase {
  BiasShape bias;
  Finding finding;
  std::string head;
  std::vector<std::string> words;  // of the sentence and its details
};

TEST_F(Verdicts, OfOneRunGoByTheDifferenceAndItsInterval) {
  const std::string still = "the shortcut is still used ";
  // Newcombe's interval of 780/800 and 160/800 by hand: Wilson [0.9617, 0.9838] and [0.1738, 0.2291].
  const std::vector<ShortcutCase> cases = {
      {{.aligned = 0.975, .conflicting = 0.2, .images = 800},
       Finding::kUsed,
       still + "very strongly",
       {"Conflicting images 20 %, aligned ones 98 % right: 77 points apart (74 to 80).",
        "Very strong difference of 77.5 points, 95 % interval 74.3 to 80.3 over the evaluated images (other images, the same network).",
        "The shortcut: bias label red belongs to class cat, blue with dog.",
        "The worst group is class cat with bias label blue: 20.0 % of its 400 images."}},
      {{.aligned = 0.95, .conflicting = 0.32, .images = 20000}, Finding::kUsed, still + "very strongly", {}},
      {{.aligned = 0.95, .conflicting = 0.70, .images = 20000}, Finding::kUsed, still + "strongly", {}},
      {{.aligned = 0.95, .conflicting = 0.81, .images = 20000}, Finding::kUsed, still + "moderately", {}},
      {{.aligned = 0.95, .conflicting = 0.93, .images = 20000}, Finding::kUsedLittle, still + "slightly", {}},
      {{.aligned = 0.9, .conflicting = 0.9, .images = 2000}, Finding::kNotUsed, "", {}},
      {{.aligned = 0.8, .conflicting = 0.9, .images = 2000},
       Finding::kOverCorrected,
       "moderate over-correction",
       {"aligned ones 80 % right: 10 points fewer (-12 to -8)", "Moderate difference of -10.0 points, 95 % interval -12.2 to -7.8",
        "Bias-conflicting images are recognised more often than bias-aligned ones"}},
      {{.aligned = 0.9, .conflicting = 0.9, .images = 40},
       Finding::kCannotTell,
       "up to 15 points of the shortcut may be left",
       {"evaluate more images or train more seeds"}},
      {{.aligned = 0.5, .conflicting = 0.5, .images = 8000}, Finding::kCannotTell, "", {"not classified better than by chance (50.0 %)"}}};
  for (const auto& [bias, finding, head, words] : cases) {
    const ShortcutVerdict verdict = verdict_of(bias);
    EXPECT_EQ(verdict.finding, finding) << verdict.head;
    EXPECT_EQ(verdict.difference.over, Coverage::kImages);
    EXPECT_NEAR(verdict.difference.mean, bias.aligned - bias.conflicting, 1e-12);
    if (!head.empty()) {
      EXPECT_EQ(verdict.head, head);
    }
    expect_parts(verdict.words + " " + verdict.details, words);
  }
  EXPECT_EQ(verdict_of({.aligned = 0.95, .conflicting = 0.91, .images = 20000}).head, still + "slightly");
  EXPECT_EQ(enum_name(Finding::kOverCorrected), "over_corrected");
}

TEST_F(Verdicts, WithoutAnIntervalItIsInconclusive) {
  write_run("run");
  write_evaluation("run", "knn", described("knn", {}, {{"test.aligned_acc", 0.9}, {"test.conflicting_acc", 0.2}}));
  read({"run"});
  const ShortcutVerdict verdict = shortcut_verdict(columns_, 0, rows_);
  EXPECT_EQ(verdict.finding, Finding::kCannotTell);
  EXPECT_EQ(verdict.words, "Conflicting images 20 %, aligned ones 90 % right: 70 points apart.");
  EXPECT_EQ(verdict.head, "use of the shortcut has no interval yet");
  EXPECT_EQ(verdict.next.command, "debias eval groups run");
}

TEST_F(Verdicts, WithoutBiasValuesOrATestNothingIsSaid) {
  write_run("unbiased");
  read({"unbiased"});
  EXPECT_EQ(shortcut_verdict(columns_, 0, rows_).finding, Finding::kNoBias);
  EXPECT_EQ(shortcut_verdict(columns_, 0, rows_).head, "no bias information");
  write_run("untested", {.epochs_done = 0});
  read({"untested"});
  EXPECT_EQ(shortcut_verdict(columns_, 0, rows_).finding, Finding::kNoTest);
  EXPECT_EQ(shortcut_verdict(columns_, 0, rows_).head, "not tested");
}

TEST_F(Verdicts, OfSeveralSeedsTheIntervalIsOverTheSeeds) {
  const auto of_seeds = [&](const std::string& name, const std::vector<double>& conflicting, int64_t images) {
    read(write_seeds(name, conflicting, 1, images));
    return shortcut_verdict(columns_, 0, rows_);
  };
  const ShortcutVerdict verdict = of_seeds("ce", {0.20, 0.22, 0.27}, 4000);
  EXPECT_EQ(verdict.finding, Finding::kUsed);
  EXPECT_EQ(verdict.words, "Conflicting images 23 %, aligned ones 95 % right: 72 points apart (63 to 81).");
  EXPECT_THAT(verdict.details,
              StartsWith("Very strong difference of 72.0 points, 95 % interval 63.0 to 81.0 over 3 seeds (further trainings), "
                         "and "));  // 4.303 * 0.036056 / sqrt(3)
  EXPECT_EQ(of_seeds("over", {0.98, 0.985, 0.982}, 4000).finding, Finding::kOverCorrected);
  const ShortcutVerdict few = of_seeds("few", {0.75, 0.76, 0.75}, 20);
  EXPECT_EQ(few.finding, Finding::kCannotTell);
  EXPECT_EQ(few.head, "seeds and images disagree on the shortcut");
}

TEST_F(Verdicts, AProbeStandsBesideChance) {
  write_biased_run("run", {});
  const auto words = [&](double probe, bool converged) {
    auto geometry =
        described("geometry", {}, {{"test.bias_probe_acc1", probe}, {"test.bias_majority_rate", 0.05}, {"test.bias_uniform_rate", 0.104}});
    geometry["bias_probe"] = {{"converged", converged}};
    write_evaluation("run", "geometry", geometry);
    read({"run"});
    return shortcut_verdict(columns_, 0, rows_).details;
  };
  EXPECT_THAT(words(0.959, true), EndsWith("predicts the bias label from the features of 95.9 % of the images, where chance gives "
                                           "10.4 %: the bias is in the features."));
  EXPECT_THAT(words(0.12, true), EndsWith("little of the bias is in the features."));
  EXPECT_THAT(words(0.12, false), EndsWith("The probe has not converged, so it may predict more."));
}

struct ComparisonCase {
  std::vector<double> ce, fairkl;  // accuracies of conflicting images by seed
  int64_t first_seed;              // of fairkl
  int64_t images;
  Comparison comparison;
  std::string head;
  std::vector<std::string> words;
};

TEST_F(Verdicts, OfTwoSettingsGoByTheDifferenceAndItsInterval) {
  const std::vector<ComparisonCase> cases = {
      {{0.20, 0.22, 0.27},
       {0.60, 0.63, 0.66},
       1,
       4000,
       Comparison::kBetter,
       "fairkl is better than ce, beyond the variation over seeds",
       // Pairs 0.40, 0.41, 0.39: 4.303 * 0.01 / sqrt(3).
       {"Conflicting images 23 → 63 % (+40, 38 to 42), aligned ones +0.",
        "Precisely +40.0 points, 95 % interval +37.5 to +42.5 over the same 3 seeds.", "On bias-aligned images: +0.0 points."}},
      {{0.20, 0.22, 0.27}, {0.60, 0.63, 0.66}, 11, 4000, Comparison::kBetter, "", {"over at least 3 seeds"}},  // which are not paired
      {{0.20, 0.40, 0.30},
       {0.35, 0.30, 0.34},
       1,
       4000,
       Comparison::kAlike,
       "no difference between fairkl and ce is shown",
       {"within the variation over seeds"}},
      {{0.5, 0.5, 0.5}, {0.625, 0.625, 0.625}, 1, 4000, Comparison::kTooFewSeeds, "", {"(+13)", "It is the same in every seed."}},
      {{0.20, 0.22}, {0.60}, 1, 4000, Comparison::kTooFewSeeds, "", {"With a single seed on one side,"}},
      {{0.60}, {0.64}, 1, 100, Comparison::kAlike, "", {}},
      // Newcombe's interval of 2400/4000 less 800/4000; without marks as of different images.
      {{0.20},
       {0.60},
       1,
       4000,
       Comparison::kBetterOnImages,
       "of these two runs fairkl-1 is better than ce-1",
       {"Conflicting images 20 → 60 % (+40, 38 to 42)",
        "+40.0 points, 95 % interval +38.0 to +41.9 over 4000 images each, taken as different ones, beyond which other seeds may "
        "differ."}}};
  for (const auto& [ce, fairkl, first, images, comparison, head, words] : cases) {
    const auto verdicts = compare(write_seeds("ce", ce, 1, images), write_seeds("fairkl", fairkl, first, images));
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_EQ(verdicts[0].comparison, comparison) << verdicts[0].head;
    if (!head.empty()) {
      EXPECT_EQ(verdicts[0].head, head);
    }
    expect_parts(verdicts[0].words + " " + verdicts[0].details, words);
    if (ce.size() > 1) continue;
    EXPECT_EQ(verdicts[0].difference.over, Coverage::kImages);
    EXPECT_EQ(verdicts[0].next.command,
              "debias train fairkl-1 --seeds 3 output=fairkl-1-seeds && debias train ce-1 --seeds 3 output=ce-1-seeds");
  }
}

// 16 conflicting images, of which one run alone is right on 9 and the other on none: McNemar's p is 2/2^9.
TEST_F(Verdicts, OfOneSeedEachImagesThatBothWereEvaluatedOnArePaired) {
  write_biased_run("ce", {.aligned = 0.5, .conflicting = 0.25, .images = 16}, {.objective = "ce"});
  write_biased_run("fairkl", {.aligned = 0.5, .conflicting = 0.8125, .images = 16}, {.objective = "fairkl"});
  const auto mark = [&](const std::string& name, const std::string& conflicting) {
    auto groups = nlohmann::ordered_json::parse(file_text(name + "/evaluation/groups.json"));
    groups["marks"]["test"] = "AAAAAAAAaaaaaaaa" + conflicting;
    write_evaluation(name, "groups", groups);
  };
  mark("ce", "CCCCcccccccccccc");
  mark("fairkl", "CCCCCCCCCCCCCccc");
  auto verdicts = compare({"ce"}, {"fairkl"});
  EXPECT_EQ(verdicts[0].comparison, Comparison::kBetterOnImages);
  EXPECT_EQ(verdicts[0].difference.over, Coverage::kPairedImages);
  EXPECT_NEAR(verdicts[0].p, 2.0 / 512, 1e-12);
  EXPECT_THAT(verdicts[0].details, HasSubstr("over 16 images, the same of both"));
  EXPECT_THAT(verdicts[0].details, HasSubstr("On bias-aligned images: +0.0 points, 95 % interval"));
  mark("fairkl", "CCCCCCCCCCCCcccc");  // of other predictions than the numbers are of
  EXPECT_EQ(compare({"ce"}, {"fairkl"})[0].difference.over, Coverage::kImages);
}

TEST_F(Verdicts, ARunThatIsStillTrainingIsComparedWithTheWordsThatItIs) {
  write_seeds("ce", {0.20});
  write_biased_run("fairkl-1", {.conflicting = 0.6}, {.epochs = 4, .epochs_done = 2, .objective = "fairkl"});
  EXPECT_THAT(compare({"ce-1"}, {"fairkl-1"})[0].details, EndsWith(" fairkl-1 has trained 2 of 4 epochs, unfinished."));
}

TEST_F(Verdicts, RunsAreComparedWithThoseThatWereEvaluatedByTheSame) {
  std::vector<std::string> by_knn = write_seeds("infonce", {0.60, 0.61, 0.59}), by_classifier = write_seeds("ce", {0.20, 0.21, 0.22});
  for (const auto& run : write_seeds("debiased", {0.70, 0.72, 0.69})) by_knn.push_back(run);
  for (const auto& run : write_seeds("fairkl", {0.60, 0.59, 0.61})) by_classifier.push_back(run);
  for (const auto& run : by_knn) {
    auto groups = nlohmann::ordered_json::parse(file_text(run + "/evaluation/groups.json"));
    groups["predictions"] = "knn";
    write_evaluation(run, "groups", groups);
  }
  for (const auto& run : by_classifier) {  // has no accuracy by kNN
    std::string metrics = file_text(run + "/metrics.jsonl");
    for (size_t at; (at = metrics.find("test.knn_acc1")) != std::string::npos;) metrics.replace(at, 13, "test.unnamed");
    write_text(run + "/metrics.jsonl", metrics);
  }
  const auto verdicts = compare(by_knn, by_classifier);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_THAT(verdicts[0].head, HasSubstr("fairkl is better than ce"));
  EXPECT_THAT(verdicts[1].head, HasSubstr("debiased is better than infonce"));
}

TEST_F(Verdicts, RunsOnOtherDataAreNotCompared) {
  write_seeds("ce", {0.20});
  write_seeds("fairkl", {0.60});
  auto groups = nlohmann::ordered_json::parse(file_text("ce-1/evaluation/groups.json"));
  groups["data"]["test"]["correlation"] = 0.5;
  write_evaluation("ce-1", "groups", groups);
  const auto verdicts = compare({"ce-1"}, {"fairkl-1"});
  EXPECT_EQ(verdicts[0].comparison, Comparison::kNotComparable);
  EXPECT_THAT(verdicts[0].words, HasSubstr("evaluated on the same test data"));
}

// As those of make demo: two with a shortcut, two on other images without one.
TEST_F(Verdicts, RunsAreComparedWithThoseOnTheSameData) {
  const std::vector<std::string> names = {"ce", "fairkl", "infonce", "debiased", "alone"};
  for (size_t i = 0; i < names.size(); ++i) {
    write_biased_run(names[i], {.conflicting = 0.2 + 0.1 * static_cast<double>(i)}, {.objective = names[i]});
    auto groups = nlohmann::ordered_json::parse(file_text(names[i] + "/evaluation/groups.json"));
    groups["data"]["test"] = {{"name", "glyphs"}, {"correlation", i < 2 ? 0.9 : i < 4 ? 0.1 : 0.5}};
    write_evaluation(names[i], "groups", groups);
  }
  const auto verdicts = compare({names[0], names[2], names[1]}, {names[3], names[4]});
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_EQ(verdicts[0].head, "of these two runs fairkl is better than ce");
  EXPECT_EQ(verdicts[1].head, "of these two runs debiased is better than infonce");
  EXPECT_EQ(verdicts[2].head, "alone cannot be compared with the others");
  const ReportData data(runs_);
  const FirstScreen screen = first_screen(data, verdicts);
  EXPECT_THAT(screen.verdict, StartsWith("fairkl recognises more conflicting images than ce, yet keeps the shortcut"));
  EXPECT_EQ(screen.rows[*screen.best].label, "fairkl");  // not the highest of all, on other images
}

// Frames of a burst are alike: 1,600 images in 100 bursts count as 100, if no file says which image is in which.
TEST_F(Verdicts, OfImagesInGroupsHaveIntervalsOverTheGroups) {
  write_biased_run("run", {.aligned = 0.975, .conflicting = 0.2, .images = 800});
  auto groups = nlohmann::ordered_json::parse(file_text("run/evaluation/groups.json"));
  groups["counts"] = {{"test", 1600}};
  groups["group_counts"] = {{"test", 100}};
  groups["groups_from"] = "column burst";
  write_evaluation("run", "groups", groups);
  read({"run"});
  const ShortcutVerdict verdict = shortcut_verdict(columns_, 0, rows_);
  EXPECT_EQ(verdict.difference.over, Coverage::kGroups);
  // Newcombe's of 0.975 and 0.2, 50 each, by hand: Wilson [0.8874, 0.9948] and [0.1124, 0.3304].
  EXPECT_NEAR(verdict.difference.low, 0.6179, 5e-4);
  EXPECT_NEAR(verdict.difference.high, 0.8648, 5e-4);
  EXPECT_THAT(verdict.details, HasSubstr("over the 100 groups (column burst) of the evaluated images (other groups, the same network)"));
  EXPECT_THAT(html({"run"}), HasSubstr("95 % intervals cover other groups (column burst) and the same network, not other seeds."));
  write_biased_run("alone", {.aligned = 0.975, .conflicting = 0.3, .images = 800});
  EXPECT_THAT(html({"run", "alone"}), HasSubstr("95 % intervals cover other groups (column burst) where runs have them, else images and"));
}

TEST_F(Verdicts, OfTwoRunsOnImagesInGroupsCompareThemGroupByGroup) {
  const auto compared = [&](int64_t of_group) {
    for (const bool second : {false, true}) {
      std::string marks, group_of;
      for (int64_t i = 0; i < 400; ++i) {  // of the conflicting ones 20 % right, of the second run 30 %
        marks += i < 200 ? 'A' : i < (second ? 260 : 240) ? 'C' : 'c';
        group_of += fmt::format("{}{}", i == 0 ? "" : " ", i / of_group);
      }
      const std::string name = second ? "b" : "a";
      write_biased_run(name, {.aligned = 1, .conflicting = second ? 0.3 : 0.2, .images = 200}, {.objective = name});
      auto groups = nlohmann::ordered_json::parse(file_text(name + "/evaluation/groups.json"));
      groups["marks"] = {{"test", marks}};
      groups["counts"] = {{"test", 400}};
      if (of_group > 1) {
        groups["group_counts"] = {{"test", 400 / of_group}};
        groups["groups_from"] = "column burst";
        groups["group_of"] = {{"test", group_of}};
      }
      write_evaluation(name, "groups", groups);
    }
    return compare({"a"}, {"b"}).at(0);
  };
  const ComparisonVerdict by_image = compared(1), by_group = compared(20);  // 20 images differ: 20 of 200, or 1 group of 10
  EXPECT_EQ(by_image.comparison, Comparison::kBetterOnImages);
  EXPECT_EQ(by_image.difference.over, Coverage::kPairedImages);
  EXPECT_EQ(by_group.comparison, Comparison::kAlike);
  EXPECT_EQ(by_group.difference.over, Coverage::kPairedGroups);
  EXPECT_LT(by_group.difference.low, 0);
  EXPECT_THAT(by_group.details, HasSubstr("over 200 images, the same of both, by their groups (column burst)"));
}

TEST_F(Verdicts, PredictionsOfOthersAreNotCompared) {
  write_biased_run("a", {.conflicting = 0.2}, {.objective = "infonce"});
  write_biased_run("b", {.conflicting = 0.9, .predictions = "knn"});
  const auto verdicts = compare({"a"}, {"b"});  // what both have is the kNN accuracy of training
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_THAT(verdicts[0].words, StartsWith("kNN "));
  EXPECT_THAT(verdicts[0].words, Not(HasSubstr("90 %")));
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
    EXPECT_THAT(verdict.details, HasSubstr("Adjusted for 3 comparisons, of which the best was chosen (Holm): p = "));
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
  write_run("run");
  std::string recipe = file_text("run/config.yaml");
  for (size_t at; (at = recipe.find(", correlation")) != std::string::npos;) recipe.erase(at, std::string(", correlation: 0.1").size());
  write_text("run/config.yaml", recipe);
  read({"run"});
  const ShortcutVerdict unknown = shortcut_verdict(columns_, 0, rows_);
  EXPECT_EQ(unknown.finding, Finding::kNoBias);
  EXPECT_EQ(unknown.next.command, "debias eval groups run --labels FILE.csv");
  EXPECT_THAT(unknown.details, HasSubstr("debias audit FOLDER"));
  write_text("run/classes.json", R"({"classes": ["cat", "dog"], "biases": ["red", "blue"]})");
  read({"run"});
  EXPECT_EQ(shortcut_verdict(columns_, 0, rows_).next.command, "debias eval groups,geometry run");
}

// The classifier's accuracy on training batches is `acc1` of the epoch lines.
TEST_F(Verdicts, FarBetterOnTrainingThanOnTestImagesIsASignOfAShortcut) {
  const auto verdict = [&](const std::string& more) {
    write_run("run");
    write_text("run/metrics.jsonl", R"({"epoch":4,"train_loss":1,"acc1":0.94,"test.acc1":0.28)" + more + "}\n");
    read({"run"});
    return shortcut_verdict(columns_, 0, rows_);
  };
  const ShortcutVerdict sign = verdict("");
  EXPECT_EQ(sign.head, "no bias information, but a sign of a shortcut");
  expect_parts(sign.details, {"right on 94.0 % of the training images and on 28.0 % of the test images: a sign of a shortcut",
                              "Overfitting looks the same"});
  EXPECT_THAT(verdict(R"(,"valid.acc1":0.91)").details, HasSubstr("that were held out it is right on 91.0 %, so it is not overfitting"));
  EXPECT_THAT(verdict(R"(,"valid.acc1":0.33)").details, HasSubstr("which is overfitting, not a sign of a shortcut"));
  EXPECT_EQ(verdict(R"(,"valid.acc1":0.33)").head, "no bias information");
}

TEST_F(Verdicts, NextStepsHaveTheMinutesOfTheRunsOwnTraining) {
  write_biased_run("run", {});
  write_text("run/times.jsonl", R"({"epoch":1,"seconds":120,"count":400,"counted":"images"})"
                                "\n"
                                R"({"epoch":2,"seconds":130,"count":400,"counted":"images"})"
                                "\n");
  read({"run"});
  const NextStep next = shortcut_verdict(columns_, 0, rows_).next;
  EXPECT_EQ(step_words(next),
            fmt::format("Next, for an interval over seeds: debias train {0} --seeds 3 output={0}-seeds (about 12 minutes)", "run"));
  fs::create_directories("run-seeds");
  read({"run"});
  EXPECT_THAT(shortcut_verdict(columns_, 0, rows_).next.command, EndsWith("output=run-seeds-2"));
}

TEST_F(Verdicts, FurtherSeedsGoBesideTheGroupThatTheRunIsIn) {
  const auto step_of = [&](const std::string& run) {
    write_biased_run(run, {});
    read({run});
    return shortcut_verdict(columns_, 0, rows_).next.command;
  };
  const std::string record = R"({"metric": "", "grid": [], "runs": []})";
  write_text("seeds/sweep.json", record);
  EXPECT_THAT(step_of("seeds/seed-4"), EndsWith(" output=seeds-seeds"));
  fs::create_directories("seeds-seeds");
  EXPECT_THAT(step_of("seeds/seed-4"), EndsWith(" output=seeds-seeds-2"));
  write_text("sweep/sweep.json", record);
  EXPECT_THAT(step_of("sweep/wide/seed-1"), EndsWith(" output=sweep-wide-seeds"));
  EXPECT_THAT(step_of("sweep/deep/seed-1"), EndsWith(" output=sweep-deep-seeds"));
  write_text("sweep/deep/seed-1-seeds/sweep.json", record);  // where earlier versions advised to put it
  EXPECT_THAT(step_of("sweep/deep/seed-1-seeds/seed-2"), EndsWith(" output=sweep-deep-seed-1-seeds-seeds"));
}

}  // namespace debias::verdict_test

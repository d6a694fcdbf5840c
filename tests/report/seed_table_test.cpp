// Tables over seeds: means, paired differences, what is published, and what may not stand beside each other.
#include "debias/report/tables/seed_table.h"

#include "debias/report/sections/comparison_section.h"
#include "debias/report/tables/seed_table_text.h"
#include "debias/report/tables/table_differences.h"
#include "tests/report/seed_table_fixture.h"

namespace debias::seed_table_test {

TEST_F(SeedTables, HaveTheMeanAndStudentsIntervalOfEachSetting) {
  two_settings();
  const SeedTable found = table();
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].label, "a");
  EXPECT_THAT(found.rows[0].seeds, ElementsAre("1", "2", "3"));
  EXPECT_DOUBLE_EQ(found.rows[0].interval.mean, 0.7);
  EXPECT_NEAR(found.rows[0].interval.half_width, 4.30265273 * 0.1 / std::sqrt(3.0), 1e-8);  // t of 2 degrees at 0.975
  EXPECT_EQ(found.epoch, "last epoch");
  EXPECT_DOUBLE_EQ(found.rows[0].published->value, 0.9);
  EXPECT_DOUBLE_EQ(*found.rows[0].published->spread, 0.01);
  EXPECT_EQ(found.rows[0].published->source, "Table 3");
  EXPECT_DOUBLE_EQ(found.rows[0].minutes, 2);
}

TEST_F(SeedTables, PairDifferencesBySeed) {
  two_settings();
  const SeedTable found = table();
  ASSERT_EQ(found.differences.size(), 1u);
  EXPECT_EQ(found.differences[0].a, 1u);
  EXPECT_TRUE(found.differences[0].paired);
  EXPECT_NEAR(found.differences[0].interval.mean, 0.03, 1e-12);
  EXPECT_NEAR(found.differences[0].interval.half_width, 4.30265273 * 0.01 / std::sqrt(3.0), 1e-8);
}

TEST_F(SeedTables, SayWhatBecomesOfThePublishedOrdering) {
  two_settings();
  const SeedTable contradicted = table();
  ASSERT_EQ(contradicted.ordering.size(), 1u);
  EXPECT_EQ(contradicted.rows[contradicted.ordering[0].a].label, "a");  // published as the better one
  EXPECT_NEAR(contradicted.ordering[0].published->mean, 0.1, 1e-12);
  EXPECT_EQ(contradicted.ordering[0].published->outcome, Outcome::kContradicted);
  EXPECT_EQ(
      ordering_words(contradicted),
      "Published orderings: 1; inconclusive in the paper itself: 0. The others, each tested alone at 5 %: 0 confirmed, 1 contradicted, 0 "
      "inconclusive; adjusted for the number of tests (Holm): 0 confirmed, 1 contradicted, 0 inconclusive. 1 published differences are "
      "taken as they are: a test of them needs `spread` and `runs` in `expected`.");
}

// Of two settings, the first published as 0.1 and the second as 0.3.
TEST_F(SeedTables, TakeTheSmallerPublishedNumberAsBetterWhereLowerIsBetter) {
  const std::string metric = "test.equalized_odds_difference";
  for (const auto& [variant, published] : {std::pair{"a", 0.1}, std::pair{"b", 0.3}}) {
    for (int seed = 1; seed <= 3; ++seed)
      add({.variant = variant, .seed = std::to_string(seed), .accuracy = 0.5, .published = published, .metric = metric});
  }
  const auto with_a_at = [&](double a) {
    for (size_t run = 0; run < 6; ++run)
      evaluate(run, "groups", "{}", metric, run < 3 ? a + 0.01 * static_cast<double>(run) : 0.4 + 0.011 * static_cast<double>(run - 3));
    return table(of_metrics({metric}));
  };
  const SeedTable found = with_a_at(0.2);
  ASSERT_EQ(found.ordering.size(), 1u);
  EXPECT_EQ(found.rows[found.ordering[0].a].label, "a");
  EXPECT_NEAR(found.ordering[0].published->mean, -0.2, 1e-12);
  EXPECT_NEAR(found.ordering[0].interval.mean, -0.201, 1e-12);
  EXPECT_EQ(found.ordering[0].published->outcome, Outcome::kConfirmed);
  EXPECT_THAT(seed_table_text(found, TableFormat::kText), HasSubstr("-20.00  confirmed\n"));
  EXPECT_EQ(to_json(found)["ordering"][0]["expected"], found.ordering[0].published->mean);
  EXPECT_EQ(with_a_at(0.6).ordering[0].published->outcome, Outcome::kContradicted);
}

TEST(MetricTitle, SaysOfLossesAndDifferencesThatLowerIsBetter) {
  const auto titles = reading_program().titles;
  for (const char* metric : {"train_loss", "test.mean_classifier_loss", "test.demographic_parity_difference"})
    EXPECT_TRUE(titles->lower_is_better(metric)) << metric;
  for (const char* metric : {"test.knn_acc1", "return_mean", "test.alignment", "effective_sample_size"})
    EXPECT_FALSE(titles->lower_is_better(metric)) << metric;
}

TEST_F(SeedTables, LeaveAnOrderingInconclusiveThatOneSeedCannotTell) {
  add({.variant = "a", .size = "", .seed = "1", .accuracy = 0.5, .published = 0.9});
  add({.variant = "b", .size = "", .seed = "1", .accuracy = 0.3, .published = 0.8});
  EXPECT_EQ(table().ordering.at(0).published->outcome, Outcome::kInconclusive);
  EXPECT_THAT(to_json(table())["differences"][0]["half_width"].dump(), "null");
}

TEST_F(SeedTables, OfOneSharedSeedCompareMeansOfDifferentSeeds) {
  for (int seed = 1; seed <= 3; ++seed) add({.variant = "a", .size = "", .seed = std::to_string(seed), .accuracy = 0.5 + 0.01 * seed});
  for (int seed = 3; seed <= 5; ++seed) add({.variant = "b", .size = "", .seed = std::to_string(seed), .accuracy = 0.6 + 0.01 * seed});
  const SeedTable found = table();
  EXPECT_FALSE(found.differences.at(0).paired);
  EXPECT_EQ(found.differences[0].interval.n, 3);
  EXPECT_NEAR(found.differences[0].interval.mean, 0.12, 1e-12);
  EXPECT_GT(found.differences[0].interval.half_width, 0);
}

TEST_F(SeedTables, SayThatTestImagesChoseTheEpochOfAProbe) {
  const auto evaluate = [](const std::string& path, const std::string& protocol, const std::string& selected_on, const std::string& data) {
    auto json = described(protocol, {}, {{"test.linear_acc1", 0.5}, {"test.linear_last_acc1", 0.4}});
    json["train_loss"] = 0.1;
    if (!selected_on.empty()) json["selected_on"] = selected_on;
    write_evaluation(path, protocol + data, json);
    return seed_table(read_compared_runs({path}, reading_program()), of_metrics({"test.linear_acc1"})).notes;
  };
  const auto evaluated_by = [&](const std::string& protocol, const std::string& selected_on) {
    const std::string path = folder_ / (protocol + selected_on);
    write_run(path);
    return evaluate(path, protocol, selected_on, "");
  };
  EXPECT_THAT(evaluated_by("linear_supcon", "test"), ElementsAre(AllOf(HasSubstr("chosen by the evaluated images"),
                                                                       HasSubstr("test.linear_last_acc1 is that of its last epoch"))));
  EXPECT_THAT(evaluated_by("linear_dcl", ""), IsEmpty());
  EXPECT_THAT(evaluated_by("linear_supcon", "valid"), IsEmpty());
  EXPECT_THAT(evaluate("linear_dcl", "linear_supcon", "test", "-other"), IsEmpty());  // on another data set
}

TEST_F(SeedTables, TellSettingsOfSeveralSweepsApart) {
  two_settings();
  compared();
  open_sweep_record({"", "other", "test.acc1", {}, {"1"}, plan_.points, plan_.runs});
  std::vector<std::string> labels;
  for (const auto& row : read_compared_runs({"sweep", "other"}, reading_program()).rows) labels.push_back(row.label);
  const std::string first = fs::path("sweep").filename();
  EXPECT_THAT(labels, ElementsAre(first + ": a", first + ": b", "other: a", "other: b"));
}

TEST_F(SeedTables, TellSweepsOfOneNameInTwoFoldersApart) {
  two_settings();
  compared();
  const std::string other = "moved/sweep";
  open_sweep_record({"", other, "test.acc1", {}, {"1"}, plan_.points, plan_.runs});
  std::vector<std::string> labels;
  for (const auto& row : read_compared_runs({"sweep", other}, reading_program()).rows) labels.push_back(row.label);
  ASSERT_EQ(labels.size(), 4u);
  EXPECT_EQ(labels[2], "moved/sweep: a");
  EXPECT_THAT(labels[0], AllOf(EndsWith("/sweep: a"), Not(labels[2])));
}

TEST_F(SeedTables, TakeMetricAndPublishedNumbersFromTheSweepsFileWhereItIsGiven) {
  two_settings();
  compared();
  const std::string file = "sweep.yaml";
  const auto write_sweep = [&](const std::string& more) { write_text(file, "base: {}\nvariants: {a: {}, b: {}}\noutput: sweep\n" + more); };
  const auto of_file = [&] { return seed_table(read_compared_runs({file}, reading_program()), {}); };
  write_sweep("metric: valid.acc1\nexpected: [{variant: b, value: 0.25, source: corrected}]\n");
  const SeedTable found = of_file();
  EXPECT_EQ(found.metric, "valid.acc1");
  EXPECT_FALSE(found.rows[0].published);
  EXPECT_EQ(found.rows[1].published->source, "corrected");
  write_sweep("");
  EXPECT_EQ(of_file().metric, "test.acc1");                   // as of sweep.json
  EXPECT_EQ(of_file().rows[0].published->source, "Table 3");  // of the base's own setting
  write_text(file, "base: {}\nvariants: {a: {seed2: 1}, b: {seed2: 2}}\noutput: sweep\n");
  EXPECT_FALSE(of_file().rows[0].published);
}

TEST_F(SeedTables, SayThatSeedsHaveOtherPublishedNumbers) {
  add({.variant = "a", .size = "", .seed = "1", .accuracy = 0.5, .published = 0.9});
  add({.variant = "a", .size = "", .seed = "2", .accuracy = 0.5, .published = 0.8});
  EXPECT_THAT(table().notes, ElementsAre(HasSubstr("runs of 'a' have different published numbers in their recipes")));
}

TEST_F(SeedTables, SayThatAPublishedShareIsAboveOne) {
  add({.variant = "a", .size = "", .seed = "1", .accuracy = 0.5, .published = 94.2});
  EXPECT_THAT(table().notes, ElementsAre("published for 'a' is 94.2, but test.acc1 is a share, from 0 to 1: write 0.942 in `expected`"));
}

TEST_F(SeedTables, SayThatRunsHaveNoNumber) {
  two_settings();
  evaluate(0, "mean_classifier", "{}", "test.mean_classifier_acc1", 0.5);
  const SeedTable found = table(of_metrics({"test.mean_classifier_acc1"}));
  EXPECT_EQ(found.rows[0].values.size(), 1u);
  EXPECT_THAT(found.notes, ElementsAre("5 of 6 runs have no number at the last epoch and are left out"));
}

TEST_F(SeedTables, WriteEachNumberInTheUnitOfItsMetric) {
  add({.variant = "a", .size = "", .seed = "1", .accuracy = 0.5});
  add({.variant = "b", .size = "", .seed = "1", .accuracy = 0.5});
  write_text("sweep/" + plan_.runs[1].name() + "/metrics.jsonl", "{\"epoch\":2,\"test.rankme\":24.25}\n");
  for (const auto& metrics : {std::vector<std::string>{"test.acc1", "test.rankme"}, {"test.rankme", "test.acc1"}}) {
    EXPECT_THAT(seed_table_text(table(of_metrics(metrics)), TableFormat::kText),
                AllOf(HasSubstr("setting          seeds     mean\na (test.acc1)        1  50.00 %\nb (test.rankme)      1  24.2500\n"),
                      Not(HasSubstr("mean %"))));
  }
}

TEST_F(SeedTables, CompareVariantsAtTheSamePointOfTheGridOnly) {
  for (const char* variant : {"a", "b"}) {
    for (const char* size : {"16", "32"})
      add({.variant = variant, .size = size, .seed = "1", .accuracy = 0.5, .published = 0.5 + (*size == '1' ? 0.1 : 0.2)});
  }
  const SeedTable found = table();
  ASSERT_EQ(found.differences.size(), 2u);
  for (const auto& difference : found.differences) EXPECT_EQ(found.rows[difference.a].grid, found.rows[difference.b].grid);
  EXPECT_TRUE(found.ordering.empty());  // published as equal where they are compared
  EXPECT_EQ(table(against("a, batch_size 32")).differences.size(), 3u);
  EXPECT_THAT(refusal(against("a, batch_size 33")), HasSubstr("no such row; did you mean 'a, batch_size 32'?"));
}

TEST_F(SeedTables, WithoutVariantsCompareSettingsOfTheSameDataOnly) {
  double published = 0.5;
  for (const char* correlation : {"0.9", "0.99"}) {
    for (const char* size : {"16", "32"})
      add({.variant = "", .size = size, .seed = "1", .accuracy = 0.5, .published = published += 0.1, .correlation = correlation});
  }
  const SeedTable found = table();
  ASSERT_EQ(found.differences.size(), 2u);
  EXPECT_EQ(found.differences[0].b, 0u);
  EXPECT_EQ(found.differences[1].a, 3u);
  EXPECT_EQ(found.differences[1].b, 2u);
  ASSERT_EQ(found.ordering.size(), 2u);
  for (const auto& ordering : found.ordering) EXPECT_EQ(ordering.a, ordering.b + 1);
  EXPECT_EQ(table(against("correlation 0.9, batch_size 16")).differences.size(), 3u);
}

TEST_F(SeedTables, SayThatPublishedNumbersAreOfAnotherEpoch) {
  two_settings();
  EXPECT_THAT(table(at_epoch({TableEpoch::kNumber, 1})).notes,
              ElementsAre("published numbers are of the end of training, ours of epoch 1"));
  EXPECT_THAT(table(at_epoch({TableEpoch::kNumber, 2})).notes, IsEmpty());  // the last one
}

TEST_F(SeedTables, DoNotOrderNumbersThatArePublishedOfDifferentEpochs) {
  for (const char* seed : {"1", "2"}) {
    add({.variant = "a", .seed = seed, .accuracy = 0.5, .published = 0.9});
    add({.variant = "b", .seed = seed, .accuracy = 0.6, .published = 0.7, .also_published = ", epoch: 1"});
  }
  EXPECT_TRUE(table().ordering.empty());
}

TEST_F(SeedTables, SayThatANumberPublishedOfAnEpochStandsBesideAnother) {
  add({.variant = "a", .seed = "1", .accuracy = 0.5, .published = 0.9, .also_published = ", epoch: 1"});
  EXPECT_THAT(table().notes, ElementsAre("published numbers are of epoch 1, ours of the last epoch, 2"));
  EXPECT_THAT(table(at_epoch({TableEpoch::kNumber, 1})).notes, IsEmpty());
}

TEST(PublishedNumbers, AreThoseOfTheEpochElseOfTheEndElseOfTheLatestEpoch) {
  const std::vector<Published> all = {{.value = 1, .epoch = 10}, {.value = 2, .epoch = 50}, {.value = 3}};
  EXPECT_EQ(published_at(all, 10)->value, 1);
  EXPECT_EQ(published_at(all, 20)->value, 3);
  EXPECT_EQ(published_at({all[0], all[1]}, 20)->value, 2);
  EXPECT_FALSE(published_at({}, 20));
}

TEST_F(SeedTables, RefuseRunsOfDifferentData) {
  add({.variant = "a", .size = "", .seed = "1", .accuracy = 0.5});
  add({.variant = "b", .size = "", .seed = "1", .accuracy = 0.5, .test = "{name: glyphs, root: elsewhere, correlation: 0.2, split: test}"});
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("runs of different data: data.test.correlation is 0.1 in"), HasSubstr("and 0.2 in"), Not(HasSubstr("\n"))));
}

TEST_F(SeedTables, RefuseNeighboursThatWereSoughtInBatchesOfDifferentSizes) {
  add({.variant = "a", .size = "", .seed = "1", .accuracy = 0.5, .batch = "50"});
  add({.variant = "b", .size = "", .seed = "1", .accuracy = 0.5, .batch = "400"});
  for (const size_t run : {0, 1}) evaluate(run, "neighbours", "{}", "test.neighbour_acc", 0.5);
  EXPECT_THAT(refusal(of_metrics({"test.neighbour_acc"})),
              AllOf(HasSubstr("test.neighbour_acc is searched in batches of different sizes: train.batch_size is 50 in"),
                    HasSubstr("and 400 in"), Not(HasSubstr("\n"))));
  EXPECT_EQ(table().rows.size(), 2u);  // accuracies are of no batch
}

TEST_F(SeedTables, OfRunsWithoutASweepTakeThoseOfOneRecipeAsARow) {
  for (int seed = 1; seed <= 3; ++seed) {
    write_run(folder_ / ("plain-" + std::to_string(seed)), {.seed = seed, .accuracy = 0.5 + 0.01 * seed});
    write_run(folder_ / ("other-" + std::to_string(seed)), {.seed = seed, .objective = "infonce", .accuracy = 0.4});
  }
  std::vector<std::string> paths;
  for (const char* name : {"plain-1", "other-1", "plain-2", "other-2", "plain-3", "other-3"}) paths.push_back(name);
  const SeedTable found = seed_table(read_compared_runs(paths, reading_program()), {});
  EXPECT_EQ(found.metric, "test.knn_acc1");  // that the recipes expect
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].label, "plain");
  EXPECT_NEAR(found.rows[0].interval.mean, 0.56, 1e-12);
}

TEST_F(SeedTables, OfAgentsHaveReturnsAsTheyAreAndCompareNoTaskWithAnother) {
  std::vector<std::string> paths;
  const auto add_agent = [&](const std::string& task, const std::string& objective, int seed, double value, int published) {
    paths.push_back(folder_ / (task + "-" + objective + "-" + std::to_string(seed)));
    write_text(paths.back() + "/config.yaml",
               fmt::format("seed: {}\nenvironment: {{task: {}}}\nobjective: {}\ntrain: {{epochs: 1}}\nexpected: "
                           "[{{metric: test.return_mean, value: {}, spread: 20, source: T3}}]\n",
                           seed, task, objective, published));
    write_text(paths.back() + "/metrics.jsonl", fmt::format("{{\"epoch\":1,\"test.return_mean\":{}}}\n", value));
  };
  for (int seed = 1; seed <= 3; ++seed) {
    add_agent("cartpole", "infonce", seed, 800 + 10 * seed, 850);
    add_agent("cartpole", "debiased", seed, 800 + 12 * seed, 860);
    add_agent("reacher", "infonce", seed, 900 + 10 * seed, 918);
    add_agent("reacher", "debiased", seed, 900 + 12 * seed, 868);
  }
  const ComparedRuns runs = read_compared_runs(paths, reading_program());
  const SeedTable found = seed_table(runs, {});
  ASSERT_EQ(found.rows.size(), 4u);
  ASSERT_EQ(found.differences.size(), 2u);
  for (const auto& difference : found.differences) EXPECT_EQ(found.rows[difference.a].task, found.rows[difference.b].task);
  ASSERT_EQ(found.ordering.size(), 2u);
  EXPECT_EQ(found.ordering[1].published->mean, 50);
  EXPECT_EQ(seed_table(runs, against("reacher-infonce")).differences.size(), 1u);
  EXPECT_THAT(seed_table_text(found, TableFormat::kText), AllOf(HasSubstr("test.return_mean     published  source\n"),
                                                                HasSubstr("cartpole-infonce       3      820.0 ± 24.8  850.0 ± 20.0  T3\n"),
                                                                HasSubstr("cartpole-debiased – cartpole-infonce      3  +4.0 ± 5.0  "),
                                                                Not(HasSubstr("test.return_mean %")), Not(HasSubstr("points"))));
}

TEST_F(SeedTables, AreWrittenForTheTerminalMarkdownCsvAndLatex) {
  two_settings();
  const SeedTable found = table();
  EXPECT_EQ(seed_table_text(found, TableFormat::kText),
            "test.acc1, last epoch: mean ± two-sided 95 % t-interval over seeds.\n\n"
            "setting  seeds    test.acc1 %   published %  source\n"
            "a            3  70.00 ± 24.84  90.00 ± 1.00  Table 3\n"
            "b            3  73.00 ± 27.33  80.00 ± 1.00  Table 3\n\n"
            "difference  seeds        points       p  p (Holm)\n"
            "b – a           3  +3.00 ± 2.48  0.0351    0.0351\n\n" +
                ordering_words(found) +
                "\n\n"
                "published as better  than        points       p  p (Holm)  published  outcome\n"
                "a                    b     -3.00 ± 2.48  0.0351    0.0351     +10.00  contradicted\n\n");
  EXPECT_THAT(seed_table_text(found, TableFormat::kMarkdown),
              AllOf(HasSubstr("| setting | seeds | test.acc1 % | published % | source |\n|---|---:|---:|---:|---|\n"),
                    HasSubstr("| a | 3 | 70.00 ± 24.84 | 90.00 ± 1.00 | Table 3 |\n")));
  EXPECT_THAT(seed_table_text(found, TableFormat::kLatex),
              AllOf(HasSubstr("\\begin{tabular}{lrrrl}\n\\hline\nsetting & seeds & test.acc1 \\% & published \\% & source \\\\\n"),
                    HasSubstr("a & 3 & 70.00 $\\pm$ 24.84 &")));
  const std::string csv = seed_table_text(found, TableFormat::kCsv);
  EXPECT_THAT(csv, AllOf(HasSubstr("setting,variant,metric,seeds,mean,half_width,published,spread,source\na,a,test.acc1,3,"),
                         HasSubstr(",0.248413771"), EndsWith(",0.8,0.01,Table 3\n")));
  EXPECT_THAT(seed_table_text(found, TableFormat::kCsvDifferences),
              StartsWith("difference,against,seeds,paired,mean,half_width,p,p_holm\nb,a,3,true,0.03"));
  const std::string orderings = seed_table_text(found, TableFormat::kCsvOrderings);
  EXPECT_THAT(orderings,
              StartsWith("better,than,published_difference,published_spread,mean,half_width,p,p_holm,verdict,verdict_holm\na,b,0.0999999"));
  EXPECT_THAT(orderings, EndsWith(",contradicted,contradicted\n"));
}

TEST_F(SeedTables, HaveTheMinutesOfTrainingWhereTheyAreAskedFor) {
  two_settings();
  const SeedTable found = table();
  const auto written = [&](TableFormat format) { return seed_table_text(found, format, MinutesColumn::kShown); };
  EXPECT_THAT(written(TableFormat::kText), HasSubstr("setting  seeds    test.acc1 %  minutes   published %  source\n"
                                                     "a            3  70.00 ± 24.84      2.0  90.00 ± 1.00  Table 3\n"));
  EXPECT_THAT(written(TableFormat::kMarkdown), HasSubstr("| a | 3 | 70.00 ± 24.84 | 2.0 | 90.00 ± 1.00 | Table 3 |\n"));
  EXPECT_THAT(written(TableFormat::kLatex), HasSubstr("\\begin{tabular}{lrrrrl}\n"));
  EXPECT_THAT(written(TableFormat::kCsv), AllOf(HasSubstr(",spread,source,minutes\na,"), HasSubstr(",0.9,0.01,Table 3,2\n")));
}

TEST_F(SeedTables, AreASectionOfAReportWithThePublishedCurveOverOurs) {
  for (const char* variant : {"a", "b"}) {
    for (const char* size : {"16", "64", "256"}) add({.variant = variant, .size = size, .seed = "1", .accuracy = 0.5, .published = 0.7});
  }
  const ComparedRuns runs = compared();
  const SeedTable found = seed_table(runs, {});
  const Figures figures = grid_figures(found);
  ASSERT_EQ(figures.size(), 2u);
  const Chart& chart = figures[0].first;
  EXPECT_EQ(chart.title, "test.acc1 over train.batch_size");
  EXPECT_EQ(chart.x.scale, Scale::kLog);
  ASSERT_EQ(chart.series.size(), 4u);
  EXPECT_EQ(chart.series[1].name, "a, published");
  EXPECT_THAT(chart.series[1].x, ElementsAre(16, 64, 256));
  EXPECT_THAT(chart.series[1].y, ElementsAre(0.7, 0.7, 0.7));
  EXPECT_EQ(figures[1].first.title, "test.acc1 against training time");
  EXPECT_THAT(figures[1].first.series[0].x, ElementsAre(1));
  const std::string page = run_report_html(runs.runs, "0.1.0", {found});
  EXPECT_THAT(page, AllOf(HasSubstr("Settings: test.acc1"), HasSubstr("a, batch_size 64"), HasSubstr("a, published")));
  EXPECT_EQ(well_formed(page).fault, "");
}

TEST_F(SeedTables, ShowDifferencesAndOrderingsInAReport) {
  two_settings();
  const ComparedRuns runs = compared();
  const std::string page = run_report_html(runs.runs, "0.1.0", {seed_table(runs, {})});
  EXPECT_EQ(well_formed(page).fault, "");
  EXPECT_THAT(page, AllOf(HasSubstr(">b – a</th><td class=\"n\">3</td><td class=\"n\">+3.00 ± 2.48</td><td class=\"n\">0.0351</td>"),
                          HasSubstr("Published orderings: 1;"),
                          HasSubstr("<td class=\"n\">0.0351</td><td class=\"n\">+10.00</td><td class=\"text\">contradicted</td>")));
}

}  // namespace debias::seed_table_test

// The table of key numbers: whose a number is, which run is better, and what stands beside a number.
#include "debias/report/tables/key_numbers.h"
#include "tests/report/reports.h"

namespace debias::key_numbers_test {

class KeyNumbers : public Reports {
 protected:
  // Rows with a column for each run.
  std::vector<NumberRow> rows(const std::vector<std::string>& names) const {
    const std::vector<RunRecord> runs = read(names);
    return key_numbers(single_columns(runs));
  }
};

const NumberRow& row_of(const std::vector<NumberRow>& rows, const std::string& metric) {
  for (const auto& row : rows) {
    if (row.metric == metric) return row;
  }
  throw std::runtime_error("no row " + metric);
}

TEST_F(KeyNumbers, EvaluationFilesCountBeforeTrainingAndGroupsBeforeOthers) {
  write_run("run");
  EXPECT_EQ(row_of(rows({"run"}), "test.knn_acc1").by_column[0]->source, "epoch 4");
  write_neighbours("run", 1);
  write_groups("run");
  auto other = described("zz", {}, {{"test.acc1", 0.9}});
  other["predictions"] = "knn";
  write_evaluation("run", "zz", other);
  write_evaluation("run", "aa", other);
  const auto found = rows({"run"});
  EXPECT_EQ(row_of(found, "test.knn_acc1").by_column[0]->source, "knn.json");
  EXPECT_EQ(row_of(found, "test.acc1").by_column[0]->value, 0.5);
  EXPECT_EQ(row_of(found, "test.acc1").by_column[0]->source, "groups.json");
  EXPECT_EQ(row_of(found, "train_loss").heading, "training");
  EXPECT_TRUE(std::isnan(row_of(found, "test.equalized_odds_difference").by_column[0]->value));
}

TEST_F(KeyNumbers, OfRunsThatWereEvaluatedByOtherOptionsHaveNoMean) {
  for (const int64_t seed : {1, 2}) {
    const std::string run = fmt::format("a-{}", seed);
    write_run(run, {.seed = seed});
    auto json = described("knn", {}, {{"test.knn_acc1", 0.5}});
    json["options"] = {{"k", seed == 1 ? 13 : 1}};
    write_evaluation(run, "knn", json);
    json["options"] = {{"seed", seed}};
    json["metrics"] = {{"test.rankme", 7}};
    write_evaluation(run, "geometry", json);
  }
  const std::vector<RunRecord> runs = read({"a-1", "a-2"});
  const auto found = key_numbers(run_columns(runs));
  const KeyNumber number = *row_of(found, "test.knn_acc1").by_column[0];
  EXPECT_TRUE(number.evaluated_otherwise);
  EXPECT_TRUE(std::isnan(number.value));
  EXPECT_EQ(number.seeds(), 0);
  EXPECT_EQ(row_of(found, "test.rankme").by_column[0]->value, 7);
  EXPECT_THAT(run_report_text(runs, {.verbose = true}),
              HasSubstr("Undefined: runs of one column were evaluated with other options or on other data"));
}

TEST_F(KeyNumbers, OfRunsThatWereEvaluatedWithOtherRecipesHaveNoMean) {
  for (const int64_t seed : {1, 2}) write_run(fmt::format("a-{}", seed), {.seed = seed});
  const auto number_of = [&](const Json& more) {
    auto json = described("knn", {}, {{"test.knn_acc1", 0.5}});
    json.update(more);
    write_evaluation("a-2", "knn", json);
    const std::vector<RunRecord> runs = read({"a-1", "a-2"});
    return *row_of(key_numbers(run_columns(runs)), "test.knn_acc1").by_column[0];
  };
  const Json other_views = {{"recipe_changes", {{"views.eval.preset", "none"}}}};
  const Json own_option = {{"recipe_changes", {{"evaluate.knn.k", "13"}}}};
  EXPECT_TRUE(number_of(other_views).evaluated_otherwise);  // than training has evaluated the first
  EXPECT_TRUE(number_of(own_option).evaluated_otherwise);
  write_evaluation("a-1", "knn", described("knn", {}, {{"test.knn_acc1", 0.5}}));
  EXPECT_TRUE(number_of(other_views).evaluated_otherwise);
  EXPECT_TRUE(number_of({{"data", {{"test", {{"name", "glyphs"}, {"correlation", 0.1}}}}}}).evaluated_otherwise);
  EXPECT_TRUE(number_of({{"data", {{"train", {{"name", "mnist"}}}}}}).evaluated_otherwise);  // where the neighbours are
  EXPECT_TRUE(number_of({{"accepted_data_changes", {"test: 1 file"}}}).evaluated_otherwise);
  const KeyNumber alike = number_of({{"recipe_changes", {{"evaluate.linear_dcl.seed", "4"}}}});  // which is in no number
  EXPECT_FALSE(alike.evaluated_otherwise);
  EXPECT_EQ(alike.value, 0.5);
  EXPECT_FALSE(number_of(own_option).evaluated_otherwise);  // the options of both files tell
}

TEST_F(KeyNumbers, SayOfWhichEpochTheyAreWhereAnotherWasChosen) {
  write_run("run");  // whose kNN accuracy rises to the last epoch
  const auto says_so_with = [&](const std::string& select) {
    write_text("run/config.yaml", fixture_recipe({}, "run") + "evaluate: {select: " + select + "}\n");
    return text({"run"}).find("not of the one that evaluate.select (" + select + ") chose; debias eval") != std::string::npos;
  };
  EXPECT_FALSE(says_so_with("\"\""));
  EXPECT_FALSE(says_so_with("test.knn_acc1"));
  EXPECT_TRUE(says_so_with("train_loss"));  // highest in the first
  auto json = described("knn", {}, {{"test.knn_acc1", 0.5}});
  json["epoch"] = 1;
  write_evaluation("run", "knn", json);
  EXPECT_FALSE(says_so_with("train_loss"));
}

TEST_F(KeyNumbers, ARunIsBestOnlyWhereNoOtherIntervalReachesIt) {
  write_run("low");
  write_groups("low", {.accuracy = 0.5});
  write_run("near");
  write_groups("near", {.accuracy = 0.58});
  write_run("high");
  write_groups("high", {.accuracy = 0.7});
  const auto best = [&](const std::vector<std::string>& names, const std::string& metric) { return row_of(rows(names), metric).best; };
  EXPECT_EQ(best({"low", "near"}, "test.acc1"), -1);             // [0.45, 0.55] and [0.53, 0.63]
  EXPECT_EQ(best({"low", "high"}, "test.acc1"), 1);              // and [0.65, 0.75]
  EXPECT_EQ(best({"low", "high", "near"}, "test.acc1"), 1);      // apart from both
  EXPECT_EQ(best({"low", "high"}, "test.worst_group_acc"), -1);  // [0.4, 0.6] and [0.6, 0.8]
  EXPECT_EQ(best({"low", "high"}, "test.aligned_acc"), -1);      // no interval
  EXPECT_EQ(best({"high"}, "test.acc1"), -1);                    // nothing to compare with
  EXPECT_THAT(html({"low", "high"}), HasSubstr("<strong>70.00 %</strong>"));
  EXPECT_THAT(text({"low", "high"}), HasSubstr("70.00 % [65.00, 75.00] *"));
}

TEST_F(KeyNumbers, IntervalsOverDrawsOfTrainingImagesMakeNoRunTheBest) {
  const auto write = [&](const std::string& run, double accuracy) {
    write_run(run);
    auto json = described("low_shot", {}, {{"test.low_shot_acc1_1pct", accuracy}, {"test.low_shot_acc1_5_per_class", accuracy}});
    for (const char* name : {"test.low_shot_acc1_1pct", "test.low_shot_acc1_5_per_class"}) {
      json["intervals"][name] = {accuracy - 0.05, accuracy + 0.05};
      json["by_draw"][name] = {accuracy - 0.04, accuracy + 0.04};
    }
    write_evaluation(run, "low_shot", json);
  };
  write("low", 0.3);
  write("high", 0.7);
  const NumberRow row = row_of(rows({"low", "high"}), "test.low_shot_acc1_5_per_class");
  EXPECT_EQ(row.best, -1);
  EXPECT_EQ(row.title.title, "low-shot accuracy, 5 per class");
  EXPECT_EQ(row.by_column[0]->kind, IntervalKind::kDraws);
  const std::string page = html({"low", "high"});
  expect_parts(page, {"low-shot accuracy, 1pct", "[25.00, 35.00]", "interval over draws of the labelled training images"},
               {"bootstrap interval over the images"});
}

TEST_F(KeyNumbers, NoRunIsBestOnDataOfItsOwn) {
  write_run("low");
  write_groups("low", {.accuracy = 0.5});
  write_run("high");
  auto groups = described("groups", {.name = "elsewhere"}, {{"test.acc1", 0.9}});
  groups["predictions"] = "knn";
  groups["intervals"] = {{"test.acc1", {0.85, 0.95}}};
  write_evaluation("high", "groups", groups);
  EXPECT_EQ(row_of(rows({"low", "high"}), "test.acc1").best, 1);  // the roots differ, the data do not
  groups["data"]["test"]["correlation"] = 0.9;
  write_evaluation("high", "groups", groups);
  EXPECT_EQ(row_of(rows({"low", "high"}), "test.acc1").best, -1);
}

TEST_F(KeyNumbers, NoRunIsBestInFindingNeighboursAmongFewerSentences) {
  for (const auto& [name, accuracy] : {std::pair{"low", 0.2}, std::pair{"high", 0.6}}) {
    write_run(name);
    auto found = described("neighbours", {}, {{"test.neighbour_acc", accuracy}});
    found["intervals"] = {{"test.neighbour_acc", {accuracy - 0.05, accuracy + 0.05}}};
    write_evaluation(name, "neighbours", found);
  }
  EXPECT_EQ(row_of(rows({"low", "high"}), "test.neighbour_acc").best, 1);
  std::string recipe = fixture_recipe({}, "high");
  recipe.replace(recipe.find("batch_size: 32"), 14, "batch_size: 16");
  write_text("high/config.yaml", recipe);
  EXPECT_EQ(row_of(rows({"low", "high"}), "test.neighbour_acc").best, -1);
}

TEST_F(KeyNumbers, TheExpectedStandsBesideTheFound) {
  write_run("near", {.accuracy = 0.475});  // 0.515 at the end; 0.5 +- 0.02 is expected
  EXPECT_THAT(html({"near"}),
              HasSubstr("50.00 % ± 2.00 %</td><td class=\"n\">51.50 %</td><td>within</td><td class=\"text\">a table &amp; more"));
  write_run("far", {.accuracy = 0.5});
  EXPECT_THAT(html({"far"}), HasSubstr("<td class=\"n\">54.00 %</td><td>outside</td>"));
  write_run("none", {.epochs_done = 0});
  EXPECT_THAT(html({"none"}), HasSubstr("<td>not measured</td>"));
}

TEST_F(KeyNumbers, OtherDataSetsHaveRowsOfTheirOwn) {
  write_whole_run("a");
  write_evaluation("a", "groups-bffhq", described("groups", {}, {{"test.acc1", 0.25}}));
  const auto found = rows({"a"});
  EXPECT_EQ(found.front().heading, "test");
  EXPECT_EQ(found.back().heading, "test of bffhq");
  EXPECT_EQ(found.back().by_column[0]->value, 0.25);
  EXPECT_EQ(run_report_json(read({"a"}))["runs"][0]["metrics"]["on bffhq: test.acc1"]["value"], 0.25);
}

TEST_F(KeyNumbers, SeedsAreOneColumnWithMeanAndInterval) {
  const std::vector<double> conflicting = {0.20, 0.22, 0.27};
  for (const int64_t seed : {1, 2, 3}) {
    write_biased_run(fmt::format("ce-{}", seed), {.conflicting = conflicting[seed - 1]}, {.seed = seed});
  }
  write_biased_run("other", {}, {.objective = "infonce"});
  const std::string page = html({"ce-1", "ce-2", "ce-3", "other"});
  expect_parts(page, {"<h1>ce against other on glyphs</h1>", "<th class=\"n\" scope=\"col\">ce (3 seeds)</th>"});
  EXPECT_THAT(page, HasSubstr("23.00 %<span class=\"small\"> ± 8.96</span>"));  // 4.303 * 0.036056 / sqrt(3)
  expect_parts(page, {"the mean ± half of its 95 % interval (Student&#39;s t over the seeds)", "seeds 1, 2, 3, 4 of 4 epochs",
                      "ce, seed 1, test: accuracy in percent", "class=\"band c0\""});
  EXPECT_THAT(text({"ce-1", "ce-2", "ce-3"}), HasSubstr("23.00 % ± 8.96"));
  const auto json = run_report_json(read({"ce-1", "ce-2", "ce-3"}));
  EXPECT_EQ(json["runs"].size(), 3u);
  EXPECT_EQ(json["columns"][0]["label"], "ce");
  EXPECT_EQ(json["columns"][0]["metrics"]["test.conflicting_acc"]["seeds"], 3);
}

TEST_F(KeyNumbers, ANumberThatSomeSeedsLackSaysSo) {
  for (const int64_t seed : {1, 2, 3}) write_run(fmt::format("ce-{}", seed), {.seed = seed, .accuracy = 0.1 * seed});
  write_biased_groups("ce-1", {.conflicting = 0.2});
  write_biased_groups("ce-3", {.conflicting = 0.3});
  EXPECT_THAT(html({"ce-1", "ce-2", "ce-3"}),
              HasSubstr("25.00 %<span class=\"small\"> ± 63.53</span><span class=\"small\"> (2 of 3 seeds)"));
}

TEST_F(KeyNumbers, ARowHasPredictionsOfOneSource) {
  write_biased_run("a", {.aligned = 1.0, .conflicting = 0.736});
  write_evaluation("a", "knn", described("knn", {}, {{"test.aligned_acc", 0.723}, {"test.conflicting_acc", 0.763}}));
  write_run("b", {.objective = "infonce"});
  write_evaluation("b", "knn", described("knn", {}, {{"test.aligned_acc", 0.6}, {"test.conflicting_acc", 0.5}}));
  const auto found = rows({"a", "b"});
  const NumberRow* of_classifier = find_row(found, "", "test.aligned_acc", "classifier");
  const NumberRow* of_knn = find_row(found, "", "test.aligned_acc", "knn");
  ASSERT_TRUE(of_classifier != nullptr && of_knn != nullptr);
  EXPECT_EQ(of_classifier->title.title, "accuracy, bias-aligned, classifier");
  EXPECT_EQ(of_classifier->by_column[0]->value, 1.0);
  EXPECT_FALSE(of_classifier->by_column[1]);
  EXPECT_EQ(of_knn->by_column[0]->value, 0.723);
  EXPECT_EQ(of_knn->by_column[1]->value, 0.6);
  const auto json = run_report_json(read({"a"}))["runs"][0]["metrics"];
  EXPECT_EQ(json["test.aligned_acc"]["value"], 1.0);
  EXPECT_EQ(json["test.aligned_acc by knn"]["value"], 0.723);
}

TEST_F(KeyNumbers, OfTrainingsLastLineTheRecipeSaysWhoseItIs) {
  write_run("run");
  const std::string line = R"({"epoch": 5, "test.acc1": 0.9, "test.aligned_acc": 0.8})";
  write_text("run/metrics.jsonl", line + "\n");
  const std::string recipe = fixture_recipe({}, "run");
  const auto source = [&](const std::string& more) {
    write_text("run/config.yaml", recipe + more);
    return row_of(rows({"run"}), "test.aligned_acc").source;
  };
  EXPECT_EQ(source(""), "");
  EXPECT_EQ(source("evaluate: {protocols: [knn, linear_dcl]}\n"), "knn");
  EXPECT_EQ(source("evaluate: {protocols: [groups, knn]}\n"), "knn");
  EXPECT_EQ(source("evaluate: {protocols: [knn, groups]}\nclassifier: {name: linear}\n"), "classifier");
  EXPECT_EQ(source("evaluate: {protocols: [groups], groups: {predictions: linear}}\nclassifier: {name: linear}\n"), "linear");
}

TEST_F(KeyNumbers, ANumberOutsideItsIntervalIsMarked) {
  write_run("run");
  auto groups = described("groups", {}, {{"test.worst_group_acc", 0.5}});
  groups["intervals"] = {{"test.worst_group_acc", {0.3, 0.45}}};
  write_evaluation("run", "groups", groups);
  const std::string page = html({"run"});
  expect_parts(page, {"[30.00, 45.00]†", "† The number is outside its interval"});
  groups["intervals"] = {{"test.worst_group_acc", {0.3, 0.5}}};
  write_evaluation("run", "groups", groups);
  EXPECT_THAT(html({"run"}), Not(HasSubstr("†")));
}

TEST_F(KeyNumbers, AnAlignmentOfEqualViewsIsNotPerfect) {
  write_run("run");
  write_evaluation("run", "geometry", described("geometry", {}, {{"test.alignment", 0.0}}));
  EXPECT_THAT(html({"run"}), HasSubstr("0<span class=\"small\"> (equal views)</span>"));
  EXPECT_THAT(text({"run"}), HasSubstr("Equal views: the recipe's views change nothing"));
  write_evaluation("run", "geometry", described("geometry", {}, {{"test.alignment", 0.01}}));
  EXPECT_THAT(html({"run"}), Not(HasSubstr("equal views")));
}

TEST_F(KeyNumbers, AProbeHasItsChanceLevelBesideIt) {
  write_run("run");
  write_evaluation("run", "geometry", described("geometry", {}, {{"test.bias_majority_rate", 0.104}, {"test.bias_probe_acc1", 0.96}}));
  const std::string page = html({"run"});
  expect_parts(page, {"96.00 %<span class=\"small\"> (chance 10.40 %)</span>"}, {"most frequent bias label</th>"});
  EXPECT_THAT(text({"run"}), HasSubstr("96.00 % (chance 10.40 %)"));
}

TEST_F(KeyNumbers, AnUntrainedEncoderStandsBesideTheTrainedOne) {
  write_run("run");
  write_evaluation("run", "neighbours", described("neighbours", {}, {{"test.neighbour_acc", 0.25}}));
  auto untrained = described("neighbours", {.epochs_done = 0}, {{"test.neighbour_acc", 0.125}});
  untrained["options"]["untrained"] = true;
  write_evaluation("run", "neighbours-untrained", untrained);
  const auto found = rows({"run"});
  const auto first = std::ranges::find(found, "untrained", &NumberRow::data);
  ASSERT_NE(first, found.end());
  EXPECT_EQ(first->heading, "test");
  EXPECT_EQ(first->title.title, "neighbour accuracy, untrained encoder");
  EXPECT_EQ(first->by_column[0]->value, 0.125);
  EXPECT_EQ(find_row(found, "", "test.neighbour_acc")->by_column[0]->value, 0.25);
  EXPECT_THAT(text({"run"}), ContainsRegex("neighbour accuracy +25.00 %\n +neighbour accuracy, untrained encoder +12.50 %\n"));
  EXPECT_TRUE(read({"run"})[0].notes.empty());  // its epoch is none of the run's
}

TEST_F(KeyNumbers, TimeAndSpeedAreRowsOfTheirOwn) {
  write_run("run");
  const auto found = rows({"run"});
  EXPECT_EQ(row_of(found, "training_seconds").by_column[0]->value, 2.5);
  EXPECT_EQ(row_of(found, "images_per_second").by_column[0]->source, "times.jsonl");
  EXPECT_THAT(text({"run"}), ContainsRegex("images per second +400\n"));
  const std::string times = "run/times.jsonl";
  write_text(times, R"({"epoch":1,"seconds":90,"count":1125,"counted":"agent_steps"})"
                    "\n");
  EXPECT_THAT(text({"run"}), ContainsRegex("training time per epoch, minutes +1.5\n"));
  EXPECT_THAT(text({"run"}), ContainsRegex("agent steps per second +12.5\n"));
  write_text(times, R"({"epoch":1,"seconds":2.5,"count":1000,"counted":"sentences"})"
                    "\n"
                    R"({"epoch":2,"seco)");
  EXPECT_THAT(text({"run"}), ContainsRegex("sentences per second +400\n"));
  EXPECT_THAT(read({"run"})[0].notes, testing::Contains("1 line of times.jsonl is damaged: the training time is without it"));
  fs::remove(times);
  EXPECT_THAT(text({"run"}), Not(HasSubstr("images per second")));
}

TEST_F(KeyNumbers, AnAlignmentThatNobodyDecidedIsLeftOutAndSaidSo) {
  write_run("run");
  auto knn = described("knn", {}, {{"test.knn_acc1", 0.5}, {"test.aligned_acc", 0.723}});
  knn["data"]["test"]["name"] = "image_folder";
  write_evaluation("run", "knn", knn);
  const auto runs = read({"run"});
  EXPECT_EQ(runs[0].evaluation("knn")->metric("test.aligned_acc"), nullptr);
  EXPECT_NE(runs[0].evaluation("knn")->metric("test.knn_acc1"), nullptr);
  ASSERT_FALSE(runs[0].notes.empty());
  EXPECT_THAT(runs[0].notes.back(), HasSubstr("knn.json does not say which bias labels belong to which classes"));
  knn["aligned"] = {{"cat", {"red"}}};
  write_evaluation("run", "knn", knn);
  EXPECT_NE(read({"run"})[0].evaluation("knn")->metric("test.aligned_acc"), nullptr);
}

}  // namespace debias::key_numbers_test

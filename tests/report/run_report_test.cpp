#include "debias/report/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "debias/report/key_numbers.h"
#include "debias/report/missing_parts.h"
#include "tests/report/run_fixture.h"
#include "tests/report/well_formed.h"

namespace debias {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kVersion = "0.1.0";

class Reports : public testing::Test {
 protected:
  std::string run_path(const std::string& name) const { return folder_ / name; }
  std::vector<RunRecord> read(const std::vector<std::string>& names) const {
    std::vector<std::string> paths;
    for (const auto& name : names) paths.push_back(run_path(name));
    return read_runs(paths, kVersion);
  }
  std::string html(const std::vector<std::string>& names) const { return run_report_html(read(names), kVersion); }

  TemporaryFolder folder_;
};

const NumberRow& row_of(const std::vector<NumberRow>& rows, const std::string& metric) {
  for (const auto& row : rows) {
    if (row.metric == metric) return row;
  }
  throw std::runtime_error("no row " + metric);
}

TEST_F(Reports, AWholeRunHasEverySection) {
  write_whole_run(run_path("run"));
  const std::string page = html({"run"});
  const WellFormed parsed = well_formed(page);
  EXPECT_EQ(parsed.fault, "");
  for (const char* heading : {"Key numbers", "Learning curves", "Evidence of the objective", "Groups", "Similarities", "Map",
                              "Nearest neighbours", "What was expected", "What was run"}) {
    EXPECT_THAT(page, HasSubstr(std::string("\">") + heading + "</h2>")) << heading;
  }
  EXPECT_THAT(page, HasSubstr("objective debiased_negatives, encoder resnet18, trained on glyphs, seed 1, 4 of 4 epochs"));
  EXPECT_THAT(page, Not(HasSubstr("class=\"missing\"")));
  EXPECT_THAT(page, Not(HasSubstr("class=\"note warning\"")));
  EXPECT_THAT(page, HasSubstr(">clamp share</title>"));
  EXPECT_THAT(page, HasSubstr("50.00 %<span class=\"small\"> [45.00, 55.00]</span>"));
  EXPECT_THAT(page, HasSubstr("95 % bootstrap interval"));
  EXPECT_THAT(page, HasSubstr("debias train " + run_path("run") + "/config.yaml output=OTHER"));
  EXPECT_GE(parsed.count("svg"), 8u);
}

TEST_F(Reports, NothingIsLoadedFromElsewhere) {
  write_whole_run(run_path("run"));
  const WellFormed page = well_formed(html({"run"}));
  for (const auto& source : attributes(page, "src")) EXPECT_TRUE(source.starts_with("data:image/png;base64,")) << source;
  for (const auto& reference : attributes(page, "href")) EXPECT_TRUE(reference.starts_with("#") || reference == "data:,") << reference;
  EXPECT_EQ(page.count("script"), 0u);
}

TEST_F(Reports, TheSameFoldersGiveTheSameBytes) {
  write_whole_run(run_path("run"));
  EXPECT_EQ(html({"run"}), html({"run"}));
}

TEST_F(Reports, WhatARunLacksIsSaidInOneLineWithTheCommandThatAddsIt) {
  write_run(run_path("a"));
  write_run(run_path("b"));
  write_groups(run_path("b"));
  const std::string one = html({"a"});
  for (const char* protocol : {"groups", "geometry", "tsne", "knn"}) {
    EXPECT_THAT(one, HasSubstr(std::string("<code>debias eval ") + protocol + " " + run_path("a") + "</code> adds them.</p>"));
  }
  const MissingPart groups = missing_part(read({"a", "b"}), Part::kGroups);
  EXPECT_EQ(groups.words, "a: no groups (they need bias values)");
  EXPECT_EQ(missing_part(read({"a", "b"}), Part::kMap).words, "a, b: no map");
  EXPECT_EQ(missing_part(read({"b"}), Part::kGroups).words, "");
  EXPECT_EQ(shell_word("runs/a b"), "'runs/a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
}

TEST_F(Reports, AnUnfinishedRunIsShownAsSuch) {
  write_run(run_path("run"), {.epochs = 4, .epochs_done = 2});
  EXPECT_THAT(html({"run"}), HasSubstr("2 of 4 epochs, unfinished"));
  write_run(run_path("none"), {.epochs = 4, .epochs_done = 0});
  const std::string page = html({"none"});
  EXPECT_THAT(page, HasSubstr("No epoch is finished and nothing was judged yet."));
  EXPECT_EQ(well_formed(page).fault, "");
  EXPECT_THAT(run_report_text(read({"none"})), HasSubstr("no epoch is finished"));
}

TEST_F(Reports, NeighboursOfAnotherGroupAreMarked) {
  write_whole_run(run_path("run"));
  const std::string page = html({"run"});
  EXPECT_THAT(page, HasSubstr("<div class=\"thumb otherclass\">"));
  EXPECT_THAT(page, HasSubstr("<span class=\"why\">other class, same bias</span>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"why\">other bias</span>"));
  EXPECT_THAT(page, HasSubstr("&lt;dog&gt;, green<br/>cos 0.800"));
  EXPECT_THAT(page, HasSubstr("alt=\"judged image 0: cat, green\""));
  EXPECT_EQ(attributes(well_formed(page), "src").size(), 16u);
}

TEST_F(Reports, AFewJudgedImagesAreShownAndTheOthersFolded) {
  write_run(run_path("run"));
  write_neighbours(run_path("run"), 10);
  const std::string page = html({"run"});
  const size_t fold = page.find("<details><summary>4 more</summary><ul class=\"near\">");
  ASSERT_NE(fold, std::string::npos);
  for (const int first : {0, 1, 2, 3, 4, 5}) EXPECT_LT(page.find(fmt::format("judged image {}:", first)), fold);
  for (const int other : {6, 7, 8, 9}) EXPECT_GT(page.find(fmt::format("judged image {}:", other)), fold);
  EXPECT_EQ(well_formed(page).fault, "");
}

TEST_F(Reports, AThumbnailThatIsMissingOrNoPngIsSaidSo) {
  write_whole_run(run_path("run"));
  std::filesystem::remove(run_path("run") + "/evaluation/thumbnails/train_200.png");
  write_text(run_path("run") + "/evaluation/thumbnails/test_1.png", "<svg onload=\"alert(1)\">");
  const std::string page = html({"run"});
  EXPECT_EQ(well_formed(page).fault, "");
  EXPECT_THAT(page, HasSubstr("2 thumbnails are missing or no PNG files, test_1.png the first"));
  EXPECT_THAT(page, Not(HasSubstr("onload")));
  EXPECT_EQ(attributes(well_formed(page), "src").size(), 14u);
}

TEST_F(Reports, ALargeRunStaysBelowFiveMegabytesAndSaysWhatIsLeftOut) {
  write_run(run_path("run"));
  write_map(run_path("run"), 20000);
  write_neighbours(run_path("run"), 60, "\x89PNG" + std::string(30000, 'x'));
  const std::string page = html({"run"});
  EXPECT_LT(page.size(), 5'000'000u);
  EXPECT_THAT(page, HasSubstr("20000 images, perplexity 30, divergence 0.75; 3000 of them are drawn, evenly picked"));
  EXPECT_THAT(page, HasSubstr(" of 60 judged images are shown, to keep the file small."));
}

TEST_F(Reports, SeveralRunsStandSideBySide) {
  write_whole_run(run_path("a"), {.seed = 1, .objective = "infonce"});
  write_whole_run(run_path("b"), {.seed = 2});
  const std::string page = html({"a", "b"});
  EXPECT_EQ(well_formed(page).fault, "");
  EXPECT_THAT(page, HasSubstr("<h1>a, b</h1>"));
  EXPECT_THAT(page, HasSubstr("<code>objective.0.name</code></th><td>infonce</td><td>debiased_negatives</td>"));
  EXPECT_THAT(page, HasSubstr("<code>seed</code></th><td>1</td><td>2</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<code>output</code>")));
  EXPECT_THAT(page, HasSubstr("the losses cannot be compared"));
}

TEST_F(Reports, ARecipeThatHoldsMarkupStaysText) {
  write_run(run_path("run"), {.name = "\"<script>alert(1)</script>\""});
  const std::string page = html({"run"});
  EXPECT_EQ(well_formed(page).fault, "");
  EXPECT_EQ(well_formed(page).count("script"), 0u);
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

TEST_F(Reports, EvaluationFilesCountBeforeTrainingAndGroupsBeforeOthers) {
  write_run(run_path("run"));
  EXPECT_EQ(row_of(key_numbers(read({"run"})), "test.knn_acc1").by_run[0]->source, "epoch 4");
  write_neighbours(run_path("run"), 1);
  write_groups(run_path("run"));
  auto other = described("zz", {}, {{"test.acc1", 0.9}});
  write_evaluation(run_path("run"), "zz", other);
  write_evaluation(run_path("run"), "aa", other);
  const auto rows = key_numbers(read({"run"}));
  EXPECT_EQ(row_of(rows, "test.knn_acc1").by_run[0]->source, "knn.json");
  EXPECT_EQ(row_of(rows, "test.acc1").by_run[0]->value, 0.5);
  EXPECT_EQ(row_of(rows, "test.acc1").by_run[0]->source, "groups.json");
  EXPECT_EQ(row_of(rows, "train_loss").heading, "training");
  EXPECT_TRUE(std::isnan(row_of(rows, "test.equalized_odds_difference").by_run[0]->value));
}

TEST_F(Reports, ARunIsBestOnlyWhereNoOtherIntervalReachesIt) {
  write_run(run_path("low"));
  write_groups(run_path("low"), {.accuracy = 0.5});
  write_run(run_path("near"));
  write_groups(run_path("near"), {.accuracy = 0.58});
  write_run(run_path("high"));
  write_groups(run_path("high"), {.accuracy = 0.7});
  const auto best = [&](const std::vector<std::string>& names, const std::string& metric) {
    return row_of(key_numbers(read(names)), metric).best;
  };
  EXPECT_EQ(best({"low", "near"}, "test.acc1"), -1);             // [0.45, 0.55] and [0.53, 0.63]
  EXPECT_EQ(best({"low", "high"}, "test.acc1"), 1);              // and [0.65, 0.75]
  EXPECT_EQ(best({"low", "high", "near"}, "test.acc1"), 1);      // apart from both
  EXPECT_EQ(best({"low", "high"}, "test.worst_group_acc"), -1);  // [0.4, 0.6] and [0.6, 0.8]
  EXPECT_EQ(best({"low", "high"}, "test.aligned_acc"), -1);      // no interval
  EXPECT_EQ(best({"high"}, "test.acc1"), -1);                    // nothing to compare with
  EXPECT_THAT(html({"low", "high"}), HasSubstr("<strong>70.00 %</strong>"));
  EXPECT_THAT(run_report_text(read({"low", "high"})), HasSubstr("70.00 % [65.00, 75.00] *"));
}

TEST_F(Reports, NoRunIsBestOnDataOfItsOwn) {
  write_run(run_path("low"));
  write_groups(run_path("low"), {.accuracy = 0.5});
  write_run(run_path("high"));
  auto groups = described("groups", {.name = "elsewhere"}, {{"test.acc1", 0.9}});
  groups["intervals"] = {{"test.acc1", {0.85, 0.95}}};
  write_evaluation(run_path("high"), "groups", groups);
  EXPECT_EQ(row_of(key_numbers(read({"low", "high"})), "test.acc1").best, 1);  // the roots differ, the data do not
  groups["data"]["test"]["correlation"] = 0.9;
  write_evaluation(run_path("high"), "groups", groups);
  EXPECT_EQ(row_of(key_numbers(read({"low", "high"})), "test.acc1").best, -1);
}

TEST_F(Reports, TheExpectedStandsBesideTheFound) {
  write_run(run_path("near"), {.accuracy = 0.475});  // 0.515 at the end; 0.5 +- 0.02 is expected
  EXPECT_THAT(html({"near"}),
              HasSubstr("50.00 % ± 2.00 %</td><td class=\"n\">51.50 %</td><td>within</td><td class=\"text\">a table &amp; more"));
  write_run(run_path("far"), {.accuracy = 0.5});
  EXPECT_THAT(html({"far"}), HasSubstr("<td class=\"n\">54.00 %</td><td>outside</td>"));
  write_run(run_path("none"), {.epochs_done = 0});
  EXPECT_THAT(html({"none"}), HasSubstr("<td>not measured</td>"));
}

TEST_F(Reports, TextForTheTerminal) {
  write_run(run_path("a"));
  write_groups(run_path("a"));
  write_run(run_path("b"), {.epochs_done = 1});
  const std::string text = run_report_text(read({"a", "b"}));
  EXPECT_THAT(text, HasSubstr(run_path("b") + ": fixture, seed 1, 1 of 4 epochs, unfinished\n"));
  EXPECT_THAT(text, testing::ContainsRegex("  kNN accuracy +54.00 % +51.00 %\n"));
  EXPECT_THAT(text, testing::ContainsRegex("  accuracy of the worst group +50.00 % .40.00, 60.00. +-\n"));
  EXPECT_THAT(text, HasSubstr("b: no groups (they need bias values); debias eval groups " + run_path("b") + " would add them\n"));
}

TEST_F(Reports, JsonForPrograms) {
  write_whole_run(run_path("a"));
  const auto json = run_report_json(read({"a"}));
  const auto& run = json["runs"][0];
  EXPECT_EQ(run["label"], "a");
  EXPECT_EQ(run["seed"], 1);
  EXPECT_EQ(run["finished"], true);
  EXPECT_EQ(run["config"]["objective"][0]["temperature"], 0.5);
  EXPECT_EQ(run["environment"]["libtorch"], "2.11.0");
  EXPECT_EQ(run["metrics"]["test.acc1"],
            (nlohmann::ordered_json{{"value", 0.5}, {"low", 0.45}, {"high", 0.55}, {"source", "groups.json"}}));
  EXPECT_TRUE(run["metrics"]["test.equalized_odds_difference"]["value"].is_null());
}

TEST_F(Reports, OtherDataSetsHaveRowsOfTheirOwn) {
  write_whole_run(run_path("a"));
  write_evaluation(run_path("a"), "groups-bffhq", described("groups", {}, {{"test.acc1", 0.25}}));
  const auto rows = key_numbers(read({"a"}));
  EXPECT_EQ(rows.front().heading, "test");
  EXPECT_EQ(rows.back().heading, "test of bffhq");
  EXPECT_EQ(rows.back().by_run[0]->value, 0.25);
  EXPECT_EQ(run_report_json(read({"a"}))["runs"][0]["metrics"]["on bffhq: test.acc1"]["value"], 0.25);
}

TEST_F(Reports, ARunLooksAlikeInAllCharts) {
  write_run(run_path("a"), {.epochs_done = 0});  // without curves
  write_run(run_path("b"));
  const std::string page = html({"a", "b"});
  EXPECT_THAT(page, HasSubstr("class=\"line c1\""));
  EXPECT_THAT(page, Not(HasSubstr("class=\"line c0\"")));
}

TEST_F(Reports, CurvesTakeStepsWhereEpochsAreFew) {
  write_run(run_path("short"), {.epochs = 4, .epochs_done = 4});
  EXPECT_THAT(html({"short"}), HasSubstr(">step</text>"));
  write_run(run_path("long"), {.epochs = 12, .epochs_done = 12});
  EXPECT_THAT(html({"long"}), Not(HasSubstr(">step</text>")));
  write_run(run_path("one"), {.epochs = 4, .epochs_done = 1});
  EXPECT_THAT(html({"one"}), HasSubstr(">training loss</title>"));
}

}  // namespace
}  // namespace debias

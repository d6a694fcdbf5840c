// The sections of a page: what they show, and what they say where a run has nothing for them.
#include "debias/report/sections/run_report.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "debias/report/run_record.h"
#include "debias/report/sections/evaluation_sections.h"
#include "debias/report/sections/missing_parts.h"
#include "tests/report/reports.h"
#include "tests/report/well_formed.h"

namespace debias {
namespace run_report_test {

using testing::HasSubstr;
using testing::Not;

TEST_F(Reports, AWholeRunHasEverySection) {
  write_whole_run(run_path("run"));
  const std::string page = html({"run"});
  const WellFormed parsed = well_formed(page);
  EXPECT_EQ(parsed.fault, "");
  for (const char* heading : {"Key numbers", "Learning curves", "Diagnostics of the objective", "Groups", "Similarities", "t-SNE plot",
                              "Nearest neighbours", "What was expected", "What was run"}) {
    EXPECT_THAT(page, HasSubstr(std::string("\">") + heading + "</h2>")) << heading;
  }
  EXPECT_THAT(page, HasSubstr("objective debiased_negatives, encoder resnet18, trained on glyphs, seed 1, 4 of 4 epochs"));
  EXPECT_THAT(page, Not(HasSubstr("class=\"missing\"")));
  EXPECT_THAT(page, Not(HasSubstr("class=\"note warning\"")));
  EXPECT_THAT(page, HasSubstr(">clamped share</title>"));
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

TEST_F(Reports, WhatWasExpectedOfAnEpochIsHeldAgainstThatEpoch) {
  write_run(run_path("run"));
  std::string recipe = fixture_recipe({}, run_path("run"));
  recipe.replace(recipe.find("tolerance"), 0, "epoch: 2, ");
  write_text(run_path("run") + "/config.yaml", recipe);
  EXPECT_THAT(html({"run"}),
              HasSubstr("run, test.knn_acc1, epoch 2</th><td class=\"n\">50.00 % ± 2.00 %</td><td class=\"n\">52.00 %</td>"));
  recipe.replace(recipe.find("epoch: 2, "), 8, "epoch: 9");
  write_text(run_path("run") + "/config.yaml", recipe);
  EXPECT_THAT(html({"run"}), HasSubstr("<td class=\"n\">–</td><td>trained for 4 epochs</td>"));
}

nlohmann::ordered_json cosines(std::vector<int64_t> histogram) {
  int64_t pairs = 0;
  for (const int64_t count : histogram) pairs += count;
  return {{"pairs", pairs}, {"mean", 0.1}, {"std", 0.1}, {"histogram", histogram}};
}

TEST_F(Reports, CosinesOfPairsAreDrawnOverTheEpochsThatWereEvaluated) {
  const RunShape shape;
  write_whole_run(run_path("run"), shape);
  EXPECT_THAT(html({"run"}), Not(HasSubstr("over the epochs")));
  for (const int64_t epoch : {10, 2}) {  // as numbers, not as words: 2 comes before 10
    auto json = described("geometry", shape, {{"test.rankme", 12.5}});
    json["similarity"]["test"] = {
        {"positive_aligned", cosines(epoch == 2 ? std::vector<int64_t>{0, 0, 10, 0} : std::vector<int64_t>{0, 0, 0, 10})},
        {"positive_conflicting", cosines({0, 5, 5, 0})},
        {"negative_aligned", cosines({0, 0, 0, 0})}};
    std::filesystem::create_directories(run_path("run") + fmt::format("/evaluation/epoch-{}", epoch));
    write_evaluation(run_path("run"), fmt::format("epoch-{}/geometry", epoch), json);
  }
  const std::string page = html({"run"});
  EXPECT_EQ(well_formed(page).fault, "");
  EXPECT_THAT(page, HasSubstr(">Cosines of positive pairs over the epochs, test</title>"));
  EXPECT_THAT(page, Not(HasSubstr("Cosines of negative pairs over the epochs")));  // there are no such pairs
  EXPECT_THAT(page, HasSubstr("positive aligned: from 0.25 to 0.75"));
  EXPECT_THAT(page, HasSubstr("positive conflicting: 0"));
}

TEST(CosineQuantile, IsEvenWithinABin) {
  const SimilarityHistogram histogram{.pairs = 10, .mean = 0, .std = 0, .histogram = {0, 2, 0, 8}};
  EXPECT_DOUBLE_EQ(cosine_quantile(histogram, 0.1), -0.25);
  EXPECT_DOUBLE_EQ(cosine_quantile(histogram, 0.2), 0);
  EXPECT_DOUBLE_EQ(cosine_quantile(histogram, 0.6), 0.75);
  EXPECT_DOUBLE_EQ(cosine_quantile(histogram, 1), 1);
  EXPECT_TRUE(std::isnan(cosine_quantile({.pairs = 0, .mean = 0, .std = 0, .histogram = {0, 0}}, 0.5)));
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
  EXPECT_EQ(groups.words, "a: no groups");
  EXPECT_EQ(missing_part(read({"a", "b"}), Part::kMap).words, "a, b: no t-SNE plot");
  EXPECT_EQ(missing_part(read({"b"}), Part::kGroups).words, "");
  EXPECT_EQ(shell_word("runs/a b"), "'runs/a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
}

void write_text_run(const std::string& folder) {
  write_run(folder);
  write_text(folder + "/config.yaml",
             "name: novels\nseed: 1\nmethod: quick_thoughts\ndata: {train: {name: sentences, root: books}}\ntrain: {epochs: 4}\n");
}

TEST_F(Reports, OfSentencesAloneHaveNothingThatAsksForClasses) {
  write_text_run(run_path("run"));
  const std::string page = html({"run"});
  EXPECT_EQ(well_formed(page).fault, "");
  for (const char* heading : {"Verdict", "Groups", "Similarities", "t-SNE plot", "Nearest neighbours"}) {
    EXPECT_THAT(page, Not(HasSubstr(std::string(heading) + "</h2>")));
  }
  EXPECT_THAT(page, HasSubstr("Nearest sentences</h2>"));
  EXPECT_THAT(page, HasSubstr("run: no sentence tasks; <code>debias eval sentences " + run_path("run") + " --root DIR</code> adds them."));
  EXPECT_THAT(page, HasSubstr("run: no nearest sentences; <code>debias text nearest " + run_path("run") +
                              " --text FILE --queries FILE</code> adds them."));
  EXPECT_EQ(page.find("debias eval "), page.find("debias eval sentences"));
  const std::string text = run_report_text(read({"run"}));
  EXPECT_THAT(text, HasSubstr("run: no sentence tasks; debias eval sentences " + run_path("run") + " --root DIR would add them\n"));
  EXPECT_THAT(text, HasSubstr("run: no nearest sentences; debias text nearest " + run_path("run")));
  EXPECT_EQ(text.find("debias eval "), text.find("debias eval sentences"));
}

TEST_F(Reports, OfSentencesAskForNothingThatIsThere) {
  write_text_run(run_path("run"));
  write_evaluation(run_path("run"), "sentences-cheap", {{"protocol", "sentences"}, {"metrics", {{"mr_acc", 0.7}}}, {"epoch", 4}});
  write_text(run_path("run") + "/nearest_sentences.json",
             R"({"queries": [{"query": "A cat.", "nearest": [{"text": "A dog.", "cosine": 0.5}]}]})");
  const std::string page = html({"run"});
  EXPECT_EQ(well_formed(page).fault, "");
  EXPECT_THAT(page, HasSubstr("A dog. (0.500)"));
  EXPECT_THAT(page, Not(HasSubstr("class=\"missing\"")));
}

TEST_F(Reports, OfSentencesAskForTasksWhereTheUntrainedEncoderAloneHasThem) {
  write_text_run(run_path("run"));
  const auto evaluate = [&](const char* name, bool untrained) {
    write_evaluation(run_path("run"), name,
                     {{"protocol", "sentences"}, {"metrics", {{"mr_acc", 0.7}}}, {"options", {{"untrained", untrained}}}, {"epoch", 4}});
    return missing_part(read({"run"}), Part::kSentenceTasks).words;
  };
  EXPECT_EQ(evaluate("sentences-untrained", true), "run: no sentence tasks");
  EXPECT_EQ(evaluate("sentences-cheap", false), "");
}

TEST_F(Reports, OfSentencesBesideImagesSayWhyTheyHaveNoVerdict) {
  write_text_run(run_path("text"));
  write_run(run_path("images"));
  const std::string page = html({"text", "images"});
  EXPECT_EQ(well_formed(page).fault, "");
  EXPECT_THAT(page, HasSubstr("This run learns from sentences: there are no classes and no bias labels to evaluate it by."));
  EXPECT_THAT(page, HasSubstr("images: no t-SNE plot"));
  EXPECT_THAT(page, Not(HasSubstr("debias eval groups,geometry " + run_path("text"))));
  EXPECT_THAT(html({"images"}), Not(HasSubstr("Nearest sentences")));
}

TEST_F(Reports, AnUnfinishedRunIsShownAsSuch) {
  write_run(run_path("run"), {.epochs = 4, .epochs_done = 2});
  EXPECT_THAT(html({"run"}), HasSubstr("2 of 4 epochs, unfinished"));
  write_run(run_path("none"), {.epochs = 4, .epochs_done = 0});
  const std::string page = html({"none"});
  EXPECT_THAT(page, HasSubstr("No epoch is finished and nothing was evaluated yet."));
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
  EXPECT_THAT(page, HasSubstr("alt=\"evaluated image 0: cat, green\""));
  EXPECT_EQ(attributes(well_formed(page), "src").size(), 16u);
}

TEST_F(Reports, AFewEvaluatedImagesAreShownAndTheOthersFolded) {
  write_run(run_path("run"));
  write_neighbours(run_path("run"), 10);
  const std::string page = html({"run"});
  const size_t fold = page.find("<details><summary>4 more</summary><ul class=\"near\">");
  ASSERT_NE(fold, std::string::npos);
  for (const int first : {0, 1, 2, 3, 4, 5}) EXPECT_LT(page.find(fmt::format("evaluated image {}:", first)), fold);
  for (const int other : {6, 7, 8, 9}) EXPECT_GT(page.find(fmt::format("evaluated image {}:", other)), fold);
  EXPECT_EQ(well_formed(page).fault, "");
}

TEST_F(Reports, AThumbnailThatIsMissingOrNoPngIsSaidSo) {
  write_whole_run(run_path("run"));
  std::filesystem::remove(run_path("run") + "/evaluation/thumbnails/train_200.png");
  write_text(run_path("run") + "/evaluation/thumbnails/test_1.png", "<svg onload=\"alert(1)\">");
  const std::string page = html({"run"});
  EXPECT_EQ(well_formed(page).fault, "");
  EXPECT_THAT(page, HasSubstr("2 thumbnails are missing or not PNG files, test_1.png the first"));
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
  EXPECT_THAT(page, HasSubstr(" of 60 evaluated images are shown, to keep the file small."));
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

TEST_F(Reports, TextForTheTerminal) {
  write_run(run_path("a"));
  write_groups(run_path("a"));
  write_run(run_path("b"), {.epochs_done = 1});
  const std::string text = run_report_text(read({"a", "b"}));
  EXPECT_THAT(text, HasSubstr(run_path("b") + ": fixture, seed 1, 1 of 4 epochs, unfinished\n"));
  EXPECT_THAT(text, testing::ContainsRegex("  kNN accuracy +54.00 % +51.00 %\n"));
  EXPECT_THAT(text, testing::ContainsRegex("  worst-group accuracy, kNN +50.00 % .40.00, 60.00. +-\n"));
  EXPECT_THAT(text, HasSubstr("b: no groups; debias eval groups " + run_path("b") + " would add them\n"));
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
            (nlohmann::ordered_json{{"value", 0.5}, {"low", 0.45}, {"high", 0.55}, {"predictions", "knn"}, {"source", "groups.json"}}));
  EXPECT_TRUE(run["metrics"]["test.equalized_odds_difference"]["value"].is_null());
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

TEST_F(Reports, BeginWithTheVerdict) {
  write_biased_run(run_path("run"), {});
  const std::string page = html({"run"});
  const size_t verdict = page.find("Verdict</h2>");
  ASSERT_NE(verdict, std::string::npos);
  EXPECT_LT(verdict, page.find("objective debiased_negatives"));
  EXPECT_THAT(
      page,
      HasSubstr("<ul class=\"verdict\"><li class=\"used\"><strong>The shortcut is still used very strongly.</strong> On test, 97.5 %"));
  EXPECT_TRUE(run_report_text(read({"run"})).starts_with("run: the shortcut is still used very strongly. On test, 97.5 %"));
  const auto json = run_report_json(read({"run"}));
  EXPECT_EQ(json["verdict"]["shortcut"][0]["finding"], "used");
  EXPECT_TRUE(json["verdict"]["comparisons"].empty());
}

TEST_F(Reports, ClassesHaveTheirAccuracyAndAreDistinguished) {
  write_biased_run(run_path("run"), {.aligned = 0.975, .conflicting = 0.2, .images = 800});
  const std::string page = html({"run"});
  EXPECT_THAT(page, HasSubstr("Accuracy by class, test; predictions by classifier"));
  EXPECT_THAT(page, HasSubstr("cat</th><td class=\"n\">800</td><td class=\"n\">58.8 %</td>"));
  EXPECT_THAT(page, HasSubstr("class in rows, what it was taken for in columns"));
  EXPECT_THAT(page, HasSubstr("cat</th><td class=\"own\" style=\"--v:0.588\">470</td><td style=\"--v:0.412\">330</td>"));
}

TEST_F(Reports, BiasValuesHaveTheirErrorsAndSelectionRates) {
  write_biased_run(run_path("run"), {.aligned = 0.975, .conflicting = 0.2, .images = 800});
  const std::string page = html({"run"});
  EXPECT_THAT(page, HasSubstr("errors, and how often each class is chosen, in percent, by bias label"));
  EXPECT_THAT(page, HasSubstr("red</th><td style=\"--v:0\">800</td><td style=\"--v:0.412\">41.2</td><td style=\"--v:0.875\">87.5</td>"));
  EXPECT_THAT(page, HasSubstr("aligned are cat: red; dog: blue."));
}

TEST_F(Reports, AlignedGroupsAreMarkedByNameNotByNumber) {
  write_biased_run(run_path("run"), {.aligned = 0.975, .conflicting = 0.2});
  // The row of cat: blue conflicts and is among the worst; red is cat's own.
  EXPECT_THAT(html({"run"}), HasSubstr("cat</th><td class=\"least\" style=\"--v:0.200\">20.0<span class=\"small\">400</span></td>"
                                       "<td class=\"own\" style=\"--v:0.975\">"));
}

TEST_F(Reports, RunsShowTheSameEvaluatedImagesFirst) {
  write_run(run_path("a"));
  write_run(run_path("b"), {.objective = "infonce"});
  write_neighbours(run_path("a"), 9);
  auto knn = described("knn", {}, {});
  for (const int id : {8, 70, 71, 72, 73, 74, 75, 76}) {
    knn["neighbours"]["test"].push_back({{"query", id}, {"label", 0}, {"predicted", 1}, {"nearest", nlohmann::ordered_json::array()}});
  }
  write_evaluation(run_path("b"), "knn", knn);
  const auto runs = read({"a", "b"});
  EXPECT_THAT(shared_queries(runs, {"", "test"}), testing::ElementsAre(8));
  EXPECT_THAT(neighbour_gallery(runs[0], {"", "test"}, {8}, 1 << 20).first.source, HasSubstr("evaluated image 8:"));
  EXPECT_THAT(neighbour_gallery(runs[0], {"", "test"}, {}, 1 << 20).first.source, Not(HasSubstr("evaluated image 8:")));
  EXPECT_THAT(html({"a", "b"}), HasSubstr("The images of test that every run shows come first."));
}

TEST_F(Reports, WithoutGroupsTheNamesAreThoseOfTheRunsTable) {
  write_run(run_path("run"));
  write_neighbours(run_path("run"), 1);
  EXPECT_THAT(html({"run"}), HasSubstr("evaluated image 0: class 0, bias 1"));
  write_text(run_path("run") + "/classes.json", R"({"classes": ["cat", "dog"], "biases": ["blue", "red"]})");
  EXPECT_THAT(html({"run"}), HasSubstr("evaluated image 0: cat, red"));
}

TEST_F(Reports, ColoursAreRunsAlsoWhereALineIsATerm) {
  write_run(run_path("a"));
  write_run(run_path("b"), {.objective = "infonce"});
  for (const char* run : {"a", "b"}) {
    std::string lines;
    for (const int epoch : {1, 2, 3}) {
      lines += fmt::format("{{\"epoch\": {}, \"infonce.clamped_share\": 0.5, \"fairkl.clamped_share\": 0.25}}\n", epoch);
    }
    write_text(run_path(run) + "/metrics.jsonl", lines);
  }
  const std::string page = html({"a", "b"});
  for (const char* line : {"line c0 d0", "line c0 d1", "line c1 d0", "line c1 d1"}) EXPECT_THAT(page, HasSubstr(line));
  EXPECT_THAT(page, Not(HasSubstr("line c2")));
}

TEST_F(Reports, TheAccuracyOfAllIsNotDrawnBeyondAHundredPercent) {
  write_run(run_path("run"), {.accuracy = 1});
  std::string lines;
  for (const int epoch : {1, 2, 3}) lines += fmt::format("{{\"epoch\": {}, \"test.knn_acc1\": 1.0}}\n", epoch);
  write_text(run_path("run") + "/metrics.jsonl", lines);
  EXPECT_THAT(html({"run"}), HasSubstr(">100 %</text>"));
  EXPECT_THAT(html({"run"}), Not(HasSubstr(">110 %</text>")));
}

}  // namespace run_report_test
}  // namespace debias

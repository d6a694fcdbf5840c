// The sections of a page: what they show, and what they say where a run has nothing for them.
#include <iterator>
#include <sstream>

#include "debias/report/sections/evaluation_sections.h"
#include "debias/report/sections/missing_parts.h"
#include "tests/report/reports.h"

namespace debias::run_report_test {

// Of classes, which sentences and agents have none of.
const std::vector<std::string> kOfClasses = {"Verdict</h2>", "Groups</h2>", "Similarities</h2>", "t-SNE plot</h2>",
                                             "Nearest neighbours</h2>"};

TEST_F(Reports, AWholeRunHasEverySection) {
  write_whole_run("run");
  const std::string page = html({"run"});
  for (const char* heading : {"Verdict", "Further numbers", "Learning curves", "Diagnostics of the objective", "Groups", "Similarities",
                              "t-SNE plot", "Nearest neighbours", "What was expected", "What was run"}) {
    EXPECT_THAT(page, HasSubstr(fmt::format("<details class=\"section\"><summary><h2>{}</h2> <span class=\"note\">", heading)));
  }
  expect_parts(
      page,
      {"objective debiased_negatives, encoder resnet18, trained on glyphs, seed 1, 4 of 4 epochs", ">clamped share</title>",
       "50.00 %<span class=\"small\"> [45.00, 55.00]</span>", "95 % bootstrap interval", "debias train run/config.yaml output=OTHER"},
      {"class=\"missing\"", "class=\"note warning\""});
  EXPECT_GE(well_formed(page).count("svg"), 8u);
  EXPECT_EQ(html({"run"}), page) << "the same folders give the same bytes";
}

TEST_F(Reports, WhatWasExpectedOfAnEpochIsHeldAgainstThatEpoch) {
  write_run("run");
  std::string recipe = fixture_recipe({}, "run");
  recipe.replace(recipe.find("tolerance"), 0, "epoch: 2, ");
  write_text("run/config.yaml", recipe);
  EXPECT_THAT(html({"run"}),
              HasSubstr("run, test.knn_acc1, epoch 2</th><td class=\"n\">50.00 % ± 2.00 %</td><td class=\"n\">52.00 %</td>"));
  recipe.replace(recipe.find("epoch: 2, "), 8, "epoch: 9");
  write_text("run/config.yaml", recipe);
  EXPECT_THAT(html({"run"}), HasSubstr("<td class=\"n\">–</td><td>trained for 4 epochs</td>"));
}

Json cosines(std::vector<int64_t> histogram) {
  int64_t pairs = 0;
  for (const int64_t count : histogram) pairs += count;
  return {{"pairs", pairs}, {"mean", 0.1}, {"std", 0.1}, {"histogram", histogram}};
}

TEST_F(Reports, CosinesOfPairsAreDrawnOverTheEpochsThatWereEvaluated) {
  write_whole_run("run");
  EXPECT_THAT(html({"run"}), Not(HasSubstr("over the epochs")));
  for (const int64_t epoch : {10, 2}) {  // as numbers, not as words: 2 comes before 10
    auto json = described("geometry", {}, {{"test.rankme", 12.5}});
    json["similarity"]["test"] = {
        {"positive_aligned", cosines(epoch == 2 ? std::vector<int64_t>{0, 0, 10, 0} : std::vector<int64_t>{0, 0, 0, 10})},
        {"positive_conflicting", cosines({0, 5, 5, 0})},
        {"negative_aligned", cosines({0, 0, 0, 0})}};
    write_evaluation("run", fmt::format("epoch-{}/geometry", epoch), json);
  }
  expect_parts(
      html({"run"}),
      {">Cosines of positive pairs over the epochs, test</title>", "positive aligned: from 0.25 to 0.75", "positive conflicting: 0"},
      {"Cosines of negative pairs over the epochs"});  // there are no such pairs
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
  write_run("a");
  write_run("b");
  write_groups("b");
  const std::string one = html({"a"});
  for (const char* protocol : {"groups", "geometry", "tsne", "knn"}) {
    EXPECT_THAT(one, HasSubstr(fmt::format("<code>debias eval {} {}</code> adds them.</p>", protocol, "a")));
  }
  EXPECT_EQ(missing_part(read({"a", "b"}), Part::kGroups).words, "a: no groups");
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
  write_text_run("run");
  const std::string page = html({"run"}), text = Reports::text({"run"}), tasks = "debias eval sentences run --root DIR",
                    nearest = "debias text nearest run";
  expect_parts(page,
               {"Nearest sentences</h2>", "run: no sentence tasks; <code>" + tasks + "</code> adds them.",
                "run: no nearest sentences; <code>" + nearest + " --text FILE --queries FILE</code> adds them."},
               kOfClasses);
  expect_parts(text, {"run: no sentence tasks; " + tasks + " would add them\n", "run: no nearest sentences; " + nearest});
  for (const auto& said : {page, text}) EXPECT_EQ(said.find("debias eval "), said.find("debias eval sentences"));
}

TEST_F(Reports, OfSentencesAskForNothingThatIsThere) {
  write_text_run("run");
  const auto evaluate = [&](const char* name, bool untrained) {
    write_evaluation("run", name,
                     {{"protocol", "sentences"}, {"metrics", {{"mr_acc", 0.7}}}, {"options", {{"untrained", untrained}}}, {"epoch", 4}});
    return missing_part(read({"run"}), Part::kSentenceTasks).words;
  };
  EXPECT_EQ(evaluate("sentences-untrained", true), "run: no sentence tasks");  // the untrained encoder alone has them
  EXPECT_EQ(evaluate("sentences-cheap", false), "");
  write_text("run/nearest_sentences.json", R"({"queries": [{"query": "A cat.", "nearest": [{"text": "A dog.", "cosine": 0.5}]}]})");
  expect_parts(html({"run"}), {"A dog. (0.500)"}, {"class=\"missing\""});
}

TEST_F(Reports, OfSentencesBesideImagesSayWhyTheyHaveNoVerdict) {
  write_text_run("text");
  write_run("images");
  expect_parts(html({"text", "images"}),
               {"The runs cannot be compared: their files do not say that they were evaluated on the same test data.",
                "This run learns from sentences: there are no classes and no bias labels to evaluate it by.", "images: no t-SNE plot"},
               {"debias eval groups,geometry text"});
  EXPECT_THAT(html({"images"}), Not(HasSubstr("Nearest sentences")));
}

TEST_F(Reports, AnUnfinishedRunIsShownAsSuch) {
  write_run("run", {.epochs = 4, .epochs_done = 2});
  EXPECT_THAT(html({"run"}), HasSubstr("2 of 4 epochs, unfinished"));
  write_run("none", {.epochs = 4, .epochs_done = 0});
  EXPECT_THAT(html({"none"}), HasSubstr("No epoch is finished and nothing was evaluated yet."));
  EXPECT_THAT(text({"none"}), HasSubstr("no epoch is finished"));
}

TEST_F(Reports, NeighboursOfAnotherGroupAreMarked) {
  write_whole_run("run");
  const std::string page = html({"run"});
  expect_parts(page,
               {"<div class=\"thumb otherclass\">", "<span class=\"why\">other class, same bias</span>",
                "<span class=\"why\">other bias</span>", "&lt;dog&gt;, green<br/>cos 0.800", "alt=\"evaluated image 0: cat, green\""});
  EXPECT_EQ(attributes(well_formed(page), "src").size(), 16u);
}

TEST_F(Reports, AFewEvaluatedImagesAreShownAndTheOthersFolded) {
  write_run("run");
  write_neighbours("run", 10);
  const std::string page = html({"run"});
  const size_t fold = page.find("<details><summary>4 more</summary><ul class=\"near\">");
  ASSERT_NE(fold, std::string::npos);
  for (int image = 0; image < 10; ++image) EXPECT_EQ(page.find(fmt::format("evaluated image {}:", image)) < fold, image < 6) << image;
}

TEST_F(Reports, AThumbnailThatIsMissingOrNoPngIsSaidSo) {
  write_whole_run("run");
  fs::remove("run/evaluation/thumbnails/train_200.png");
  write_text("run/evaluation/thumbnails/test_1.png", "<svg onload=\"alert(1)\">");
  const std::string page = html({"run"});
  expect_parts(page, {"2 thumbnails are missing or not PNG files, test_1.png the first"}, {"onload"});
  EXPECT_EQ(attributes(well_formed(page), "src").size(), 14u);
}

TEST_F(Reports, ALargeRunStaysBelowTwoMegabytesAndSaysWhatIsLeftOut) {
  write_run("run");
  write_map("run", 20000);
  write_neighbours("run", 60, "\x89PNG" + std::string(30000, 'x'));
  const std::string page = html({"run"});
  EXPECT_LT(page.size(), 2'000'000u);
  expect_parts(page, {"20000 images, perplexity 30, divergence 0.75; 3000 of them are drawn, evenly picked",
                      " of 60 evaluated images are shown, to keep the file small."});
}

TEST_F(Reports, SeveralRunsStandSideBySide) {
  write_whole_run("a", {.seed = 1, .objective = "infonce"});
  write_whole_run("b", {.seed = 2});
  expect_parts(html({"a", "b"}),
               {"<h1>a against b on glyphs</h1>", "<code>objective.0.name</code></th><td>infonce</td><td>debiased_negatives</td>",
                "<code>seed</code></th><td>1</td><td>2</td>", "the losses cannot be compared"},
               {"<code>output</code>"});
}

TEST_F(Reports, ARecipeThatHoldsMarkupStaysText) {
  write_run("run", {.name = "\"<script>alert(1)</script>\""});
  EXPECT_THAT(html({"run"}), HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

TEST_F(Reports, TextForTheTerminal) {
  write_run("a");
  write_groups("a");
  write_run("b", {.epochs_done = 1});
  const std::string shown = text({"a", "b"});
  expect_parts(shown, {"b: fixture, seed 1, 1 of 4 epochs, unfinished\n", "b: no groups; debias eval groups b would add them\n"});
  EXPECT_THAT(shown, ContainsRegex("  kNN accuracy +54.00 % +51.00 %\n"));
  EXPECT_THAT(shown, ContainsRegex("  worst-group accuracy, kNN +50.00 % .40.00, 60.00. +-\n"));
}

TEST_F(Reports, JsonForPrograms) {
  write_whole_run("a");
  const auto run = run_report_json(read({"a"}))["runs"][0];
  EXPECT_EQ(run["label"], "a");
  EXPECT_EQ(run["seed"], 1);
  EXPECT_EQ(run["finished"], true);
  EXPECT_EQ(run["config"]["objective"][0]["temperature"], 0.5);
  EXPECT_EQ(run["environment"]["libtorch"], "2.11.0");
  EXPECT_EQ(run["metrics"]["test.acc1"],
            (Json{{"value", 0.5}, {"low", 0.45}, {"high", 0.55}, {"predictions", "knn"}, {"source", "groups.json"}}));
  EXPECT_TRUE(run["metrics"]["test.equalized_odds_difference"]["value"].is_null());
}

TEST_F(Reports, CurvesTakeStepsWhereEpochsAreFewAndEachRunLooksAlikeInAllCharts) {
  write_run("none", {.epochs_done = 0});
  write_run("short", {.epochs = 4, .epochs_done = 4});
  expect_parts(html({"none", "short"}), {">step</text>", "class=\"line c1\""}, {"class=\"line c0\""});
  write_run("long", {.epochs = 12, .epochs_done = 12});
  EXPECT_THAT(html({"long"}), Not(HasSubstr(">step</text>")));
  write_run("one", {.epochs = 4, .epochs_done = 1});
  EXPECT_THAT(html({"one"}), HasSubstr(">training loss</title>"));
}

// What a person reads first; the rest is folded.
std::string first_of(const std::string& page) { return page.substr(0, page.find("<details")); }

size_t words_of_lead(const std::string& page) {
  const size_t begin = page.find("<p class=\"lead\">"), end = page.find("</p>", begin);
  EXPECT_NE(begin, std::string::npos);
  std::istringstream words(page.substr(begin + 16, end - begin - 16));
  return static_cast<size_t>(std::distance(std::istream_iterator<std::string>(words), {}));
}

TEST_F(Reports, BeginWithOneVerdictOneFigureAndOneCommand) {
  write_biased_run("run", {});
  const std::string page = html({"run"}), first = first_of(page);
  expect_parts(
      first,
      {"<h1>run on glyphs</h1>",
       "<p class=\"lead alarm\">The shortcut is still used very strongly: conflicting images 20 %, aligned ones 98 % right: 77 points "
       "apart (74 to 80).</p>",
       ">Images classified correctly</title>", ">chance 50 %</text>", "(red goes with cat, blue goes with dog)",
       "<code tabindex=\"0\">debias train run <span class=\"whole\">--seeds</span> 3 output=run-seeds</code><button type=\"button\"",
       "Predictions by classifier on test images."});
  EXPECT_EQ(well_formed(first).count("svg"), 1u);
  EXPECT_EQ(first.find("Further numbers"), std::string::npos);
  EXPECT_THAT(text({"run"}), StartsWith("The shortcut is still used very strongly: conflicting images 20 %"));
  const auto json = run_report_json(read({"run"}));
  EXPECT_EQ(json["verdict"]["title"], "run on glyphs");
  EXPECT_EQ(json["verdict"]["shortcut"][0]["finding"], "used");
  EXPECT_EQ(json["verdict"]["figure"]["rows"][0]["aligned"]["value"], 0.975);
  EXPECT_EQ(json["verdict"]["figure"]["chance"], 0.5);
  EXPECT_TRUE(json["verdict"]["comparisons"].empty());
}

TEST_F(Reports, OfTwoRunsSayWhatTheCorrectionRemovesAndWhatItCosts) {
  write_biased_run("plain", {.aligned = 0.975, .conflicting = 0.2}, {.objective = "infonce"});
  write_biased_run("fair", {.aligned = 0.9, .conflicting = 0.7});
  expect_parts(
      first_of(html({"plain", "fair"})),
      {"<h1>plain against fair on glyphs</h1>", "<p class=\"lead\">fair removes most of the shortcut: conflicting images 20 → 70 % (+50, ",
       "aligned ones -7", ">20 %</text>", ">98 %</text>", ">70 %</text>", ">90 %</text>", "halo best\">fair</text>"},
      {"halo best\">plain"});
  // The first run is the plain one, unless it is the best.
  expect_parts(first_of(html({"fair", "plain"})), {"fair removes most of the shortcut"});
}

TEST_F(Reports, ShowEightImagesWithWhatBothNetworksSayElseTheGroups) {
  const auto with_examples = [](const std::string& name, const std::string& predicted) {
    auto groups = nlohmann::ordered_json::parse(file_text(name + "/evaluation/groups.json"));
    for (int id = 0; id < 8; ++id) {
      groups["examples"]["test"].push_back({{"id", id},
                                            {"aligned", id < 4},
                                            {"label", "cat"},
                                            {"bias", id < 4 ? "red" : "blue"},
                                            {"predicted", id < 4 ? "cat" : predicted}});
      write_text(fmt::format("{}/evaluation/examples/test_{}.png", name, id), "\x89PNG pixels");
    }
    write_evaluation(name, "groups", groups);
  };
  write_biased_run("plain", {.conflicting = 0.2}, {.objective = "infonce"});
  write_biased_run("fair", {.conflicting = 0.7});
  EXPECT_THAT(first_of(html({"plain", "fair"})), HasSubstr("fair: percent right, number of images below"));
  with_examples("plain", "dog");
  with_examples("fair", "cat");
  const std::string first = first_of(html({"plain", "fair"}));
  EXPECT_EQ(attributes(well_formed(first), "src").size(), 8u);
  expect_parts(first,
               {"<caption>Follow the shortcut (aligned)</caption>", "alt=\"test image 4: cat, blue\"",
                "<th scope=\"row\">plain</th><td class=\"wrong\">✗ dog</td>", "<th scope=\"row\">fair</th><td>✓ cat</td>"},
               {"percent right, number of images below"});
  expect_parts(first_of(html({"fair"})), {"<th scope=\"row\">predicted</th><td>✓ cat</td>"});
  fs::remove("fair/evaluation/examples/test_0.png");
  EXPECT_THAT(first_of(html({"fair"})), HasSubstr("percent right, number of images below"));
}

struct RemovalCase {
  double aligned, conflicting;
  std::string words;
};

TEST_F(Reports, NameHowMuchOfTheShortcutIsLeft) {
  write_biased_run("plain", {.aligned = 0.95, .conflicting = 0.35, .images = 4000}, {.objective = "infonce"});
  const std::vector<RemovalCase> cases = {{0.95, 0.91, "b removes nearly all of the shortcut"},
                                          {0.90, 0.70, "b removes most of the shortcut"},
                                          {0.95, 0.50, "b removes part of the shortcut"},
                                          {0.99, 0.45, "b recognises more conflicting images than plain, yet keeps the shortcut"},
                                          {0.60, 0.70, "b removes the shortcut and over-corrects"},
                                          {0.95, 0.36, "No difference shown, b against plain: conflicting images 35 → 36 %"}};
  for (const auto& [aligned, conflicting, words] : cases) {
    write_biased_run("b", {.aligned = aligned, .conflicting = conflicting, .images = 4000});
    const std::string page = html({"plain", "b"});
    EXPECT_THAT(page, HasSubstr("<p class=\"lead\">" + words));
    EXPECT_LE(words_of_lead(page), 25u) << words;
  }
}

// Of three runs, the best is chosen: the interval of two excludes no difference, the test adjusted for three comparisons does not.
TEST_F(Reports, LeaveUndecidedWhatTheIntervalAloneWouldShow) {
  write_biased_run("plain", {.conflicting = 0.35, .images = 4000}, {.objective = "infonce"});
  write_biased_run("b", {.conflicting = 0.373, .images = 4000});
  write_biased_run("c", {.conflicting = 0.36, .images = 4000});
  EXPECT_THAT(html({"plain", "b", "c"}), HasSubstr("<p class=\"lead\">Undecided, b against plain (p = 0."));
}

TEST_F(Reports, OfManyMethodsHaveARowEachAndStayShortOnTheTerminal) {
  std::vector<std::string> names;
  for (int i = 0; i < 15; ++i) {
    names.push_back(fmt::format("method-{}", static_cast<char>('a' + i)));
    write_biased_run(names.back(), {.conflicting = 0.2 + 0.04 * i, .images = 4000}, {.objective = names.back()});
  }
  const std::string page = html(names), first = first_of(page);
  EXPECT_LE(words_of_lead(page), 25u);
  expect_parts(first, {"<h1>15 methods: method-a, method-b, method-c and 12 more on glyphs</h1>", "method-o removes most of the shortcut",
                       ">method-a</text>", "halo best\">method-o</text>", "3 more methods are under Verdict."});
  const std::string shown = run_report_text(read(names), {});
  EXPECT_LE(std::ranges::count(shown, '\n'), 14) << shown;
  EXPECT_THAT(shown, HasSubstr("\n18 more: debias report -v\n"));
  EXPECT_EQ(run_report_json(read(names))["verdict"]["figure"]["rows"].size(), 15u);
  for (const size_t width : {60, 80, 200}) {
    size_t rows = 0;
    std::istringstream lines(run_report_text(read(names), {}, width));
    for (std::string line; std::getline(lines, line);) rows += 1 + line.size() / width;
    EXPECT_LE(rows, 14u) << width;
  }
}

TEST_F(Reports, LongNamesOfManyMethodsAreNotInTheTitle) {
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.push_back(fmt::format("runs/method-with-a-long-name-{}", i));
    write_biased_run(names.back(), {.conflicting = 0.2 + 0.1 * i, .images = 4000}, {.objective = fmt::format("method-{}", i)});
  }
  EXPECT_THAT(html(names), HasSubstr("<h1>5 methods on glyphs</h1>"));
}

// "b" is the best of all, and learns from other data than "plain", which was given first.
TEST_F(Reports, CompareFirstOfAllWithARunOnTheSameTrainingData) {
  write_biased_run("plain", {.conflicting = 0.2, .images = 4000}, {.objective = "infonce"});
  write_biased_run("own", {.conflicting = 0.3, .images = 4000}, {.objective = "end"});
  write_biased_run("b", {.conflicting = 0.7, .images = 4000});
  EXPECT_THAT(html({"plain", "own", "b"}), HasSubstr("<p class=\"lead\">b removes most of the shortcut: conflicting images 20 → 70 %"));
  const auto train_on = [](const std::string& run, int64_t count) {
    auto sets = nlohmann::ordered_json::parse(fs::exists(run + "/data/sets.json") ? file_text(run + "/data/sets.json") : "{}");
    sets["train"] = {{"name", "glyphs"}, {"count", count}, {"classes", {"cat", "dog"}}, {"images", fmt::format("digest {}", count)}};
    write_text(run + "/data/sets.json", sets.dump());
  };
  train_on("plain", 100);
  train_on("own", 200);
  train_on("b", 200);
  EXPECT_THAT(html({"plain", "own", "b"}), HasSubstr("<p class=\"lead\">b removes most of the shortcut: conflicting images 30 → 70 %"));
  EXPECT_THAT(html({"plain", "b"}),
              HasSubstr("<p class=\"lead\">b, trained on other data than plain, recognises more: conflicting images 20 → 70 %"));
}

TEST_F(Reports, WhatSeveralRunsHaveAlikeIsSaidOnce) {
  for (const char* run : {"a", "b", "c"}) write_run(run, {.objective = run});
  const std::string shown = run_report_text(read({"a", "b", "c"}), {});
  EXPECT_THAT(shown, HasSubstr("\na, b and c: no bias information. There are no bias labels"));
}

TEST_F(Reports, OnATerminalHaveABarForEachMethod) {
  write_biased_run("plain", {.conflicting = 0.2}, {.objective = "infonce"});
  write_biased_run("fair", {.conflicting = 0.7});
  expect_parts(run_report_text(read({"plain", "fair"}), {.bar = "#"}), {"\n  plain ####                    20 % of conflicting images\n",
                                                                        "\n  fair  ##############          70 % of conflicting images\n"});
  EXPECT_THAT(run_report_text(read({"plain", "fair"}), {}), Not(HasSubstr("of conflicting images\n")));
}

TEST_F(Reports, WithoutBiasLabelsShowChanceAndSayWhatIntervalsCover) {
  for (const char* run : {"a", "b"}) {
    write_run(run, {.objective = run});
    auto knn = described("knn", {}, {{"test.knn_acc1", 0.5}});
    knn["counts"]["test"] = 400;
    knn["by_class"]["test"] = {{"per_class",
                                {{"cat", {{"count", 300}, {"predicted", 200}, {"accuracy", 0.5}}},
                                 {"dog", {{"count", 100}, {"predicted", 200}, {"accuracy", 0.5}}}}}};
    write_evaluation(run, "knn", knn);
  }
  expect_parts(first_of(html({"a", "b"})), {">chance 75 %</text>", ">kNN accuracy, test</title>", "class=\"whisker",
                                            "95 % intervals cover other images and the same network, not other seeds."});
}

TEST_F(Reports, TheWordInconclusiveHeadsNoRun) {
  write_biased_run("plain", {.aligned = 0.95, .conflicting = 0.35, .images = 400}, {.objective = "infonce"});
  write_biased_run("fair", {.aligned = 0.80, .conflicting = 0.78, .images = 400});
  const std::string shown = run_report_text(read({"plain", "fair"}), {});
  EXPECT_THAT(shown, StartsWith("fair removes nearly all of the shortcut: "));
  expect_parts(shown, {"fair: up to 8 points of the shortcut may be left. "}, {"nconclusive"});
}

TEST_F(Reports, AFolderIsNamedByItsName) {
  write_biased_run("run", {});
  std::string recipe = file_text("run/config.yaml");
  for (size_t at; (at = recipe.find("name: glyphs, root: \"\"")) != std::string::npos;)
    recipe.replace(at, 22, "name: image_folder, root: some/birds/");
  write_text("run/config.yaml", recipe);
  EXPECT_THAT(html({"run"}), HasSubstr("<h1>run on birds</h1>"));
}

TEST_F(Reports, OfCorrectedFeaturesCompareThemWithTheFeaturesBefore) {
  write_biased_run("fixed", {.aligned = 0.9, .conflicting = 0.7, .predictions = "linear"});
  write_text("fixed/config.yaml", "name: fix-erase\nseed: 1\nfix: {embeddings: some/vectors.npy}\ndata: {test: {name: features}}\n");
  auto before = nlohmann::ordered_json::parse(file_text("fixed/evaluation/groups.json"));
  before["metrics"]["test.aligned_acc"] = 1.0;
  before["metrics"]["test.conflicting_acc"] = 0.4;
  write_evaluation("fixed", "groups-before", before);
  expect_parts(first_of(html({"fixed"})),
               {"<h1>fixed on vectors.npy</h1>", "fixed removes most of the shortcut: conflicting images 40 → 70 % (+30, ",
                ">fixed, before</text>", ">100 %</text>"});
  EXPECT_EQ(run_report_json(read({"fixed"}))["verdict"]["figure"]["rows"].size(), 2u);
  // What fix says of the epoch is what it evaluated: no second row.
  write_text("fixed/metrics.jsonl", R"({"epoch":1,"test.acc1":0.8,"test.conflicting_acc":0.7})");
  const std::string numbers = first_of(html({"fixed"}));
  expect_parts(numbers,
               {"<th scope=\"row\">accuracy, bias-conflicting, linear probe</th>", "colspan=\"2\">test, before the correction</th>"},
               {"<th scope=\"row\">accuracy, bias-conflicting</th>"});
}

TEST_F(Reports, OfCorrectedFeaturesWithoutEvaluatedRowsNameTheFolds) {
  write_biased_run("fixed", {.aligned = 0.9, .conflicting = 0.7, .predictions = "linear"});
  write_text("fixed/config.yaml", "name: fix-erase\nseed: 1\nfix: {embeddings: some/vectors.npy}\ndata: {train: {name: features}}\n");
  std::string record = file_text("fixed/evaluation/groups.json");
  for (size_t at; (at = record.find("\"test")) != std::string::npos;) record.replace(at, 5, "\"valid");
  write_evaluation("fixed", "groups", nlohmann::ordered_json::parse(record));
  expect_parts(html({"fixed"}), {"Accuracy by class, folds; predictions by"}, {"Accuracy by class, valid"});
}

// The row of cat: blue conflicts and is among the worst; red is cat's own.
TEST_F(Reports, ClassesAndBiasValuesHaveTheirNumbersAndAlignedGroupsAreMarkedByName) {
  write_biased_run("run", {.aligned = 0.975, .conflicting = 0.2, .images = 800});
  expect_parts(html({"run"}),
               {"Accuracy by class, test; predictions by classifier", "cat</th><td class=\"n\">800</td><td class=\"n\">58.8 %</td>",
                "class in rows, what it was taken for in columns",
                "cat</th><td class=\"own\" style=\"--v:0.588\">470</td><td style=\"--v:0.412\">330</td>",
                "errors, and how often each class is chosen, in percent, by bias label",
                "red</th><td style=\"--v:0\">800</td><td style=\"--v:0.412\">41.2</td><td style=\"--v:0.875\">87.5</td>",
                "aligned are cat: red; dog: blue.",
                "cat</th><td class=\"least\" style=\"--v:0.200\">20.0<span class=\"small\">400</span></td><td class=\"own\" "
                "style=\"--v:0.975\">"});
}

TEST_F(Reports, RunsShowTheSameEvaluatedImagesFirst) {
  write_run("a");
  write_run("b", {.objective = "infonce"});
  write_neighbours("a", 9);
  auto knn = described("knn", {}, {});
  for (const int id : {8, 70, 71, 72, 73, 74, 75, 76}) {
    knn["neighbours"]["test"].push_back({{"query", id}, {"label", 0}, {"predicted", 1}, {"nearest", Json::array()}});
  }
  write_evaluation("b", "knn", knn);
  const auto runs = read({"a", "b"});
  EXPECT_THAT(shared_queries(runs, {"", "test"}), ElementsAre(8));
  EXPECT_THAT(neighbour_gallery(runs[0], {"", "test"}, {8}, 1 << 20).first.source, HasSubstr("evaluated image 8:"));
  EXPECT_THAT(neighbour_gallery(runs[0], {"", "test"}, {}, 1 << 20).first.source, Not(HasSubstr("evaluated image 8:")));
  EXPECT_THAT(html({"a", "b"}), HasSubstr("The images of test that every run shows come first."));
}

TEST_F(Reports, WithoutGroupsTheNamesAreThoseOfTheRunsTable) {
  write_run("run");
  write_neighbours("run", 1);
  EXPECT_THAT(html({"run"}), HasSubstr("evaluated image 0: class 0, bias 1"));
  write_text("run/classes.json", R"({"classes": ["cat", "dog"], "biases": ["blue", "red"]})");
  EXPECT_THAT(html({"run"}), HasSubstr("evaluated image 0: cat, red"));
}

TEST_F(Reports, ColoursAreRunsAlsoWhereALineIsATerm) {
  write_run("a");
  write_run("b", {.objective = "infonce"});
  for (const std::string run : {"a", "b"}) {
    std::string lines;
    for (const int epoch : {1, 2, 3}) {
      lines += fmt::format("{{\"epoch\": {}, \"infonce.clamped_share\": 0.5, \"fairkl.clamped_share\": 0.25}}\n", epoch);
    }
    write_text(run + "/metrics.jsonl", lines);
  }
  expect_parts(html({"a", "b"}), {"line c0 d0", "line c0 d1", "line c1 d0", "line c1 d1"}, {"line c2"});
}

TEST_F(Reports, TheAccuracyOfAllIsNotDrawnBeyondAHundredPercent) {
  write_run("run", {.accuracy = 1});
  std::string lines;
  for (const int epoch : {1, 2, 3}) lines += fmt::format("{{\"epoch\": {}, \"test.knn_acc1\": 1.0}}\n", epoch);
  write_text("run/metrics.jsonl", lines);
  expect_parts(html({"run"}), {">100 %</text>"}, {">110 %</text>"});
}

}  // namespace debias::run_report_test

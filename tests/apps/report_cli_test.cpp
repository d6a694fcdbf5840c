// `debias report` as a process.
#include "tests/apps/command.h"
#include "tests/apps/named_pictures.h"
#include "tests/report/run_fixture.h"
#include "tests/report/well_formed.h"

namespace debias {
namespace report_cli_test {

class ReportCommand : public InFolder {
 protected:
};

TEST_F(ReportCommand, PrintsTheVerdictAndOnItsLastLineThePageInTheRun) {
  write_whole_run("run");
  const ProcessResult result = done({"report", "run"});
  EXPECT_LE(std::ranges::count(result.out, '\n'), 15);
  EXPECT_THAT(result.out, EndsWith("\nrun/report.html\n"));
  const std::string text = run_debias({"report", "run", "--text"}).out;
  EXPECT_THAT(text, StartsWith(result.out.substr(0, result.out.rfind("run/report.html"))));
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(well_formed(file_text("run/report.html")).fault, "");
}

TEST_F(ReportCommand, SeveralRunsGiveOnePage) {
  write_whole_run("a");
  write_run("b", {.epochs_done = 2});
  const ProcessResult result = done({"report", "a", "b", "--out", "both.html"});
  EXPECT_THAT(result.out, EndsWith("\nboth.html\n"));
  EXPECT_THAT(file_text("both.html"), HasSubstr("2 of 4 epochs, unfinished"));
  EXPECT_FALSE(fs::exists("a/report.html"));
}

TEST_F(ReportCommand, ReplacesAnExistingPageWhole) {
  write_run("run");
  write_text("page.html", "an old page");
  fs::create_hard_link("page.html", "reader");  // someone who has the old one open
  done({"report", "run", "--out", "page.html"});
  EXPECT_TRUE(file_text("page.html").starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(file_text("reader"), "an old page");
  EXPECT_EQ(folder_.entries(), 3u);
}

TEST_F(ReportCommand, TextAndJsonWriteNoPageUnlessAskedTo) {
  write_whole_run("run");
  EXPECT_THAT(done({"report", "run", "--text"}).out, Not(HasSubstr("accuracy, kNN")));
  EXPECT_THAT(done({"report", "run", "--text", "-v"}).out, HasSubstr("accuracy, kNN"));
  const ProcessResult json = done({"report", "run", "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["runs"][0]["epochs_done"], 4);
  EXPECT_FALSE(fs::exists("run/report.html"));
  const ProcessResult both = run_debias({"report", "run", "--json", "--out", "page.html"});
  EXPECT_EQ(nlohmann::json::parse(both.out)["page"], "page.html");
  EXPECT_TRUE(fs::exists("page.html"));
  expect_refused(run_debias({"report", "run", "--json", "--text"}), 2, "exclude each other");
}

TEST_F(ReportCommand, AStudyWritesItsFiguresBesideItsTables) {
  done({"study", "bcl", "--repetitions", "1", "--anchors", "4", "--negatives", "8", "--out", "bcl"});
  const std::string page = file_text("bcl/figures.html");
  const WellFormed parsed = well_formed(page);
  EXPECT_EQ(parsed.fault, "");
  EXPECT_EQ(parsed.count("figure"), 2u + 4u + 14u + 4u);  // figures 3, 4, 5 and 8
  EXPECT_THAT(page, HasSubstr("<code>debias study bcl --repetitions 1 --negatives 8 --anchors 4 --out DIR</code>"));
}

}  // namespace report_cli_test

// `debias table` as a process.
namespace table_cli_test {

class TableCommand : public InFolder {
 protected:
  TableCommand() {
    for (int seed = 1; seed <= 3; ++seed) {
      write_run(run("plain", seed), {.seed = seed, .objective = "infonce", .accuracy = 0.4 + 0.01 * seed});
      write_run(run("debiased", seed), {.seed = seed, .accuracy = 0.5 + 0.012 * seed});
    }
  }
  std::string run(const std::string& name, int seed) const { return folder_ / (name + "-" + std::to_string(seed)); }
  ProcessResult table(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"table"};
    for (const char* name : {"plain", "debiased"}) {
      for (int seed = 1; seed <= 3; ++seed) words.push_back(run(name, seed));
    }
    return run_debias(with(words, more));
  }
  void expect_table_refusal(const std::vector<std::string>& more, int exit, const std::string& part) const {
    expect_one_line(table(more), exit, part);
  }
};

TEST_F(TableCommand, PrintsRowsAndDifferences) {
  const ProcessResult text = table({});
  ASSERT_EQ(text.exit, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("test.knn_acc1, last epoch"), HasSubstr("debiased – plain")));
  const json out = json::parse(table({"--json"}).out);
  EXPECT_EQ(out["metric"], "test.knn_acc1");
  ASSERT_EQ(out["rows"].size(), 2u);
  EXPECT_EQ(out["rows"][0]["seeds"], json({"1", "2", "3"}));
  EXPECT_NEAR(out["rows"][0]["mean"].get<double>(), 0.46, 1e-12);  // 0.04 more in the fourth epoch
  EXPECT_EQ(out["rows"][0]["expected"], 0.5);
  EXPECT_EQ(out["differences"][0]["a"], "debiased");
  EXPECT_NEAR(out["differences"][0]["mean"].get<double>(), 0.104, 1e-12);
  EXPECT_EQ(out["differences"][0]["n"], 3);
}

TEST_F(TableCommand, TakesTheEpochOfAGivenNumber) {
  const json out = json::parse(table({"--epoch", "2", "--json"}).out);
  EXPECT_EQ(out["epoch"], "epoch 2");
  EXPECT_NEAR(out["rows"][0]["mean"].get<double>(), 0.44, 1e-12);
}

TEST_F(TableCommand, WritesCsvOfEachPartWithMinutesWhereAsked) {
  const ProcessResult csv = table({"--format", "csv", "--minutes"});
  ASSERT_EQ(csv.exit, 0) << csv.err;
  expect_parts(csv.out, {"published,spread,source,minutes\nplain,"}, {"difference"});
  EXPECT_THAT(table({"--format", "csv_differences"}).out,
              HasSubstr("difference,against,seeds,paired,mean,half_width,p,p_holm\ndebiased,plain,3,true,0.10"));
  EXPECT_THAT(table({}).out, Not(HasSubstr("minutes")));
  EXPECT_THAT(table({"--minutes"}).out, HasSubstr("minutes"));
}

TEST_F(TableCommand, ConditionsDecideTheExitCode) {
  EXPECT_EQ(table({"--fail-if", "mean.plain>0.9"}).exit, 0);
  EXPECT_EQ(table({"--fail-if", "low.debiased.over.plain<0"}).exit, 0);
  expect_table_refusal({"--fail-if", "difference.debiased.over.plain>0.1"}, 1, "difference.debiased.over.plain is 0.104, so --fail-if");
  expect_table_refusal({"--fail-if", "mean.plain>0.9", "--fail-if", "mean.debiased<0.9"}, 1, "mean.debiased is 0.564");
  expect_table_refusal({"--fail-if", "mean.plian<1"}, 2, "did you mean 'mean.plain'?");
}

}  // namespace table_cli_test

// From a folder without bias labels to pseudo values, and bias labels added to a run afterwards.
namespace unknown_bias_cli_test {

// Glyphs in class folders, whose background goes with the class. `photos.csv` knows the colours; the run, which sees single pixels, does
// not know them.
class UnknownBias : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    pictures_ = std::make_unique<NamedPictures>();
    pictures_->folder("photos", {"ape", "bee", "cat", "dog"}, "train");
    std::ofstream(path("bias.yaml")) << small_recipe(
        {"seed=1", "data={train: {name: image_folder, root: " + path("photos") + ", hold_out: 30}, test: {split: held_out}}",
         "views={preset: none, count: 1}", "encoder={name: simple_convnet, kernel: 1, stem_stride: 2, stride: 2}", "head={name: none}",
         "objective=generalized_cross_entropy", "classifier={name: linear, gradient: flow, normalize: false}",
         "optimizer={name: adam, learning_rate: 3e-3}", "schedule=constant", "train={epochs: 12, batch_size: 15, device: cpu, threads: 1}",
         "evaluate={every: 12, protocols: [groups]}"});
    trained_ = run_debias({"train", path("bias.yaml"), "output=" + path("run")});
  }
  static void TearDownTestSuite() { pictures_.reset(); }

  static std::string path(const std::string& name) { return *pictures_ / name; }
  static ProcessResult embed(const Words& words) { return run_debias(with({"embed", path("run")}, words)); }

  static inline std::unique_ptr<NamedPictures> pictures_;
  static inline ProcessResult trained_;
};

TEST_F(UnknownBias, TrainingSaysBeforehandThatGroupsNeedBiasValuesAndGoesOn) {
  EXPECT_EQ(trained_.exit, 0) << trained_.err;
  EXPECT_THAT(trained_.err, HasSubstr("debias eval groups RUN --labels FILE.csv"));
  const ProcessResult planned = done({"train", path("bias.yaml"), "--dry-run", "output=" + path("planned")});
  EXPECT_THAT(planned.err, HasSubstr("not evaluated by groups"));
}

TEST_F(UnknownBias, PseudoValuesFitInit) {
  const ProcessResult result = embed({"--bias-values", path("found.csv"), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const auto json = Json::parse(result.out);
  EXPECT_EQ(json["rows"].get<size_t>() + 1, times("\n", file_text(path("found.csv"))));
  EXPECT_EQ(json["values"].size(), 4u);
  EXPECT_GT(json["aligned_share"], 0.7);
  EXPECT_EQ(json["next"][0], "debias init " + path("photos") + " --labels " + path("found.csv"));
  const ProcessResult made = done({"init", path("photos"), "--labels", path("found.csv"), "--minutes", "0.02", "--out", path("r.yaml")});
  EXPECT_THAT(made.out, AllOf(HasSubstr("goal: bias"), HasSubstr("confidence is not"), Not(HasSubstr("to use it"))));
}

TEST_F(UnknownBias, ANumberOfValuesMayBeAskedFor) {
  const auto json = Json::parse(embed({"--bias-values", path("two.csv"), "--values", "2", "--json"}).out);
  EXPECT_EQ(json["values"].size(), 2u);
  EXPECT_EQ(json["images"][0].get<int>() + json["images"][1].get<int>(), json["rows"].get<int>() - 30);
}

}  // namespace unknown_bias_cli_test

// `debias study` as a process.
namespace study_cli_test {

Words small_study(const Words& more) { return with({"study", "bcl", "--repetitions", "2", "--anchors", "20", "--negatives", "16"}, more); }

TEST(StudyCli, WritesItsFilesAtOnceAndTheSameFiguresForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  for (const char* threads : {"1", "3"}) {
    const auto result = done(small_study({"--threads", threads, "--json", "--out", folder / threads}));
    EXPECT_TRUE(Json::parse(result.out).contains("repetitions"));
    for (const char* name : {"study.json", "panels.csv", "reference.csv", "figures.html"}) {
      EXPECT_TRUE(fs::exists(folder / (std::string(threads) + "/" + name))) << name;
    }
  }
  EXPECT_EQ(folder.entries(), 2u);
  for (const char* name : {"panels.csv", "study.json", "figures.html"}) {
    EXPECT_EQ(file_text(folder / (std::string("1/") + name)), file_text(folder / (std::string("3/") + name))) << name;
  }
}

TEST(StudyCli, TheCommandOnThePageGivesTheFiguresAgain) {
  const TemporaryFolder folder;
  const std::string values = folder / "it's z.npy", labels = folder / "y.npy";
  std::vector<float> rows;
  std::vector<int64_t> classes;
  for (int i = 0; i < 40; ++i) {
    rows.insert(rows.end(), {static_cast<float>(std::cos(i)), static_cast<float>(std::sin(i))});
    classes.push_back(i % 2);
  }
  write_npy(values, DType::kFloat32, {40, 2}, rows.data());
  write_npy(labels, DType::kInt64, {40}, classes.data());
  const auto result = done({"study", "estimators", "--embeddings", values, "--labels", labels, "--anchors", "5", "--negatives", "8",
                            "--repetitions", "2", "--threads", "2", "--json", "--out", folder / "out"});
  EXPECT_EQ(Json::parse(result.out)["command"],
            fmt::format("debias study estimators --embeddings '{}/it'\\''s z.npy' --labels {} --repetitions 2 --negatives 8 --anchors 5",
                        folder.path(), labels));
}

}  // namespace study_cli_test
}  // namespace debias

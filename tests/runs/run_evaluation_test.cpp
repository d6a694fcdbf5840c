// Evaluation of a run by the library: what it measures, what it records, and the files beside the figures.
#include "debias/runs/run_evaluation.h"
#include "tests/runs/trained_run.h"

namespace debias::run_evaluation_test {

const std::string kRecipe = small_recipe(
    {"data={train: {name: glyphs, size: 72, train_count: 60}, test: {name: glyphs, size: 72, test_count: 40, split: test}}",
     "objective={name: infonce, temperature: 0.3}", "evaluate={every: 1, protocols: [knn]}", "train.epochs=1", "train.batch_size=30"});

RequestedProtocol protocol(const std::string& name, const std::string& options = "{}") { return {name, parse_yaml(options, "options")}; }

class EvaluatedRun : public SharedFolder<EvaluatedRun> {
 protected:
  static void SetUpTestSuite() {
    train_into(run_folder(), kRecipe);
    fs::copy_file(run_folder() + "/checkpoints/last.safetensors", lone());
  }
  static std::string run_folder() { return path("run"); }
  static std::string lone() { return path("lone.safetensors"); }
  static std::string file(const std::string& name) { return run_folder() + "/evaluation/" + name; }
  static EvaluationRequest request(std::vector<RequestedProtocol> protocols) {
    EvaluationRequest asked{.run = run_folder()};
    asked.protocols = std::move(protocols);
    return asked;
  }
  static RunEvaluation evaluated(const EvaluationRequest& asked, Log& log = Log::silent()) {
    return evaluate_run(asked, Progress::silent(), log);
  }
  static nlohmann::json record_of(const RunEvaluation& found, size_t place = 0) { return to_json(found.results.at(place).second.record); }
};

TEST_F(EvaluatedRun, OfTrainingLeavesItsResultsAndThumbnailsOfTheLast) {
  const TemporaryFolder other;
  train_into(other / "run", kRecipe);
  EXPECT_EQ(names_in(other / "run/evaluation"), (std::vector<std::string>{"epoch-1", "knn.json", "thumbnails"}));
  EXPECT_EQ(names_in(other / "run/evaluation/epoch-1"), std::vector<std::string>{"knn.json"});
}

TEST_F(EvaluatedRun, OfTrainingHasLowShotAccuraciesOrSaysBeforeTrainingWhyNot) {
  const TemporaryFolder other;
  train_into(other / "run", kRecipe, {"evaluate.protocols=[low_shot, retrieval]", "evaluate.low_shot.per_class=[2]"});
  const auto line = epochs_of(other / "run").back();
  EXPECT_TRUE(line.contains("test.low_shot_acc1_2_per_class"));
  EXPECT_TRUE(line.contains("test.retrieval_recall_at_10"));
  const auto refused = [&] {
    train_into(other / "refused", kRecipe, {"evaluate.protocols=[low_shot]", "evaluate.low_shot.per_class=[40]", "evaluate.on_error=stop"});
  };
  EXPECT_THAT(data_error_of(refused), HasSubstr("low_shot: per_class: 40 images of each class, but class"));
  EXPECT_FALSE(fs::exists(other / "refused"));
}

TEST_F(EvaluatedRun, HasTheRecordThatIsWritten) {
  const RunEvaluation found = evaluated(request({protocol("knn", "{k: 7}"), protocol("linear", "{views: eval, epochs: 2}")}));
  EXPECT_EQ(found.epoch, 1);
  EXPECT_EQ(found.results[1].first, "linear_dcl");
  const nlohmann::json knn = record_of(found);
  EXPECT_EQ(knn, json_in(file("knn.json")));
  EXPECT_EQ(knn["options"]["k"], 7);
  EXPECT_EQ(knn["options"]["temperature"], 0.3);  // the objective's
  EXPECT_EQ(knn["counts"]["test"], 40);
  EXPECT_EQ(json_in(file("linear_dcl.json"))["options"]["views"], "eval");
  const NamedMetrics metrics = found.metrics();
  EXPECT_EQ(std::ranges::find(metrics, "test.knn_acc1", [](const auto& metric) { return metric.first; })->second,
            knn["metrics"]["test.knn_acc1"]);
}

TEST_F(EvaluatedRun, RecordsWhatTheRecipeSaysOtherwise) {
  const auto changes = [](EvaluationRequest asked, const std::vector<std::string>& overrides) {
    asked.overrides = overrides;
    const RunEvaluation found = evaluated(asked);
    return record_of(found, found.results.size() - 1).value("recipe_changes", nlohmann::json());
  };
  EXPECT_EQ(changes(request({protocol("knn")}), {}), nullptr);
  EXPECT_EQ(changes(request({protocol("knn", "{k: 7}")}), {"views.eval={resize: {size: 20}}", "data.test.test_count=40"}),
            (nlohmann::json{{"evaluate.knn.k", "7"},
                            {"views.eval.resize.size", "20"},
                            {"views.eval.steps.0.resize.size", nullptr},
                            {"views.eval.steps.1.center_crop.size", nullptr}}));
  EXPECT_EQ(changes(request({protocol("knn", "{k: 7}"), protocol("geometry", "{samples: 20}"), protocol("groups", "{bootstrap: 0}")}), {}),
            (nlohmann::json{{"evaluate.knn.k", "7"}, {"evaluate.groups.bootstrap", "0"}}));
  EXPECT_EQ(changes(request({protocol("groups", "{min_count: 2}"), protocol("knn", "{k: 7}")}), {"evaluate.unknown_classes=ignore"}),
            (nlohmann::json{{"evaluate.knn.k", "7"}, {"evaluate.unknown_classes", "ignore"}}));
}

TEST_F(EvaluatedRun, HasGroupsWithIntervalsOnThePredictionsOfTheSameCall) {
  KeptLog log;
  const RunEvaluation found = evaluated(request({protocol("knn", "{k: 7}"), protocol("groups", "{bootstrap: 50}")}), log);
  EXPECT_THAT(log.text, HasSubstr("of 100 groups have no members"));  // 40 images
  const nlohmann::json knn = record_of(found, 0), groups = record_of(found, 1);
  EXPECT_EQ(groups["metrics"]["test.acc1"], knn["metrics"]["test.knn_acc1"]);
  EXPECT_EQ(groups["metrics"]["test.conflicting_acc"], knn["metrics"]["test.conflicting_acc"]);
  EXPECT_EQ(groups["options"]["predictions"], "knn");
  EXPECT_EQ(groups["intervals"]["test.acc1"].size(), 2u);
  usage_error_of([] { evaluated(request({protocol("groups", "{predictions: classifier}")})); });
}

TEST_F(EvaluatedRun, OfTheSameWeightsHasTheSameBytes) {
  const EvaluationRequest asked = request({protocol("linear_dcl", "{epochs: 1}"), protocol("tsne", "{iterations: 50, samples: 30}")});
  evaluated(asked);
  const std::string probe = file_text(file("linear_dcl.json")), map = file_text(file("tsne.json"));
  EXPECT_EQ(nlohmann::json::parse(map)["map"]["test"]["points"].size(), 30u);
  EXPECT_EQ(nlohmann::json::parse(map)["map"]["test"]["perplexity"], 10);
  evaluated(asked);
  EXPECT_EQ(file_text(file("linear_dcl.json")), probe);
  EXPECT_EQ(file_text(file("tsne.json")), map);
  usage_error_of([] { evaluated(request({protocol("tsne", "{perplexity: 39}")})); });
}

TEST_F(EvaluatedRun, ChangesItsDataByOverridesAndHasThatOfOthersBesideIt) {
  EvaluationRequest changed = request({protocol("knn")});
  changed.overrides = {"data.test.test_count=12"};
  EXPECT_EQ(record_of(evaluated(changed))["counts"]["test"], 12);
  const std::string own = file_text(file("knn.json"));
  const auto kept = names_in(file("thumbnails"));
  EvaluationRequest other = request({protocol("knn", "{k: 3}")});
  other.data = {"glyphs", "", {"size=16", "train_count=50", "test_count=20"}};
  EXPECT_EQ(record_of(evaluated(other))["counts"]["train"], 50);
  EXPECT_EQ(file_text(file("knn.json")), own);
  EXPECT_TRUE(fs::exists(file("knn-glyphs.json")));
  EXPECT_EQ(names_in(file("thumbnails")), kept);
  EXPECT_FALSE(names_in(file("thumbnails-glyphs")).empty());
}

TEST_F(EvaluatedRun, OfALoneCheckpointNeedsItsDataAndWritesNothing) {
  EvaluationRequest asked = request({protocol("knn")});
  asked.run = lone();
  EXPECT_EQ(usage_error_of([&] { evaluated(asked); }),
            "opening checkpoint '" + lone() + "': it is in no run folder, so its data are not known; give --data NAME --root DIR");
  asked.data = {"glyphs", "", {"size=16", "train_count=50", "test_count=20"}};
  EXPECT_EQ(record_of(evaluated(asked))["counts"]["test"], 20);
  EXPECT_FALSE(fs::exists(path("evaluation")));
  asked.predictions = CsvCells::kGuarded;
  EXPECT_EQ(usage_error_of([&] { evaluated(asked); }), "eval: --predictions writes into a run folder, and '" + lone() + "' is in none");
}

TEST_F(EvaluatedRun, KeepsAThumbnailOfEachImageThatKnnNames) {
  evaluated(request({protocol("knn", "{examples: 6}")}));
  std::vector<std::string> expected;
  const auto knn = json_in(file("knn.json"));
  for (const auto& example : knn["neighbours"]["test"]) {
    expected.push_back("test_" + example["query"].dump() + ".png");
    EXPECT_TRUE(example.contains("bias"));
    for (const auto& near : example["nearest"]) expected.push_back("train_" + near["id"].dump() + ".png");
  }
  std::sort(expected.begin(), expected.end());
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  EXPECT_EQ(names_in(file("thumbnails")), expected);
  const std::string png = file_text(file("thumbnails/" + expected[0]));
  EXPECT_TRUE(png.starts_with("\x89PNG"));
  EXPECT_EQ(png.substr(16, 8), std::string("\0\0\0\x40\0\0\0\x40", 8));  // 72 x 72 pixels shrunk to 64 x 64
  evaluated(request({protocol("knn", "{examples: 1}")}));
  EXPECT_LE(names_in(file("thumbnails")).size(), 9u) << "those of the earlier call are gone";
  evaluated(request({protocol("knn", "{examples: 0}")}));
  EXPECT_FALSE(json_in(file("knn.json")).contains("neighbours"));
}

TEST_F(EvaluatedRun, KeepsTheExamplesOfGroupsBesideThoseOfKnn) {
  const TemporaryFolder other;
  train_into(other / "run", kRecipe, {"data.test.correlation=0.5", "evaluate.protocols=[knn, groups]"});
  const std::string folder = other / "run/evaluation/";
  const auto groups = json_in(folder + "groups.json");
  std::vector<std::string> expected;
  for (const auto& image : groups["examples"]["test"]) expected.push_back("test_" + image["id"].dump() + ".png");
  std::sort(expected.begin(), expected.end());
  ASSERT_EQ(expected.size(), 8u);
  EXPECT_EQ(names_in(folder + "examples"), expected);
  EXPECT_TRUE(file_text(folder + "examples/" + expected[0]).starts_with("\x89PNG"));
  EXPECT_FALSE(names_in(folder + "thumbnails").empty());
}

TEST_F(EvaluatedRun, WritesPredictionsWhereTheyAreRequested) {
  evaluated(request({protocol("knn")}));
  EXPECT_FALSE(fs::exists(file("knn.csv")));
  EvaluationRequest asked = request({protocol("knn"), protocol("geometry")});
  asked.predictions = CsvCells::kGuarded;
  KeptLog log;
  evaluated(asked, log);
  EXPECT_THAT(log.text, HasSubstr("eval: geometry makes no predictions"));
  const std::string table = file_text(file("knn.csv"));
  EXPECT_TRUE(table.starts_with("split,filenames,labels,biases,predictions\ntest,"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 41);
  EXPECT_FALSE(fs::exists(file("geometry.csv")));
}

TEST_F(EvaluatedRun, InsideADataFolderIsRejected) {
  EvaluationRequest asked = request({protocol("knn")});
  asked.data = {"image_folder", folder().path(), {}};
  EXPECT_EQ(usage_error_of([&] { evaluated(asked); }), "run '" + run_folder() + "' is inside the data folder '" + folder().path() +
                                                           "'; nothing is written there: move the run out of it");
}

TEST(EvaluatedClassifier, HasTheAccuracyThatTrainingHadWithAndWithoutGroups) {
  const TemporaryFolder folder;
  const std::vector<std::string> probe = {"classifier={name: linear}", "evaluate={}"};
  const std::vector<std::string> groups = {"classifier={name: linear}", "evaluate={protocols: [groups], groups: {bootstrap: 0}}"};
  train_into(folder / "probe", kRecipe, probe);
  train_into(folder / "groups", kRecipe, groups);
  const nlohmann::json with_groups = epochs_of(folder / "groups").back(), without = epochs_of(folder / "probe").back();
  EXPECT_TRUE(with_groups.contains("test.unbiased_acc"));
  EXPECT_EQ(with_groups["test.acc1"], without["test.acc1"]);
  EvaluationRequest asked{.run = folder / "probe"};
  asked.protocols = {protocol("groups", "{bootstrap: 0}")};
  const RunEvaluation found = evaluate_run(asked, Progress::silent(), Log::silent());
  EXPECT_EQ(found.results[0].second.record.options["predictions"], "classifier");
  EXPECT_EQ(found.results[0].second.metrics.at("test.acc1"), without["test.acc1"]);
}

// 120 vectors of 40 subjects, three rows each, whose class is that of chance; a subject's rows are near-copies of each other.
TEST(EvaluatedTables, SayWhatMakesTheirNumbersWrong) {
  const TemporaryFolder folder;
  Random random({.domain = RngDomain::kTest, .seed = 5});
  std::vector<float> values;
  std::string csv = "path,label,Subject_ID,split\n";
  for (int64_t subject = 0; subject < 40; ++subject) {
    std::vector<double> own(16);
    for (double& value : own) value = random.normal();
    for (int64_t row = 0; row < 3; ++row) {
      for (const double value : own) values.push_back(static_cast<float>(value + 1e-3 * random.normal()));
      const bool tested = row == 2 && subject < 30;
      const char* label = tested && subject == 7 ? "owl" : subject % 2 == 0 ? "cat" : "dog";
      csv += fmt::format("{}-{}.jpg,{},s{},{}\n", subject, row, label, subject, tested ? "test" : "train");
    }
  }
  write_npy(folder / "z.npy", DType::kFloat32, {120, 16}, values.data());
  std::ofstream(folder / "c.csv", std::ios::binary) << csv;
  const auto notes = [&](const TableRowOptions& columns) {
    const FeatureTableFiles files{.vectors = folder / "z.npy", .csv = folder / "c.csv"};
    return evaluate_table(files, columns, {"knn"}, {}, Progress::silent(), Log::silent()).notes;
  };

  EXPECT_THAT(notes({}),
              testing::ElementsAre(HasSubstr("1 of 30 rows of test are of classes without training rows, such as 'owl'"),
                                   AllOf(HasSubstr("column 'Subject_ID' has 40 values in 120 rows"), HasSubstr("add --group Subject_ID")),
                                   HasSubstr("30 of 30 test rows are copies or near-copies of training rows, the first '0-2.jpg' of '0-")));
  EXPECT_THAT(notes({.groups = std::vector<std::string>{"Subject_ID"}}), testing::ElementsAre(HasSubstr("'owl'")));
}

}  // namespace debias::run_evaluation_test

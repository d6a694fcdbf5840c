// `debias eval` and `debias embed` as processes, on one small run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

#include "debias/core/npy.h"
#include "tests/apps/process.h"

namespace debias {
namespace eval_cli_test {

namespace fs = std::filesystem;

constexpr const char* kRecipe = R"(
seed: 3
data:
  train: {name: glyphs, size: 16, train_count: 96}
  test: {name: glyphs, size: 16, test_count: 40, split: test}
views: {preset: sim32, count: 2, random_resized_crop: {size: 16}}
encoder: {name: resnet18, width: 8}
head: {name: simclr, hidden_dim: 8, output_dim: 4}
objective: {name: infonce, temperature: 0.3}
train: {epochs: 1, batch_size: 32, device: cpu, threads: 1}
)";

ProcessResult debias_command(std::vector<std::string> words) {
  words.insert(words.begin(), debias_binary());
  return run(words);
}

nlohmann::json json_of(const ProcessResult& result) {
  EXPECT_EQ(result.exit, 0) << result.err;
  return nlohmann::json::parse(result.out);
}

void expect_refusal(const ProcessResult& result, int exit, const std::string& message) {
  EXPECT_EQ(result.exit, exit);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "debias: " + message + "\n");
}

class Judging : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const std::string recipe = *folder_ / "recipe.yaml";
    std::ofstream(recipe) << kRecipe;
    const ProcessResult result = debias_command({"train", recipe, "output=" + run_folder()});
    ASSERT_EQ(result.exit, 0) << result.err;
    fs::copy_file(run_folder() + "/checkpoints/last.safetensors", lone());
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string run_folder() { return *folder_ / "run"; }
  static std::string lone() { return *folder_ / "lone.safetensors"; }
  static std::string path(const std::string& name) { return *folder_ / name; }

  static TemporaryFolder* folder_;
};
TemporaryFolder* Judging::folder_ = nullptr;

TEST_F(Judging, EvalPrintsPercentAndWritesFractions) {
  const ProcessResult result = debias_command({"eval", "knn,linear", run_folder(), "linear.views=eval", "linear.epochs=2", "knn.k=7"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.out.find("test.knn_acc1"), std::string::npos);
  EXPECT_NE(result.out.find(" %\n"), std::string::npos);
  const auto knn = nlohmann::json::parse(file_text(run_folder() + "/evaluation/knn.json"));
  EXPECT_EQ(knn["protocol"], "knn");
  EXPECT_EQ(knn["options"]["k"], 7);
  EXPECT_EQ(knn["options"]["temperature"], 0.3);  // the objective's
  EXPECT_EQ(knn["counts"]["test"], 40);
  EXPECT_EQ(knn["epoch"], 1);
  EXPECT_LE(knn["metrics"]["test.knn_acc1"].get<double>(), 1.0);
  const auto linear = nlohmann::json::parse(file_text(run_folder() + "/evaluation/linear_dcl.json"));
  EXPECT_EQ(linear["options"]["views"], "eval");
}

TEST_F(Judging, EvalWritesWhatItJudgedOtherwiseThanTheRecipeSays) {
  const auto changes = [&](const std::string& protocols, const std::vector<std::string>& words) {
    const auto judged = json_of(debias_command(with({"eval", protocols, run_folder(), "--json"}, words)));
    return judged["protocols"][protocols.substr(protocols.rfind(',') + 1)].value("recipe_changes", nlohmann::json());
  };
  EXPECT_EQ(changes("knn", {}), nullptr);
  EXPECT_EQ(changes("knn", {"k=7", "views.eval={resize: {size: 20}}", "data.test.test_count=40"}),
            (nlohmann::json{{"evaluate.knn.k", "7"}, {"views.eval", nullptr}, {"views.eval.resize.size", "20"}}));
  const nlohmann::json of_predictions = {{"evaluate.knn.k", "7"}, {"evaluate.groups.bootstrap", "0"}};
  EXPECT_EQ(changes("knn,geometry,groups", {"knn.k=7", "geometry.samples=20", "groups.bootstrap=0"}), of_predictions);
  EXPECT_EQ(changes("groups,knn", {"knn.k=7", "groups.min_count=2", "evaluate.unknown_classes=ignore"}),
            (nlohmann::json{{"evaluate.knn.k", "7"}, {"evaluate.unknown_classes", "ignore"}}));
}

TEST_F(Judging, EvalJudgesGroupsWithIntervalsOnThePredictionsOfTheSameCall) {
  const ProcessResult result =
      debias_command({"eval", "knn,groups", run_folder(), "knn.k=7", "groups.bootstrap=50", "--fail-if", "worst_group_acc<0"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.out.find("test.demographic_parity_difference"), std::string::npos);
  EXPECT_NE(result.out.find(" %  ["), std::string::npos);
  EXPECT_NE(result.err.find("of 100 groups have no members"), std::string::npos);  // 40 images
  const auto groups = nlohmann::json::parse(file_text(run_folder() + "/evaluation/groups.json"));
  const auto knn = nlohmann::json::parse(file_text(run_folder() + "/evaluation/knn.json"));
  EXPECT_EQ(groups["metrics"]["test.acc1"], knn["metrics"]["test.knn_acc1"]);
  EXPECT_EQ(groups["metrics"]["test.conflicting_acc"], knn["metrics"]["test.conflicting_acc"]);
  EXPECT_EQ(groups["options"]["predictions"], "knn");
  EXPECT_EQ(groups["intervals"]["test.acc1"].size(), 2u);
  EXPECT_EQ(debias_command({"eval", "groups", run_folder(), "bootstrap=0", "--fail-if", "worst_group_acc<0.7"}).exit, 1);
  EXPECT_EQ(debias_command({"eval", "groups", run_folder(), "predictions=classifier"}).exit, 2);
}

TEST_F(Judging, EvalJudgesTheRunsClassifierAsTrainingDid) {
  const std::string folder = path("with_classifier");
  const auto trained = json_of(debias_command({"train", path("recipe.yaml"), "output=" + folder, "classifier={name: linear}", "--json"}));
  const auto judged = json_of(debias_command({"eval", "groups", folder, "bootstrap=0", "--json"}));
  EXPECT_EQ(judged["protocols"]["groups"]["options"]["predictions"], "classifier");
  EXPECT_EQ(judged["protocols"]["groups"]["metrics"]["test.acc1"], trained["metrics"]["test.acc1"]);
}

TEST_F(Judging, TheClassifiersAccuracyIsReportedWithAndWithoutGroups) {
  const auto lines = [&](const std::string& name, const std::vector<std::string>& more) {
    EXPECT_EQ(debias_command(with({"train", path("recipe.yaml"), "output=" + path(name), "classifier={name: linear}"}, more)).exit, 0);
    return file_text(path(name) + "/metrics.jsonl");
  };
  const std::string probe = lines("probe", {}), groups = lines("groups", {"evaluate={protocols: [groups], groups: {bootstrap: 0}}"});
  EXPECT_EQ(times("\"test.acc1\"", groups), times("\"test.unbiased_acc\"", groups));
  EXPECT_GT(times("\"test.acc1\"", groups), 0);
  EXPECT_GT(times("\"test.acc1\"", probe), 0);
  const auto last = [](const std::string& text) { return nlohmann::json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1)); };
  EXPECT_EQ(last(groups)["test.acc1"], last(probe)["test.acc1"]);
}

TEST_F(Judging, EvalJsonIsOneObjectAndSaysTheSameAsTheFile) {
  const auto json = json_of(debias_command({"eval", "knn", run_folder(), "k=9", "--json"}));
  EXPECT_EQ(json["protocols"]["knn"], nlohmann::json::parse(file_text(run_folder() + "/evaluation/knn.json")));
}

TEST_F(Judging, EvalOfTheSameRunGivesTheSameBytes) {
  const std::vector<std::string> words = {"eval", "linear_dcl,linear_supcon", run_folder(), "linear_dcl.epochs=1",
                                          "linear_supcon.epochs=2"};
  ASSERT_EQ(debias_command(words).exit, 0);
  const std::string first = file_text(run_folder() + "/evaluation/linear_supcon.json");
  ASSERT_EQ(debias_command(words).exit, 0);
  EXPECT_EQ(file_text(run_folder() + "/evaluation/linear_supcon.json"), first);
}

TEST_F(Judging, FailIfGivesExitOneWithOneLineOnlyWhenItHolds) {
  const ProcessResult holds = debias_command({"eval", "knn", run_folder(), "--fail-if", "test.knn_acc1<1.5"});
  EXPECT_EQ(holds.exit, 1);
  EXPECT_NE(holds.err.find("so --fail-if 'test.knn_acc1<1.5' holds\n"), std::string::npos);
  EXPECT_EQ(debias_command({"eval", "knn", run_folder(), "--fail-if", "knn_acc1 > 1"}).exit, 0);
  const ProcessResult unknown = debias_command({"eval", "knn", run_folder(), "--fail-if", "tst.knn_acc1<0.7"});
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_NE(unknown.err.find("did you mean 'test.knn_acc1'?"), std::string::npos);
}

TEST_F(Judging, EvalRefusesWhatItCannotDoBeforeItReadsAnything) {
  expect_refusal(debias_command({"eval", "kn", "nowhere"}), 2, "eval: unknown protocol 'kn'; did you mean 'knn'?");
  expect_refusal(debias_command({"eval", "linear,linear_dcl", "nowhere"}), 2,
                 "eval: protocol 'linear_dcl' is asked for twice; give it once");
  expect_refusal(debias_command({"eval", "knn", "nowhere", "kk=3"}), 2, "command line: knn: unknown option 'kk'; did you mean 'k'?");
  expect_refusal(debias_command({"eval", "knn,linear", "nowhere", "k=3"}), 2,
                 "eval: 'k=3' belongs to none of the protocols asked for; write e.g. knn.k=...");
  expect_refusal(debias_command({"eval", "knn", "nowhere", "linear.epochs=3"}), 2,
                 "eval: 'linear.epochs=3' belongs to none of the protocols asked for; write e.g. knn.k=...");
  expect_refusal(debias_command({"eval", "knn", "nowhere", "--fail-if", "knn"}), 2,
                 "--fail-if 'knn': expected METRIC, one of < <= > >= ==, and a number, e.g. 'test.knn_acc1<0.7'");
  expect_refusal(debias_command({"eval", "knn", "nowhere", "--data", "glyphs", "data.test.size=3"}), 2,
                 "eval: 'data.test.size=3' and --data exclude each other; give one");
  expect_refusal(debias_command({"eval", "knn", "nowhere"}), 3, "opening 'nowhere': no such run folder or checkpoint");
  expect_refusal(debias_command({"eval", "knn", run_folder(), "k=97"}), 2,
                 "knn: k: 97 neighbours of a gallery of 96 labelled images; give k of at most 96");
}

TEST_F(Judging, EvalChangesTheRunsDataByWordsAndJudgesOnOthersBesideIt) {
  const auto changed = json_of(debias_command({"eval", "knn", run_folder(), "data.test.test_count=12", "--json"}));
  EXPECT_EQ(changed["protocols"]["knn"]["counts"]["test"], 12);
  const std::string own = file_text(run_folder() + "/evaluation/knn.json");
  const auto other = json_of(
      debias_command({"eval", "knn", run_folder(), "--data", "glyphs", "size=16", "train_count=50", "test_count=20", "k=3", "--json"}));
  EXPECT_EQ(other["protocols"]["knn"]["counts"]["train"], 50);
  EXPECT_EQ(file_text(run_folder() + "/evaluation/knn.json"), own);
  EXPECT_TRUE(fs::exists(run_folder() + "/evaluation/knn-glyphs.json"));
}

TEST_F(Judging, ALoneCheckpointNeedsItsDataNamed) {
  const std::string message =
      "opening checkpoint '" + lone() + "': it lies in no run folder, so its data are not known; give --data NAME --root DIR";
  expect_refusal(debias_command({"eval", "knn", lone()}), 2, message);
  expect_refusal(debias_command({"embed", lone(), "--out", path("e")}), 2, message);
  const std::vector<std::string> data = {"--data", "glyphs", "size=16", "train_count=50", "test_count=20", "--json"};
  const auto json = json_of(debias_command(with({"eval", "knn", lone()}, data)));
  EXPECT_EQ(json["protocols"]["knn"]["counts"]["test"], 20);
  EXPECT_FALSE(fs::exists(path("evaluation")));
}

TEST_F(Judging, EmbedWritesAnArrayWithASidecarOrOneTable) {
  const auto json = json_of(debias_command({"embed", run_folder(), "--out", path("e"), "--json"}));
  EXPECT_EQ(json["count"], 40);
  EXPECT_EQ(json["files"], (std::vector<std::string>{path("e.npy"), path("e.csv")}));
  const NpyArray array = read_npy(path("e.npy"));
  EXPECT_EQ(array.dtype, DType::kFloat32);
  ASSERT_EQ(array.shape, (std::vector<int64_t>{40, json["dimensions"].get<int64_t>()}));
  EXPECT_TRUE(file_text(path("e.csv")).starts_with("filenames,labels\n"));

  ASSERT_EQ(debias_command({"embed", run_folder(), "--out", path("t.csv")}).exit, 0);
  const std::string table = file_text(path("t.csv"));
  EXPECT_TRUE(table.starts_with("filenames,embedding_0,embedding_1,"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 41);
  const std::string first = table.substr(table.find('\n') + 1);
  EXPECT_EQ(std::stof(first.substr(first.find(',') + 1)), array.as<float>()[0]);
}

TEST_F(Judging, EmbedTakesTheRunsTestSetWithWordsLaidOverIt) {
  const auto json = json_of(debias_command({"embed", run_folder(), "test_count=7", "--out", path("few"), "--json"}));
  EXPECT_EQ(json["count"], 7);
  const auto train = json_of(debias_command({"embed", run_folder(), "split=train", "train_count=11", "--out", path("train"), "--json"}));
  EXPECT_EQ(train["count"], 11);
}

TEST_F(Judging, EmbedWritesNothingInsideADataFolder) {
  fs::create_directories(path("images"));
  const std::string out = path("images/e.npy");
  const ProcessResult result = debias_command({"embed", run_folder(), "--data", "image_folder", "--root", path("images"), "--out", out});
  EXPECT_EQ(result.exit, 2);
  EXPECT_NE(result.err.find("lies inside the data folder"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(path("images")));
}

TEST_F(Judging, EvalOfARunInsideADataFolderSaysToMoveIt) {
  const std::string& root = folder_->path();
  expect_refusal(debias_command({"eval", "knn", run_folder(), "--data", "image_folder", "--root", root}), 2,
                 "run '" + run_folder() + "' lies inside the data folder '" + root + "'; nothing is written there: move the run out of it");
}

TEST_F(Judging, HelpFitsOneScreenAndEndsWithAnExample) {
  for (const char* verb : {"eval", "embed"}) {
    const ProcessResult help = debias_command({verb, "--help"});
    EXPECT_EQ(help.exit, 0);
    EXPECT_LE(std::count(help.out.begin(), help.out.end(), '\n'), 24);
    EXPECT_NE(help.out.find(std::string("Example: debias ") + verb), std::string::npos);
  }
}

TEST_F(Judging, SentencesHaveAHelpOfTheirOwn) {
  const ProcessResult above = debias_command({"eval", "--help"});
  EXPECT_NE(above.out.find("debias eval sentences --help"), std::string::npos) << above.out;
  const ProcessResult help = debias_command({"eval", "sentences", "--help"});
  EXPECT_EQ(help.exit, 0) << help.err;
  EXPECT_LE(std::count(help.out.begin(), help.out.end(), '\n'), 24);
  for (const char* option : {"--root", "--tasks", "--with", "--cheap", "--untrained", "--checkpoint", "--fail-if", "--json"}) {
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
  }
  for (const char* option : {"--tasks", "--with", "--cheap", "--untrained"}) EXPECT_EQ(above.out.find(option), std::string::npos) << option;
  EXPECT_NE(help.out.find("Example: debias eval sentences"), std::string::npos) << help.out;
}

TEST_F(Judging, EvalSaysWhichOfItsWordsAreMissing) {
  expect_refusal(debias_command({"eval"}), 2, "eval: protocols is required; see debias eval --help");
  expect_refusal(debias_command({"eval", "knn"}), 2, "eval: run is required; see debias eval --help");
  expect_refusal(debias_command({"eval", "sentences"}), 2, "eval: run is required; see debias eval --help");
}

TEST_F(Judging, SentencesAreNoProtocolAmongOthers) {
  const ProcessResult listed = debias_command({"eval", "knn,sentences", run_folder()});
  EXPECT_EQ(listed.exit, 2);
  EXPECT_TRUE(listed.err.starts_with("debias: eval: 'sentences' is judged by itself")) << listed.err;
  EXPECT_EQ(times("\n", listed.err), 1u) << listed.err;
  expect_refusal(debias_command({"eval", "knn", "sentences", run_folder()}), 2,
                 "eval: sentences excludes protocols; see debias eval --help");
  expect_refusal(debias_command({"eval", "--predictions", "sentences", run_folder()}), 2,
                 "eval: sentences excludes --predictions; see debias eval --help");
  const ProcessResult of_images = debias_command({"eval", "sentences", run_folder(), "--data", "glyphs"});
  EXPECT_EQ(of_images.exit, 2);
  EXPECT_TRUE(of_images.err.starts_with("debias: eval: unknown option '--data'")) << of_images.err;
  const ProcessResult cheap = debias_command({"eval", "knn", run_folder(), "--cheap"});
  EXPECT_EQ(cheap.exit, 2);
  EXPECT_TRUE(cheap.err.starts_with("debias: eval: unknown option '--cheap'")) << cheap.err;
  const ProcessResult images = debias_command({"eval", "sentences", run_folder(), "--root", run_folder()});
  EXPECT_EQ(images.exit, 2);
  EXPECT_NE(images.err.find("it reads images; this is for runs of method quick_thoughts"), std::string::npos) << images.err;
}

}  // namespace eval_cli_test
}  // namespace debias

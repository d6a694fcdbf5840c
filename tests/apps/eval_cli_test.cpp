// `debias eval` and `debias embed` as processes, on one small run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

#include "debias/core/npy.h"
#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"
#include "tests/support/shared_folder.h"

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

class EvalCommand : public SharedFolder<EvalCommand> {
 protected:
  static void SetUpTestSuite() {
    const std::string recipe = path("recipe.yaml");
    std::ofstream(recipe) << kRecipe;
    const ProcessResult result = run_debias({"train", recipe, "output=" + run_folder()});
    ASSERT_EQ(result.exit, 0) << result.err;
  }
  static std::string run_folder() { return path("run"); }
};

TEST_F(EvalCommand, EvalPrintsPercentAndWritesFractions) {
  const ProcessResult result = run_debias({"eval", "knn,linear,tsne", run_folder(), "linear.views=eval", "linear.epochs=2", "knn.k=7",
                                           "tsne.iterations=50", "tsne.samples=30"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.out.find("test.knn_acc1"), std::string::npos);
  EXPECT_NE(result.out.find(" %\n"), std::string::npos);
  const std::string divergence = result.out.substr(result.out.find("test.tsne_kl"));
  EXPECT_EQ(divergence.substr(0, divergence.find('\n')).find('%'), std::string::npos) << "a divergence is no fraction";
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

TEST_F(EvalCommand, EvalPrintsLowShotAccuracyWithItsIntervalAndRetrieval) {
  const ProcessResult result = run_debias({"eval", "low_shot,retrieval", run_folder(), "low_shot.per_class=[1, 3]", "low_shot.draws=3",
                                           "retrieval.k=[1, 2]", "--fail-if", "low_shot_acc1_3_per_class<0"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const std::string line = result.out.substr(result.out.find("test.low_shot_acc1_3_per_class"));
  EXPECT_NE(line.substr(0, line.find('\n')).find(" %  ["), std::string::npos) << line;
  EXPECT_NE(result.out.find("test.retrieval_recall_at_2"), std::string::npos);
  const auto low_shot = nlohmann::json::parse(file_text(run_folder() + "/evaluation/low_shot.json"));
  EXPECT_EQ(low_shot["by_draw"]["test.low_shot_acc1_1_per_class"].size(), 3u);
  EXPECT_EQ(low_shot["options"]["seed"], 3);  // the run's
  EXPECT_EQ(nlohmann::json::parse(file_text(run_folder() + "/evaluation/retrieval.json"))["queries"]["test"], 40);
}

TEST_F(EvalCommand, EvalJsonIsOneObjectAndSaysTheSameAsTheFile) {
  const auto json = json_of(run_debias({"eval", "knn", run_folder(), "k=9", "--json"}));
  EXPECT_EQ(json["protocols"]["knn"], nlohmann::json::parse(file_text(run_folder() + "/evaluation/knn.json")));
}

TEST_F(EvalCommand, FailIfGivesExitOneWithOneLineOnlyWhenItHolds) {
  const ProcessResult holds = run_debias({"eval", "knn", run_folder(), "--fail-if", "test.knn_acc1<1.5"});
  EXPECT_EQ(holds.exit, 1);
  EXPECT_NE(holds.err.find("so --fail-if 'test.knn_acc1<1.5' holds\n"), std::string::npos);
  EXPECT_EQ(run_debias({"eval", "knn", run_folder(), "--fail-if", "knn_acc1 > 1"}).exit, 0);
  const ProcessResult unknown = run_debias({"eval", "knn", run_folder(), "--fail-if", "tst.knn_acc1<0.7"});
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_NE(unknown.err.find("did you mean 'test.knn_acc1'?"), std::string::npos);
}

TEST_F(EvalCommand, EvalRefusesWhatItCannotDoBeforeItReadsAnything) {
  expect_refusal(run_debias({"eval", "kn", "nowhere"}), 2, "eval: unknown protocol 'kn'; did you mean 'knn'?");
  expect_refusal(run_debias({"eval", "linear,linear_dcl", "nowhere"}), 2, "eval: protocol 'linear_dcl' is requested twice; give it once");
  expect_refusal(run_debias({"eval", "knn", "nowhere", "kk=3"}), 2, "command line: knn: unknown option 'kk'; did you mean 'k'?");
  expect_refusal(run_debias({"eval", "knn,linear", "nowhere", "k=3"}), 2,
                 "eval: 'k=3' belongs to no requested protocol; write e.g. knn.k=...");
  expect_refusal(run_debias({"eval", "knn", "nowhere", "linear.epochs=3"}), 2,
                 "eval: 'linear.epochs=3' belongs to no requested protocol; write e.g. knn.k=...");
  expect_refusal(run_debias({"eval", "knn", "nowhere", "--fail-if", "knn"}), 2,
                 "--fail-if 'knn': expected METRIC, one of < <= > >= ==, and a number, e.g. 'test.knn_acc1<0.7'");
  for (const char* protocol : {"knn", "sentences"}) {
    expect_refusal(run_debias({"eval", protocol, "nowhere", "--fail-if", ""}), 2,
                   "--fail-if '': expected METRIC, one of < <= > >= ==, and a number, e.g. 'test.knn_acc1<0.7'");
  }
  expect_refusal(run_debias({"eval", "knn", "nowhere", "--data", "glyphs", "data.test.size=3"}), 2,
                 "eval: 'data.test.size=3' and --data exclude each other; give one");
  expect_refusal(run_debias({"eval", "knn", "nowhere"}), 3,
                 "opening 'nowhere': no such run folder or checkpoint in " + fs::current_path().string());
  expect_refusal(run_debias({"eval", "knn", run_folder(), "k=97"}), 2,
                 "knn: k: 97 neighbours of a gallery of 96 labelled images; give k of at most 96");
}

TEST_F(EvalCommand, EvalChangesTheRunsDataByWordsAndEvaluatesOnOthersBesideIt) {
  const auto changed = json_of(run_debias({"eval", "knn", run_folder(), "data.test.test_count=12", "--json"}));
  EXPECT_EQ(changed["protocols"]["knn"]["counts"]["test"], 12);
  const std::string own = file_text(run_folder() + "/evaluation/knn.json");
  const auto other =
      json_of(run_debias({"eval", "knn", run_folder(), "--data", "glyphs", "size=16", "train_count=50", "test_count=20", "k=3", "--json"}));
  EXPECT_EQ(other["protocols"]["knn"]["counts"]["train"], 50);
  EXPECT_EQ(file_text(run_folder() + "/evaluation/knn.json"), own);
  EXPECT_TRUE(fs::exists(run_folder() + "/evaluation/knn-glyphs.json"));
}

TEST_F(EvalCommand, WordsGoToTheirProtocolsAndToTheRecipe) {
  const auto json = json_of(
      run_debias({"eval", "groups,knn", run_folder(), "knn.k=7", "groups.bootstrap=0", "evaluate.unknown_classes=ignore", "--json"}));
  const auto changes = json["protocols"]["knn"]["recipe_changes"];
  EXPECT_EQ(changes["evaluate.knn.k"], "7");
  EXPECT_EQ(changes["evaluate.unknown_classes"], "ignore");
}

TEST_F(EvalCommand, SentencesHaveAHelpOfTheirOwn) {
  const ProcessResult above = run_debias({"eval", "--help"});
  EXPECT_NE(above.out.find("debias eval sentences --help"), std::string::npos) << above.out;
  const ProcessResult help = run_debias({"eval", "sentences", "--help"});
  for (const char* option : {"--root", "--tasks", "--with", "--cheap", "--untrained", "--checkpoint", "--fail-if", "--json"}) {
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
  }
  for (const char* option : {"--tasks", "--with", "--cheap", "--untrained"}) EXPECT_EQ(above.out.find(option), std::string::npos) << option;
  EXPECT_NE(help.out.find("Example: debias eval sentences"), std::string::npos) << help.out;
}

TEST_F(EvalCommand, EvalSaysWhichOfItsWordsAreMissing) {
  expect_refusal(run_debias({"eval"}), 2, "eval: protocols is required; see debias eval --help");
  expect_refusal(run_debias({"eval", "knn"}), 2, "eval: run is required; see debias eval --help");
  expect_refusal(run_debias({"eval", "sentences"}), 2, "eval sentences: run is required; see debias eval sentences --help");
}

TEST_F(EvalCommand, SentencesAreNoProtocolAmongOthers) {
  const ProcessResult listed = run_debias({"eval", "knn,sentences", run_folder()});
  EXPECT_EQ(listed.exit, 2);
  EXPECT_TRUE(listed.err.starts_with("debias: eval: 'sentences' is a command of its own")) << listed.err;
  EXPECT_EQ(times("\n", listed.err), 1u) << listed.err;
  expect_refusal(run_debias({"eval", "knn", "sentences", run_folder()}), 2, "eval: sentences excludes protocols; see debias eval --help");
  expect_refusal(run_debias({"eval", "--predictions", "sentences", run_folder()}), 2,
                 "eval: sentences excludes --predictions; see debias eval --help");
  const ProcessResult of_images = run_debias({"eval", "sentences", run_folder(), "--data", "glyphs"});
  EXPECT_EQ(of_images.exit, 2);
  EXPECT_TRUE(of_images.err.starts_with("debias: eval sentences: unknown option '--data'")) << of_images.err;
  const ProcessResult cheap = run_debias({"eval", "knn", run_folder(), "--cheap"});
  EXPECT_EQ(cheap.exit, 2);
  EXPECT_TRUE(cheap.err.starts_with("debias: eval: unknown option '--cheap'")) << cheap.err;
  const ProcessResult images = run_debias({"eval", "sentences", run_folder(), "--root", run_folder()});
  EXPECT_EQ(images.exit, 2);
  EXPECT_NE(images.err.find("it reads images; this is for runs of method quick_thoughts"), std::string::npos) << images.err;
}

}  // namespace eval_cli_test
}  // namespace debias

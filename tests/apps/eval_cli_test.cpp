// `debias eval`, `debias embed` and `debias export` as processes, on one small run: what they print, and that words reach the library.
#include "tests/apps/command.h"

namespace debias::eval_cli_test {

class EvalCommand : public SharedFolder<EvalCommand> {
 protected:
  static void SetUpTestSuite() {
    std::ofstream(path("recipe.yaml")) << small_recipe({"data.test={name: glyphs, size: 16, test_count: 40, split: test}", "train.epochs=1",
                                                        "train.batch_size=32", "objective={name: infonce, temperature: 0.3}"});
    done({"train", path("recipe.yaml"), "output=" + run_folder()});
  }
  static std::string run_folder() { return path("run"); }
  static std::string file(const std::string& name) { return run_folder() + "/evaluation/" + name; }
};

TEST_F(EvalCommand, PrintsPercentAndWritesFractions) {
  const ProcessResult result = done({"eval", "knn,linear,tsne", run_folder(), "linear.views=eval", "linear.epochs=2", "knn.k=7",
                                     "tsne.iterations=50", "tsne.samples=30"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("test.knn_acc1"), HasSubstr(" %\n")));
  const std::string divergence = result.out.substr(result.out.find("test.tsne_kl"));
  EXPECT_THAT(divergence.substr(0, divergence.find('\n')), Not(HasSubstr("%"))) << "a divergence is no fraction";
  const auto knn = json_in(file("knn.json"));
  EXPECT_EQ(knn["options"]["k"], 7);
  EXPECT_LE(knn["metrics"]["test.knn_acc1"].get<double>(), 1.0);
  EXPECT_EQ(json_in(file("linear_dcl.json"))["options"]["views"], "eval");
}

TEST_F(EvalCommand, PrintsLowShotAccuracyWithItsIntervalAndRetrieval) {
  const ProcessResult result = done({"eval", "low_shot,retrieval", run_folder(), "low_shot.per_class=[1, 3]", "low_shot.draws=3",
                                     "retrieval.k=[1, 2]", "--fail-if", "low_shot_acc1_3_per_class<0"});
  const std::string line = result.out.substr(result.out.find("test.low_shot_acc1_3_per_class"));
  EXPECT_THAT(line.substr(0, line.find('\n')), HasSubstr(" %  ["));
  EXPECT_THAT(result.out, HasSubstr("test.retrieval_recall_at_2"));
  const auto low_shot = json_in(file("low_shot.json"));
  EXPECT_EQ(low_shot["by_draw"]["test.low_shot_acc1_1_per_class"].size(), 3u);
  EXPECT_EQ(low_shot["options"]["seed"], 3);  // the run's
  EXPECT_EQ(json_in(file("retrieval.json"))["queries"]["test"], 40);
}

TEST_F(EvalCommand, JsonIsOneObjectAndSaysTheSameAsTheFile) {
  const auto json = json_of(run_debias({"eval", "knn", run_folder(), "k=9", "--json"}));
  EXPECT_EQ(json["protocols"]["knn"], json_in(file("knn.json")));
}

TEST_F(EvalCommand, FailIfGivesExitOneWithOneLineOnlyWhenItHolds) {
  const auto fail_if = [](const std::string& condition) { return run_debias({"eval", "knn", run_folder(), "--fail-if", condition}); };
  expect_complaint(fail_if("test.knn_acc1<1.5"), 1, "so --fail-if 'test.knn_acc1<1.5' holds\n");
  EXPECT_EQ(fail_if("knn_acc1 > 1").exit, 0);
  expect_complaint(fail_if("tst.knn_acc1<0.7"), 2, "did you mean 'test.knn_acc1'?");
}

TEST_F(EvalCommand, WordsGoToTheDataTheProtocolsAndTheRecipe) {
  const auto evaluated = [](const std::string& protocols, const Words& more) {
    return json_of(run_debias(with({"eval", protocols, run_folder(), "--json"}, more)))["protocols"]["knn"];
  };
  EXPECT_EQ(evaluated("knn", {"data.test.test_count=12"})["counts"]["test"], 12);
  const std::string own = file_text(file("knn.json"));
  const auto other = evaluated("knn", {"--data", "glyphs", "size=16", "train_count=50", "test_count=20", "k=3"});
  EXPECT_EQ(other["counts"]["train"], 50);
  EXPECT_EQ(file_text(file("knn.json")), own);
  EXPECT_TRUE(fs::exists(file("knn-glyphs.json")));
  const auto changes = evaluated("groups,knn", {"knn.k=7", "groups.bootstrap=0", "evaluate.unknown_classes=ignore"})["recipe_changes"];
  EXPECT_EQ(changes["evaluate.knn.k"], "7");
  EXPECT_EQ(changes["evaluate.unknown_classes"], "ignore");
}

TEST_F(EvalCommand, SentencesHaveAHelpOfTheirOwn) {
  const std::string above = done({"eval", "--help"}).out, help = done({"eval", "sentences", "--help"}).out;
  EXPECT_THAT(above, HasSubstr("debias eval sentences --help"));
  for (const char* option : {"--root", "--tasks", "--with", "--cheap", "--untrained", "--checkpoint", "--fail-if", "--json"}) {
    EXPECT_THAT(help, HasSubstr(option));
  }
  for (const char* option : {"--tasks", "--with", "--cheap", "--untrained"}) EXPECT_THAT(above, Not(HasSubstr(option)));
}

TEST_F(EvalCommand, ExportPrintsTheFilesThatItWrites) {
  const auto json = json_of(run_debias({"export", run_folder(), "--json"}));
  EXPECT_EQ(json["folder"], run_folder() + "/exported");
  EXPECT_EQ(json["files"].size(), 3u);
  EXPECT_EQ(json["epoch"], 1);
  EXPECT_THAT(done({"export", run_folder()}).out, HasSubstr("preprocess.json\nthe encoder after 1 epochs, 64 features\n"));
}

TEST_F(EvalCommand, EmbedWritesTheLayerThatIsAskedFor) {
  const auto json = json_of(run_debias({"embed", run_folder(), "--layer", "projection", "--out", path("p"), "--json"}));
  EXPECT_EQ(json["dimensions"], 4);
  EXPECT_EQ(json["layer"], "projection");
  EXPECT_THAT(read_npy(path("p.npy")).shape, ElementsAre(40, 4));
  EXPECT_THAT(done({"embed", run_folder(), "--layer", "encoder", "--out", path("q")}).out,
              HasSubstr("40 images, 64 dimensions, pooled encoder output, not normalised"));
}

}  // namespace debias::eval_cli_test

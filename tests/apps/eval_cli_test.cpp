// `debias eval`, `debias embed` and `debias export` as processes, on one small run: what they print, and that words reach the library.
#include "tests/apps/command.h"

namespace debias {
namespace eval_cli_test {

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

}  // namespace eval_cli_test

// Evaluations during training: stopped, failing, changed at resume, and kept in the run folder.
namespace stopped_evaluation_test {

class EvaluationInTraining : public InFolder {
 protected:
  EvaluationInTraining() {
    std::ofstream("recipe.yaml") << small_recipe({"data.test={name: glyphs, size: 16, test_count: 90, split: test}", "objective=infonce",
                                                  "evaluate={protocols: [knn, tsne], knn: {k: 7}, tsne: {iterations: 250, samples: 60}}",
                                                  "train.epochs=2", "train.batch_size=32"});
  }
  Words words(const std::string& name, const Words& more = {}) const { return with({"train", "recipe.yaml", "output=" + name}, more); }
  std::string metrics(const std::string& name) const { return file_text(name + "/metrics.jsonl") + file_text(name + "/metrics.csv"); }
  void wait_for(const std::string& file) const {
    ASSERT_TRUE(soon([&] { return fs::exists(file); })) << file;
  }
};

TEST_F(EvaluationInTraining, AStopInTheMiddleIsObeyedAtOnceAndTheEvaluationMadeUpFor) {
  const Words slow = {"train.epochs=1", "evaluate.tsne.iterations=6000", "evaluate.tsne.samples=90"};
  done(words("whole", slow));
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGXCPU, SIGUSR1, SIGKILL}) {
    const std::string name = "stopped" + std::to_string(signal);
    Background process(with({kBinary}, words(name, slow)));
    wait_for(name + "/evaluation/knn.json");  // the map is being made
    process.signal(signal);
    EXPECT_EQ(process.wait().exit, signal == SIGKILL ? 128 + SIGKILL : 75);
    EXPECT_FALSE(fs::exists(name + "/evaluation/tsne.json")) << "the map would have been made to its end";
    Words rest = slow;
    rest.push_back("--resume");
    done(words(name, rest));
    EXPECT_EQ(metrics(name), metrics("whole"));
  }
}

TEST_F(EvaluationInTraining, AFailureIsReportedAndTrainingGoesOn) {
  const ProcessResult result = run_debias(words("run", {"evaluate.tsne.perplexity=80"}));
  EXPECT_EQ(result.exit, 1);
  expect_parts(result.err, {"the evaluation after epoch 1 failed: ",
                            "debias: train: trained to the end, but the evaluation after epoch 1 failed: ", "(1 later ones, too)"});
  EXPECT_EQ(times("\"train_loss\"", file_text("run/metrics.jsonl")), 2u);
}

TEST_F(EvaluationInTraining, AFailureStopsWhereAskedToAndIsMadeUpForWithTheCure) {
  done(words("whole"));
  const ProcessResult stopped = run_debias(words("run", {"evaluate.tsne.perplexity=80", "evaluate.on_error=stop"}));
  EXPECT_EQ(stopped.exit, 2) << stopped.err;
  const ProcessResult resumed = done({"train", "run", "--resume", "evaluate.tsne.perplexity=auto", "evaluate.on_error=continue"});
  EXPECT_THAT(resumed.err, HasSubstr("changed at resume: evaluate.tsne.perplexity: 80 before, \"auto\" from now on"));
  EXPECT_EQ(metrics("run"), metrics("whole"));
  EXPECT_THAT(file_text("run/config.yaml"), Not(HasSubstr("perplexity: 80")));
}

TEST_F(EvaluationInTraining, WhatDoesNotChangeTrainingMayChangeAtResumeAndNothingElse) {
  ASSERT_EQ(run_debias(words("run", {"evaluate.on_error=stop", "evaluate.tsne.perplexity=80"})).exit, 2);
  const ProcessResult refused = run_debias({"train", "run", "--resume", "optimizer.learning_rate=0.5"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("'optimizer.learning_rate'"));
  done({"train", "run", "--resume", "evaluate.protocols=[knn]", "evaluate.tsne.perplexity=auto", "data.test.test_count=40",
        "views.eval={resize: {size: 20}}", "train.workers=2"});
  const auto knn = json_in("run/evaluation/knn.json");
  EXPECT_EQ(knn["counts"]["test"], 40);
  EXPECT_THAT(file_text("run/train.log"), HasSubstr("changed at resume: views.eval"));
  EXPECT_THAT(file_text("run/config.yaml"), HasSubstr("test_count: 40"));
}

TEST_F(EvaluationInTraining, ResultsAreKeptOfTheLatestAndOfEachEpoch) {
  done(words("run"));
  const auto record = [&](const std::string& name) { return json_in("run/evaluation/" + name); };
  EXPECT_EQ(record("knn.json")["epoch"], 2);
  EXPECT_TRUE(record("knn.json").contains("neighbours"));
  EXPECT_FALSE(fs::is_empty("run/evaluation/thumbnails"));
  EXPECT_EQ(record("epoch-1/knn.json")["epoch"], 1);
  EXPECT_FALSE(record("epoch-1/knn.json").contains("neighbours"));
  EXPECT_FALSE(record("epoch-2/tsne.json").contains("map"));
  EXPECT_EQ(record("epoch-2/knn.json")["metrics"], record("knn.json")["metrics"]);
  const auto trained = record("knn.json");
  done({"eval", "knn", "run"});
  EXPECT_EQ(record("knn.json"), trained) << "eval takes the recipe's options, and writes what training wrote";
}

}  // namespace stopped_evaluation_test

// `debias prior` as a process, on vectors and on a run.
namespace prior_cli_test {

using PriorVerb = InFolder;

// Views of each of 200 samples of four classes: the class's own axis with noise by a fixed wave.
void write_views(const std::string& path) {
  std::vector<float> z(200 * 2 * 4);
  for (size_t i = 0; i < z.size(); ++i) {
    z[i] = static_cast<float>((i % 4 == i / 8 % 4 ? 1 : 0) + 0.05 * std::sin(12.9898 * static_cast<double>(i)));
  }
  write_npy(path, DType::kFloat32, {200, 2, 4}, z.data());
}

TEST_F(PriorVerb, EmbeddingsWithViewsAndLabelsShowBothEstimates) {
  write_views("z.npy");
  std::vector<int64_t> labels(200);
  for (size_t i = 0; i < 200; ++i) labels[i] = static_cast<int64_t>(i % 4);
  write_npy("y.npy", DType::kInt64, {200}, labels.data());
  const Json both = json_of(run_debias({"prior", "--embeddings", "z.npy", "--labels", "y.npy", "--json"}));
  EXPECT_EQ(both["method"], "labels");
  EXPECT_EQ(both["assumptions"].size(), 1u);
  EXPECT_EQ(both["other"]["method"], "views");
  std::ofstream("z.csv") << "path,label\n0,a\n";  // two views of each image are no table
  EXPECT_EQ(json_of(run_debias({"prior", "--embeddings", "z.npy", "--json"})), both["other"]);
  EXPECT_THAT(done({"prior", "--embeddings", "z.npy"}).out,
              AllOf(HasSubstr("at most 0."), HasSubstr("assumes: two views of an image are as similar")));
}

TEST_F(PriorVerb, LeavesOutPairsOfOneGroup) {
  write_npy("f.npy", DType::kFloat32, {4, 2}, std::vector<float>{1, 0, 1, 0.1F, 0, 1, 0.1F, 1}.data());
  std::ofstream("f.csv") << "path,label,patient\n0,a,p\n1,a,p\n2,b,q\n3,b,r\n";
  const Json found = json_of(run_debias({"prior", "--embeddings", "f.npy", "--group", "patient", "--json"}));
  EXPECT_NEAR(found["tau_plus"].get<double>(), 1.0 / 5, 1e-12);
  EXPECT_EQ(found["groups"], 3);
  expect_complaint(run_debias({"prior", "--embeddings", "f.npy", "--group", "pateint"}), 2, "did you mean 'patient'?");
  const Json knn = json_of(run_debias({"eval", "knn", "--embeddings", "f.npy", "--group", "patient", "knn.k=1", "--json"}));
  EXPECT_EQ(knn["groups"], 3);
  EXPECT_EQ(knn["rows"], 4);
  EXPECT_EQ(knn["groups_from"], "column patient");
  EXPECT_NEAR(knn["protocols"]["knn"]["metrics"]["test.knn_acc1"].get<double>(), 0.5, 1e-12);  // rows 0 and 1 are of one patient
  EXPECT_THAT(knn["notes"].dump(), HasSubstr("knn: test: 2 of 4 rows have others of their group among the training rows (column patient)"));
}

TEST_F(PriorVerb, ReadsTheCsvNextToTheVectors) {
  write_npy("f.npy", DType::kFloat32, {6, 2}, std::vector<float>(12, 0.5F).data());
  write_npy("y.npy", DType::kInt64, {6}, std::vector<int64_t>{0, 0, 0, 0, 0, 1}.data());
  std::ofstream("f.csv") << "path,label,kind\n0,a,x\n1,a,x\n2,a,x\n3,b,y\n4,b,y\n5,b,x\n";
  const auto prior = [](const Words& more) { return json_of(run_debias(with({"prior", "--embeddings", "f.npy", "--json"}, more))); };
  const Json beside = prior({});
  EXPECT_EQ(beside["method"], "labels");
  EXPECT_NEAR(beside["tau_plus"].get<double>(), 12.0 / 30, 1e-12);
  EXPECT_EQ(prior({"--csv", "f.csv"}), beside);
  EXPECT_NEAR(prior({"--label", "kind"})["tau_plus"].get<double>(), 14.0 / 30, 1e-12);
  EXPECT_NEAR(prior({"--labels", "y.npy"})["tau_plus"].get<double>(), 20.0 / 30, 1e-12);
}

TEST_F(PriorVerb, OfARunPrintsBothEstimates) {
  const Words recipe = {"encoder={name: simple_convnet}", "objective=infonce", "train.epochs=1"};
  std::ofstream("recipe.yaml") << small_recipe(recipe);
  done({"train", "recipe.yaml", "output=run"});
  const Json found = json_of(run_debias({"prior", "run", "--images", "60", "--json"}));
  EXPECT_EQ(found["images"], 96) << "labels are read of all";
  EXPECT_EQ(found["other"]["images"], 60);
  std::ofstream("drawn.yaml") << small_recipe(with(recipe, {"sampler={name: balanced, by: class}"}));
  done({"train", "drawn.yaml", "output=drawn"});
  EXPECT_THAT(done({"prior", "drawn"}).out, HasSubstr("as the run's sampler draws them"));
}

}  // namespace prior_cli_test
}  // namespace debias

// A run's numbers of classes and bias labels hold for every set that is read later, whatever classes it has and however they sort.
#include "tests/apps/command.h"
#include "tests/apps/named_pictures.h"

namespace debias::classes_by_name_test {

const Words kAll = {"wasp", "ant", "moth", "bee"};
const Words kTwo = {"wasp", "", "moth", ""};

class ClassesByName : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    pictures_ = new NamedPictures;
    pictures_->folder("train", kAll, "train");
    pictures_->folder("test", kAll, "test");
    pictures_->folder("two", kTwo, "test");
    std::ofstream(*pictures_ / "recipe.yaml") << small_recipe(
        {"views={preset: none, count: 1}", "head={name: none}", "objective=cross_entropy", "classifier={name: linear, gradient: flow}",
         "optimizer={name: adam, learning_rate: 3e-3}", "schedule=constant", "train={epochs: 6, batch_size: 24, device: cpu, threads: 1}",
         "evaluate={protocols: [knn, groups], knn: {k: 20}, groups: {bootstrap: 0, predictions: classifier}}"});
    const ProcessResult trained = train("run", {});
    ASSERT_EQ(trained.exit, 0) << trained.err;
  }
  static void TearDownTestSuite() {
    delete pictures_;
    pictures_ = nullptr;
  }
  static std::string section(const std::string& name) { return NamedPictures::section(*pictures_ / name); }
  static ProcessResult train(const std::string& output, const Words& more) {
    return run_debias(with({"train", *pictures_ / "recipe.yaml", "output=" + (*pictures_ / output),
                            "data={train: " + section("train") + ", test: " + section("test") + "}"},
                           more));
  }
  static ProcessResult eval(const std::string& protocols, const Words& more) {
    return run_debias(with({"eval", protocols, *pictures_ / "run", "--json"}, more));
  }
  // The share of right predictions among the images of some classes, from evaluation/PROTOCOL.csv of the whole test set.
  static double accuracy_on(const std::string& protocol, const Words& classes) {
    std::istringstream table(file_text(*pictures_ / "run/evaluation/" + protocol + ".csv"));
    int right = 0, all = 0;
    std::string line;
    for (std::getline(table, line); std::getline(table, line);) {
      Words cells;
      std::istringstream text(line);
      for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
      for (const auto& name : classes) {
        if (name.empty() || cells.at(1).find(name + "/") == std::string::npos) continue;
        ++all;
        right += cells.at(2) == cells.at(4) ? 1 : 0;
      }
    }
    EXPECT_EQ(all, 60);
    return static_cast<double>(right) / all;
  }

  static NamedPictures* pictures_;
};
NamedPictures* ClassesByName::pictures_ = nullptr;

TEST_F(ClassesByName, TheRunFolderHoldsTheTable) {
  const auto table = json_in(*pictures_ / "run/classes.json");
  EXPECT_EQ(table["classes"], (Words{"ant", "bee", "moth", "wasp"}));
  EXPECT_EQ(table["biases"].size(), 5u);
}

TEST_F(ClassesByName, ATableTakesACopyOfThePicturesForTheSameAndRefusesOthers) {
  const auto sets = json_in(*pictures_ / "run/data/sets.json");
  EXPECT_EQ(sets["train"]["classes"], Json({"ant", "bee", "moth", "wasp"}));
  const auto table_beside = [&](const std::string& seed) {
    const ProcessResult trained =
        train("copy-" + seed, {"seed=" + seed, "train.epochs=6", "data={train: " + section("train") + ", test: " + section("copy") + "}"});
    EXPECT_EQ(trained.exit, 0) << trained.err;
    return run_debias({"table", *pictures_ / "run", *pictures_ / ("copy-" + seed), "--metric", "test.acc1", "--format", "csv"});
  };
  fs::copy(*pictures_ / "test", *pictures_ / "copy", fs::copy_options::recursive);
  fs::copy_file(*pictures_ / "test.csv", *pictures_ / "copy.csv");
  const ProcessResult alike = table_beside("4");
  EXPECT_EQ(alike.exit, 0) << alike.err;
  EXPECT_THAT(alike.err, HasSubstr("test.acc1, last epoch"));  // what a CSV file does not say
  std::string rows = file_text(*pictures_ / "copy.csv");
  for (size_t at = rows.find(",red\n"); at != std::string::npos; at = rows.find(",red\n")) rows.replace(at, 4, ",white");
  std::ofstream(*pictures_ / "copy.csv") << rows;
  const ProcessResult other = table_beside("5");
  EXPECT_EQ(other.exit, 2);
  EXPECT_THAT(other.err, HasSubstr("runs of different data: data.test."));
}

TEST_F(ClassesByName, ATestFolderWithTwoOfFourClassesScoresAsTheSameImagesAmongAll) {
  json_of(eval("knn,groups", {"--predictions"}));
  const double knn = accuracy_on("knn", kTwo), classifier = accuracy_on("groups", kTwo);
  EXPECT_GT(classifier, 0.5);
  const auto few = json_of(eval("knn,groups", {"data.test=" + section("two")}));
  EXPECT_DOUBLE_EQ(few["protocols"]["knn"]["metrics"]["test.knn_acc1"], knn);
  EXPECT_DOUBLE_EQ(few["protocols"]["groups"]["metrics"]["test.acc1"], classifier);
  EXPECT_EQ(few["protocols"]["groups"]["groups"]["test"]["labels"], (Words{"ant", "bee", "moth", "wasp"}));
}

TEST_F(ClassesByName, TrainingEvaluatesAsEvalDoes) {
  ASSERT_EQ(train("few", {"data.test=" + section("two")}).exit, 0);
  const std::string metrics = file_text(*pictures_ / "few/metrics.jsonl");
  const auto last = Json::parse(metrics.substr(metrics.rfind('\n', metrics.size() - 2) + 1));
  const auto few = json_of(eval("groups", {"data.test=" + section("two")}));
  EXPECT_DOUBLE_EQ(last["test.acc1"], few["protocols"]["groups"]["metrics"]["test.acc1"]);
}

TEST_F(ClassesByName, AGalleryOfAnotherFolderIsMappedToo) {
  pictures_->folder("other/train", {"wasp", "ant", "moth", ""}, "train");
  pictures_->folder("other/test", kTwo, "test");
  const auto other = json_of(eval("knn", {"--data", "image_folder", "--root", *pictures_ / "other"}));
  EXPECT_GT(other["protocols"]["knn"]["metrics"]["test.knn_acc1"], 0.5);
  EXPECT_EQ(other["protocols"]["knn"]["classes"], 4);
}

TEST_F(ClassesByName, AnUnknownClassIsRefusedWithTheNearestOneOrLeftOut) {
  pictures_->folder("typo", {"wasp", "ant", "moht", "bee"}, "test");
  for (const ProcessResult& refused : {eval("knn", {"data.test=" + section("typo")}), train("typo", {"data.test=" + section("typo")})}) {
    EXPECT_EQ(refused.exit, 3);
    expect_parts(refused.err, {"class 'moht' is not one that training knew (1 unknown in all); rename it", "did you mean 'moth'?"});
  }
  const ProcessResult left_out = eval("knn", {"data.test=" + section("typo"), "evaluate.unknown_classes=ignore"});
  EXPECT_EQ(json_of(left_out)["protocols"]["knn"]["counts"]["test"], 90);
  EXPECT_EQ(times("30 of 120 images are left out", left_out.err), 1u) << left_out.err;
}

TEST_F(ClassesByName, EmbeddingsCarryTheRunsNumbers) {
  const auto embed = [](const std::string& out, const std::string& word) {
    done({"embed", *pictures_ / "run", "--out", *pictures_ / out, word});
    return file_text(*pictures_ / out + ".csv");
  };
  const std::string table = embed("embedded", "data.test=" + section("two"));
  EXPECT_EQ(times(",2\n", table), 30u);  // moth
  EXPECT_EQ(times(",3\n", table), 30u);  // wasp
}

TEST_F(ClassesByName, ASetOfOtherClassesIsEvaluatedByItsOwnWithoutTheClassifier) {
  const Words others = {"oak", "elm", "fir", "yew"};
  pictures_->folder("trees/train", others, "train");
  pictures_->folder("trees/test", others, "test");
  const Words trees = {"--data", "image_folder", "--root", *pictures_ / "trees"};
  const ProcessResult evaluated = eval("knn", trees);
  EXPECT_GT(json_of(evaluated)["protocols"]["knn"]["metrics"]["test.knn_acc1"].get<double>(), 0.5);
  EXPECT_THAT(evaluated.err, HasSubstr("no class of image_folder is in the training set"));
}

TEST_F(ClassesByName, ResumingWithOtherTrainingClassesIsRefused) {
  ASSERT_EQ(train("renamed", {"train.checkpoint_every=1e-9"}).exit, 0);
  fs::copy(*pictures_ / "train", *pictures_ / "changed", fs::copy_options::recursive);
  const std::string last = *pictures_ / "renamed/checkpoints/last.safetensors";
  fs::rename(*pictures_ / "renamed/checkpoints/previous.safetensors", last);
  fs::rename(*pictures_ / "train", *pictures_ / "kept");
  fs::rename(*pictures_ / "train.csv", *pictures_ / "kept.csv");
  pictures_->folder("train", {"wasp", "ant", "moth", "cow"}, "train");
  pictures_->folder("cows", {"wasp", "ant", "moth", "cow"}, "test");
  const ProcessResult refused = run_debias({"train", *pictures_ / "renamed", "--resume", "data.test=" + section("cows")});
  fs::remove_all(*pictures_ / "train");
  fs::rename(*pictures_ / "kept", *pictures_ / "train");
  fs::rename(*pictures_ / "kept.csv", *pictures_ / "train.csv");
  EXPECT_EQ(refused.exit, 3);
  EXPECT_THAT(refused.err, HasSubstr("class 1 of the training set was \"bee\", now it is \"cow\""));
}

}  // namespace debias::classes_by_name_test

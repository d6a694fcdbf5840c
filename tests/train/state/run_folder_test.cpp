#include "debias/train/state/run_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "debias/core/recipe_keys.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace run_folder_test {

namespace fs = std::filesystem;

std::string refusal(const std::string& path, ExistingFolder existing, const Config& config, const std::vector<std::string>& roots = {}) {
  return usage_error_of([&] { RunFolder::open(path, existing, config, roots, Log::silent()); });
}

const Config kConfig = parse_yaml("{seed: 1, train: {epochs: 2, workers: 1}}", "x");

TEST(RunFolder, HoldsConfigAndEnvironment) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a/run";
  const RunFolder run = RunFolder::open(path, ExistingFolder::kRefuse, kConfig, {}, Log::silent());
  EXPECT_EQ(read_yaml_file(path + "/config.yaml"), kConfig);
  for (const char* name : {"environment.json", "checkpoints", "evaluation", "exported"}) EXPECT_TRUE(fs::exists(path + "/" + name)) << name;
  EXPECT_FALSE(run.resumed());
}

TEST(RunFolder, AnExistingOneIsRefusedUnlessAskedFor) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  { RunFolder::open(path, ExistingFolder::kRefuse, kConfig, {}, Log::silent()); }
  EXPECT_NE(refusal(path, ExistingFolder::kRefuse, kConfig).find("--resume"), std::string::npos);
  EXPECT_TRUE(RunFolder::open(path, ExistingFolder::kResume, kConfig, {}, Log::silent()).resumed());
  std::ofstream(path + "/metrics.jsonl") << "old";
  std::ofstream(path + "/report.html") << "of the run before";
  std::ofstream(path + "/nearest_sentences.json") << "of the run before";
  std::ofstream(path + "/notes.txt") << "mine";
  { RunFolder::open(path, ExistingFolder::kOverwrite, kConfig, {}, Log::silent()); }
  EXPECT_FALSE(fs::exists(path + "/metrics.jsonl"));
  EXPECT_FALSE(fs::exists(path + "/report.html"));
  EXPECT_FALSE(fs::exists(path + "/nearest_sentences.json"));
  EXPECT_TRUE(fs::exists(path + "/notes.txt"));
}

TEST(RunFolder, AFolderThatIsNoRunIsNeverOverwritten) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/thesis.txt") << "years of work";
  EXPECT_NE(refusal(folder.path(), ExistingFolder::kOverwrite, kConfig).find("not a run folder"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder.path() + "/thesis.txt"));
  EXPECT_EQ(folder.entries(), 1u) << "not even a lock";
}

TEST(RunFolder, InsideADataFolderAnotherIsChosenUnlessARunIsThere) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/books/run", linked = folder.path() + "/library/all";
  for (const char* name : {"/books", "/library"}) fs::create_directories(folder.path() + name);
  fs::create_directory_symlink(folder.path() + "/books", linked);
  const auto refused = [&](ExistingFolder existing) { return refusal(path, existing, kConfig, {folder.path() + "/library", linked}); };
  const std::string where = "' is inside the data folder '" + linked + "'; nothing is written there: ";
  EXPECT_EQ(refused(ExistingFolder::kRefuse), "output '" + path + where + "choose another output");
  EXPECT_EQ(refused(ExistingFolder::kResume), "output '" + path + where + "choose another output");
  EXPECT_FALSE(fs::exists(path));
  { RunFolder::open(path, ExistingFolder::kRefuse, kConfig, {}, Log::silent()); }
  EXPECT_EQ(refused(ExistingFolder::kResume), "run '" + path + where + "move the run out of it");
  EXPECT_EQ(refused(ExistingFolder::kOverwrite), "output '" + path + where + "choose another output");
}

TEST(RunFolder, ResumingWithAnotherRecipeNamesTheKey) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  { RunFolder::open(path, ExistingFolder::kRefuse, kConfig, {}, Log::silent()); }
  EXPECT_NE(refusal(path, ExistingFolder::kResume, parse_yaml("{seed: 1, train: {epochs: 3, workers: 1}}", "x")).find("'train.epochs'"),
            std::string::npos);
  EXPECT_NO_THROW(
      RunFolder::open(path, ExistingFolder::kResume, parse_yaml("{seed: 1, train: {epochs: 2, workers: 8}}", "x"), {}, Log::silent()));
}

TEST(RunFolder, WhatDoesNotTrainMayDifferAndIsPutIntoConfigYamlUnderTheLock) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  { RunFolder::open(path, ExistingFolder::kRefuse, kConfig, {}, Log::silent()); }
  const Config changed =
      parse_yaml("{seed: 1, train: {epochs: 2, workers: 3}, evaluate: {every: 2}, views: {eval: none}, data: {test: x}}", "x");
  RunFolder run = RunFolder::open(path, ExistingFolder::kResume, changed, {}, Log::silent());
  EXPECT_EQ(read_yaml_file(path + "/config.yaml"), kConfig);
  run.put_in_force(changed);
  EXPECT_EQ(read_yaml_file(path + "/config.yaml"), changed);
  EXPECT_NE(refusal(path, ExistingFolder::kResume, changed).find("in use"), std::string::npos);
}

TEST(RunFolder, ChangesAreReportedKeyByKeyAndByWhatTheyChange) {
  const auto changes = config_changes(parse_yaml("{a: {b: 1, c: 2}, d: [1]}", "x"), parse_yaml("{a: {b: 3, e: 4}, d: [1]}", "x"));
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].key + " " + changes[0].then + " " + changes[0].now, "a.b 1 3");
  EXPECT_EQ(changes[1].key + " " + changes[1].now, "a.c null");
  EXPECT_EQ(changes[2].key + " " + changes[2].then, "a.e null");
  for (const char* key : {"evaluate.knn.k", "views.eval", "views.eval.steps", "data.test.root", "data.valid", "train.workers"}) {
    EXPECT_FALSE(changes_training(key)) << key;
  }
  for (const char* key : {"views.evaluate", "data.train.split", "train.epochs", "data.testing", "seed"}) EXPECT_TRUE(changes_training(key));
}

TEST(RunFolder, OptionsThatAnOlderRunsOptimizerLackedAreAtTheirDefaults) {
  const Config then = parse_yaml("optimizer: {name: sgd, learning_rate: 0.1, momentum: 0.9, weight_decay: 0}", "x");
  const Config now = parse_yaml(
      "optimizer: {name: sgd, learning_rate: 0.1, momentum: 0.9, nesterov: false, weight_decay: 0, no_decay: [], clip_norm: none, "
      "clip_norm_per_tensor: none}",
      "x");
  EXPECT_TRUE(config_changes(then, now).empty());
  Config other = now;
  other.assign("optimizer.nesterov=true");
  const auto changes = config_changes(then, other);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].key + " " + changes[0].then + " " + changes[0].now, "optimizer.nesterov false true");
}

TEST(RunFolder, OptionsThatAnOlderRunsEncoderLackedAreAtTheirDefaults) {
  const Config then = parse_yaml("encoder: {name: resnet18, stem: cifar, width: 16, activation: relu}", "x");
  Config now = parse_yaml("encoder: {name: resnet18, stem: cifar, width: 16, activation: relu, stem_weights: fan_out_normal}", "x");
  EXPECT_TRUE(config_changes(then, now).empty());
  now.assign("encoder.stem_weights=fan_in_uniform");
  const auto changes = config_changes(then, now);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].key + " " + changes[0].then + " " + changes[0].now, "encoder.stem_weights \"fan_out_normal\" \"fan_in_uniform\"");
}

TEST(RunFolder, AnEmptiedConfigIsRefusedWithWhatToDo) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  { RunFolder::open(path, ExistingFolder::kRefuse, kConfig, {}, Log::silent()); }
  std::ofstream(path + "/config.yaml").close();
  EXPECT_NE(refusal(path, ExistingFolder::kResume, kConfig).find("debias checkpoint show"), std::string::npos);
}

TEST(RunFolder, TemporariesOfEarlierProcessesAreRemovedAtStart) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  { RunFolder::open(path, ExistingFolder::kRefuse, kConfig, {}, Log::silent()); }
  const std::string gone = path + "/checkpoints/next.safetensors.tmp-4194304-0", alive = path + "/evaluation/knn.json.tmp-1-0",
                    other = path + "/notes.tmp-today";
  for (const auto& name : {gone, alive, other}) std::ofstream(name) << "x";
  fs::create_directories(path + "/evaluation/thumbnails.tmp-4194304-3");
  RunFolder::open(path, ExistingFolder::kResume, kConfig, {}, Log::silent());
  EXPECT_FALSE(fs::exists(gone));
  EXPECT_FALSE(fs::exists(path + "/evaluation/thumbnails.tmp-4194304-3"));
  EXPECT_TRUE(fs::exists(alive)) << "process 1 lives";
  EXPECT_TRUE(fs::exists(other));
}

TEST(RunFolder, NothingIsWrittenInsideADataFolder) {
  const TemporaryFolder folder;
  EXPECT_NE(refusal(folder.path() + "/mnist/run", ExistingFolder::kRefuse, kConfig, {folder.path() + "/mnist"}).find("data folder"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder.path() + "/mnist"));
  EXPECT_NO_THROW(
      RunFolder::open(folder.path() + "/mnist-run", ExistingFolder::kRefuse, kConfig, {folder.path() + "/mnist"}, Log::silent()));
}

TEST(RunFolder, OneTrainingAtATime) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  const RunFolder first = RunFolder::open(path, ExistingFolder::kRefuse, kConfig, {}, Log::silent());
  EXPECT_NE(refusal(path, ExistingFolder::kResume, kConfig).find("in use"), std::string::npos);
}

}  // namespace run_folder_test
}  // namespace debias

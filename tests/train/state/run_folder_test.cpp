#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <barrier>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/recipe_keys.h"
#include "debias/train/state/run_folder.h"
#include "tests/support/kept_log.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace run_folder_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

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
  EXPECT_THAT(refusal(path, ExistingFolder::kRefuse, kConfig), HasSubstr("--resume"));
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
  EXPECT_THAT(refusal(folder.path(), ExistingFolder::kOverwrite, kConfig), HasSubstr("not a run folder"));
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
  EXPECT_THAT(refusal(path, ExistingFolder::kResume, parse_yaml("{seed: 1, train: {epochs: 3, workers: 1}}", "x")),
              HasSubstr("'train.epochs'"));
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
  EXPECT_THAT(refusal(path, ExistingFolder::kResume, changed), HasSubstr("in use"));
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
  EXPECT_THAT(refusal(path, ExistingFolder::kResume, kConfig), HasSubstr("debias checkpoint show"));
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

// One training process a run folder.

constexpr int kStarts = 3;

const Config kRecipe = parse_yaml("{seed: 1, train: {epochs: 2}}", "x");

struct Outcome {
  int trained = 0;
  std::vector<std::string> refusals;
};

// Three starts at one moment; who has the folder keeps it until all have tried.
Outcome start_together(const std::string& path, ExistingFolder existing) {
  Outcome outcome;
  std::mutex mutex;
  std::barrier at_once(kStarts), all_tried(kStarts);
  const auto start = [&] {
    std::optional<RunFolder> run;
    std::string refusal;
    at_once.arrive_and_wait();
    try {
      run.emplace(RunFolder::open(path, existing, kRecipe, {}, Log::silent()));
    } catch (const Error& error) {
      refusal = error.kind() == ErrorKind::kUsage ? error.what() : fmt::format("not a usage error: {}", error.what());
    }
    all_tried.arrive_and_wait();
    const std::lock_guard lock(mutex);
    if (run) {
      ++outcome.trained;
    } else {
      outcome.refusals.push_back(refusal);
    }
  };
  std::vector<std::thread> starts;
  for (int i = 0; i < kStarts; ++i) starts.emplace_back(start);
  for (auto& each : starts) each.join();
  return outcome;
}

TEST(RunLock, OfThreeStartsAtOnceExactlyOneTrainsInEachOf200Rounds) {
  const TemporaryFolder folder;
  int misses = 0;
  for (int round = 0; round < 200; ++round) {
    const std::string path = folder / fmt::format("run{}", round / 4);
    const ExistingFolder existing = round % 4 == 0   ? ExistingFolder::kRefuse
                                    : round % 2 == 1 ? ExistingFolder::kOverwrite
                                                     : ExistingFolder::kResume;
    const Outcome outcome = start_together(path, existing);
    misses += outcome.trained != 1;
    for (const auto& refusal : outcome.refusals) EXPECT_THAT(refusal, HasSubstr("is in use by another training process")) << round;
    ASSERT_EQ(read_yaml_file(path + "/config.yaml"), kRecipe);
  }
  EXPECT_EQ(misses, 0);
}

RunLock::Flock failing(int reason) {
  return [reason](int, int) {
    errno = reason;
    return -1;
  };
}

TEST(RunLock, GoesOnWhereTheFileSystemHasNoLocksAndSaysSoOnce) {
  const TemporaryFolder folder;
  for (const int reason : {ENOLCK, ENOSYS, EOPNOTSUPP}) {
    KeptLog log;
    const RunLock lock = RunLock::take(folder.path(), log, failing(reason));
    EXPECT_THAT(log.warnings, testing::ElementsAre(HasSubstr("has no locks")));
  }
  EXPECT_THAT(error_of(ErrorKind::kResource, [&] { RunLock::take(folder.path(), Log::silent(), failing(EIO)); }), HasSubstr("locking"));
}

TEST(RunLock, IsHeldFromAnEndOfTheRunToTheOtherOnOneAndTheSameFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "run";
  const auto file_number = [&] {
    struct stat about {};
    EXPECT_EQ(stat((path + "/.lock").c_str(), &about), 0);
    return about.st_ino;
  };
  { RunFolder::open(path, ExistingFolder::kRefuse, kRecipe, {}, Log::silent()); }
  const auto first = file_number();
  { RunFolder::open(path, ExistingFolder::kOverwrite, kRecipe, {}, Log::silent()); }
  RunFolder run = RunFolder::open(path, ExistingFolder::kResume, kRecipe, {}, Log::silent());
  run.put_in_force(parse_yaml("{seed: 1, train: {epochs: 2, workers: 3}}", "x"));
  EXPECT_EQ(file_number(), first);
  const RunFolder moved = std::move(run);
  EXPECT_THAT(usage_error_of([&] { RunLock::take(path, Log::silent()); }), HasSubstr("in use"));
}

TEST(RunLock, OfAFileThatWasRemovedMeanwhileIsTakenAgain) {
  const TemporaryFolder folder;
  int calls = 0;
  const RunLock lock = RunLock::take(folder.path(), Log::silent(), [&](int descriptor, int operation) {
    if (++calls == 1) fs::remove(folder / ".lock");
    return flock(descriptor, operation);
  });
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(usage_error_of([&] { RunLock::take(folder.path(), Log::silent()); }), HasSubstr("in use"));
}

TEST(RunLock, IsWaitedForUntilItIsGivenBackAndNotLonger) {
  using std::chrono::milliseconds;
  const TemporaryFolder folder;
  EXPECT_TRUE(wait_until_unlocked(folder / "absent", milliseconds(0)));
  std::optional<RunLock> held = RunLock::take(folder.path(), Log::silent());
  EXPECT_FALSE(wait_until_unlocked(folder.path(), milliseconds(50)));
  std::thread end([&] {
    std::this_thread::sleep_for(milliseconds(100));
    held.reset();
  });
  EXPECT_TRUE(wait_until_unlocked(folder.path(), std::chrono::minutes(1)));
  end.join();
  EXPECT_NO_THROW(RunLock::take(folder.path(), Log::silent()));
}

TEST(RunLock, AStartThatWasKilledBeforeItHadARecipeLeavesAFolderToStartIn) {
  const TemporaryFolder folder;
  { RunLock::take(folder.path(), Log::silent()); }
  EXPECT_FALSE(RunFolder::open(folder.path(), ExistingFolder::kRefuse, kRecipe, {}, Log::silent()).resumed());
}

}  // namespace run_folder_test
}  // namespace debias

#include "debias/train/run_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "debias/core/error.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

std::string refusal(const std::string& path, ExistingFolder existing, const Config& config, const std::vector<std::string>& roots = {}) {
  try {
    RunFolder::open(path, existing, config, roots, Log::silent());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
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
  std::ofstream(path + "/notes.txt") << "mine";
  { RunFolder::open(path, ExistingFolder::kOverwrite, kConfig, {}, Log::silent()); }
  EXPECT_FALSE(fs::exists(path + "/metrics.jsonl"));
  EXPECT_FALSE(fs::exists(path + "/report.html"));
  EXPECT_TRUE(fs::exists(path + "/notes.txt"));
}

TEST(RunFolder, AFolderThatIsNoRunIsNeverOverwritten) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/thesis.txt") << "years of work";
  EXPECT_NE(refusal(folder.path(), ExistingFolder::kOverwrite, kConfig).find("no run folder"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder.path() + "/thesis.txt"));
}

TEST(RunFolder, ResumingWithAnotherRecipeNamesTheKey) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  { RunFolder::open(path, ExistingFolder::kRefuse, kConfig, {}, Log::silent()); }
  EXPECT_NE(refusal(path, ExistingFolder::kResume, parse_yaml("{seed: 1, train: {epochs: 3, workers: 1}}", "x")).find("'train.epochs'"),
            std::string::npos);
  EXPECT_EQ(refusal(path, ExistingFolder::kResume, parse_yaml("{seed: 1, train: {epochs: 2, workers: 8}}", "x")), "no error");
}

TEST(RunFolder, NothingIsWrittenInsideADataFolder) {
  const TemporaryFolder folder;
  EXPECT_NE(refusal(folder.path() + "/mnist/run", ExistingFolder::kRefuse, kConfig, {folder.path() + "/mnist"}).find("data folder"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder.path() + "/mnist"));
  EXPECT_EQ(refusal(folder.path() + "/mnist-run", ExistingFolder::kRefuse, kConfig, {folder.path() + "/mnist"}), "no error");
}

TEST(RunFolder, OneTrainingAtATime) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  const RunFolder first = RunFolder::open(path, ExistingFolder::kRefuse, kConfig, {}, Log::silent());
  EXPECT_NE(refusal(path, ExistingFolder::kResume, kConfig).find("in use"), std::string::npos);
}

}  // namespace
}  // namespace debias

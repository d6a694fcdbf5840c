// The command where something is short: memory, stack, threads, room on a disk, the run folder itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/apps/background.h"
#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"
#include "tests/support/small_disk.h"
#include "tests/train/small_recipe_text.h"

namespace debias {
namespace shortage_test {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Shortage : public testing::Test {
 protected:
  Shortage() { std::ofstream(recipe()) << kSmallRecipe; }
  std::string recipe() const { return folder_ / "small.yaml"; }
  std::vector<std::string> training(const std::string& output, const std::vector<std::string>& more = {}) const {
    return with({"train", recipe(), "train.epochs=1", "output=" + output}, more);
  }
  // `shell`: limits and redirections, then "$@" is the command.
  static ProcessResult run_under(const std::string& shell, const std::vector<std::string>& words) {
    return run(with({"sh", "-c", shell, "sh", debias_binary()}, words));
  }
  TemporaryFolder folder_;
};

void expect_shortage(const ProcessResult& result, int exit, const std::string& part) {
  expect_one_line(result, exit, part);
  EXPECT_THAT(result.err, Not(HasSubstr("internal error")));
}

TEST_F(Shortage, OfAddressSpaceIsOneLineAboutMemoryEvenWhileTheProgramStarts) {
  expect_shortage(run_under("ulimit -v 409600; exec \"$@\"", training(folder_ / "run")), 5, "debias: out of memory");  // 400 MB
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

// Where less is left than the code of a kernel takes, oneDNN goes on without it.
TEST_F(Shortage, OfAddressSpaceInTrainingIsOneLineToo) {
  for (int megabytes = 450; megabytes <= 470; megabytes += 4) {
    const std::string limit = fmt::format("ulimit -v {}; exec \"$@\"", megabytes * 1024);
    const auto result = run_under(limit, training(folder_ / std::to_string(megabytes), {"train.workers=0"}));
    if (result.exit != 0) expect_shortage(result, 5, "debias: ");
  }
}

TEST_F(Shortage, OfStackIsMadeUpFor) {
  for (const char* threads : {"train.threads=1", "train.threads=2", "train.threads=3"}) {
    const auto result = run_under("ulimit -s 64; exec \"$@\"", training(folder_ / threads, {threads, "train.workers=2"}));
    EXPECT_EQ(result.exit, 0) << result.err;
  }
}

TEST_F(Shortage, OfStackThatCannotBeMadeUpForIsOneLine) {
  for (const char* kilobytes : {"455000", "465000"}) {
    expect_shortage(run_under(fmt::format("ulimit -s 64; ulimit -v {}; exec timeout 60 \"$@\"", kilobytes), training(folder_ / "run")), 5,
                    "debias: ");
  }
}

// Each thread would have a stack of 95 GB, where there are 4.
TEST_F(Shortage, OfThreadsIsOneLine) {
  const std::string limits = "ulimit -s 100000000 && ulimit -v 4000000 && exec \"$@\"";
  if (run_under("ulimit -s 100000000", {}).exit != 0) GTEST_SKIP() << "the limit of the stack cannot be raised here";
  expect_shortage(run_under(limits, training(folder_ / "threads", {"train.threads=4", "train.workers=0"})), 5, "can be started");
  expect_shortage(run_under("export OMP_NUM_THREADS=1; " + limits, training(folder_ / "workers", {"train.threads=1", "train.workers=2"})),
                  5, "lower workers");
}

TEST_F(Shortage, OfNumbersIsOneLineThatSaysWhichToLower) {
  int runs = 0;
  for (const char* words :
       {"optimizer.learning_rate=1e300", "optimizer.weight_decay=1e300", "classifier={name: linear, learning_rate: 1e300}"}) {
    expect_shortage(run_debias(training(folder_ / "run" + std::to_string(runs++), {words})), 4,
                    "lower the learning rate or the weight decay");
  }
}

TEST_F(Shortage, OfRoomOnTheDiskEndsTheRunWithNeedAndRoom) {
  const SmallDisk disk(256 << 10);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  const auto result = run_debias(training(disk / "run"));
  EXPECT_EQ(result.exit, 5);
  EXPECT_THAT(result.err, testing::ContainsRegex("next.safetensors': the disk is full: [0-9]+ bytes are needed, [0-9]+ are free"));
}

// dash counts blocks of 512 bytes.
TEST_F(Shortage, OfAFilesSizeIsOneLineAndTheLimitIsNamed) {
  for (const char* how : {"stop", "wait"}) {  // waiting would change nothing
    const std::string name = std::string("run-") + how;
    const ProcessResult result =
        run_under("ulimit -f 40; exec \"$@\"", training(folder_ / name, {std::string("train.on_full_disk=") + how}));
    expect_complaint(result, 5, "next.safetensors': the file would be larger than this process may write (ulimit -f: 20480 bytes)");
    EXPECT_FALSE(fs::exists(folder_ / name + "/checkpoints/last.safetensors"));
  }
  ASSERT_EQ(run_debias(training(folder_ / "run-stop", {"--resume"})).exit, 0);
  const std::string made = folder_ / "x.npy";
  const auto exported = run_under("ulimit -f 4; exec \"$@\"", {"data", "export", "glyphs", "size=16", "train_count=50", "--out", made});
  expect_complaint(exported, 5, "ulimit -f: 2048 bytes");
  EXPECT_FALSE(fs::exists(made));
}

TEST_F(Shortage, OfRoomOnTheDiskIsWaitedForUntilASignal) {
  const SmallDisk disk(256 << 10);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  Background process(with({debias_binary()}, training(disk / "run", {"train.on_full_disk=wait"})));
  const auto waits = [&] { return file_text(disk / "run/train.log").find("waiting for space") != std::string::npos; };
  EXPECT_TRUE(soon(waits));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().exit, 75);
}

TEST_F(Shortage, OfTheLockDoesNotConcernReaders) {
  const std::string path = folder_ / "run";
  ASSERT_EQ(run_debias(training(path, {"data.test={name: glyphs, size: 16, split: test}"})).exit, 0);
  const int lock = open((path + "/.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"checkpoint", "show", path}, {"checkpoint", "verify", path}, {"report", path}, {"eval", "knn", path}}) {
    EXPECT_EQ(run_debias(words).exit, 0) << words[0];
  }
  for (const char* how : {"--resume", "--overwrite"}) {
    expect_shortage(run_debias(training(path, {how})), 2, "in use by another training process");
  }
  close(lock);
}

}  // namespace shortage_test
}  // namespace debias

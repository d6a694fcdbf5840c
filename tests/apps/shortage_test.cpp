// The command where something is short: memory, stack, threads, room on a disk, the run folder itself.
#include <sys/file.h>

#include "tests/apps/command.h"
#include "tests/support/small_disk.h"

namespace debias::shortage_test {

class Shortage : public InFolder {
 protected:
  Shortage() { std::ofstream("small.yaml") << kSmallRecipe; }
  Words training(const std::string& output, const Words& more = {}) const {
    return with({"train", "small.yaml", "train.epochs=1", "output=" + output}, more);
  }
  // `shell`: limits and redirections, then "$@" is the command.
  static ProcessResult run_under(const std::string& shell, const Words& words) {
    return run(with({"sh", "-c", shell, "sh", kBinary}, words));
  }
};

void expect_shortage(const ProcessResult& result, int exit, const std::string& part) {
  expect_one_line(result, exit, part);
  EXPECT_THAT(result.err, Not(HasSubstr("internal error")));
}

TEST_F(Shortage, OfAddressSpaceIsOneLineAboutMemoryEvenWhileTheProgramStarts) {
  constexpr int kNoLibrary = 127;  // more is needed where more libraries are linked
  for (int megabytes = 400;; megabytes += 5) {
    ASSERT_LE(megabytes, 470);
    const auto result = run_under(fmt::format("ulimit -v {}; exec \"$@\"", megabytes * 1024), training("run"));
    if (result.exit == kNoLibrary) continue;
    expect_shortage(result, 5, "debias: out of memory");
    break;
  }
  EXPECT_FALSE(fs::exists("run"));
}

// Where less is left than the code of a kernel takes, oneDNN goes on without it.
TEST_F(Shortage, OfAddressSpaceInTrainingIsOneLineToo) {
  for (int megabytes = 450; megabytes <= 470; megabytes += 4) {
    const std::string limit = fmt::format("ulimit -v {}; exec \"$@\"", megabytes * 1024);
    const auto result = run_under(limit, training("run-" + std::to_string(megabytes), {"train.workers=0"}));
    if (result.exit != 0) expect_shortage(result, 5, "debias: ");
  }
}

TEST_F(Shortage, OfStackIsMadeUpFor) {
  for (const char* threads : {"train.threads=1", "train.threads=2", "train.threads=3"}) {
    const auto result = run_under("ulimit -s 64; exec \"$@\"", training(threads, {threads, "train.workers=2"}));
    EXPECT_EQ(result.exit, 0) << result.err;
  }
}

TEST_F(Shortage, OfStackThatCannotBeMadeUpForIsOneLine) {
  for (const char* kilobytes : {"455000", "465000"}) {
    expect_shortage(run_under(fmt::format("ulimit -s 64; ulimit -v {}; exec timeout 60 \"$@\"", kilobytes), training("run")), 5,
                    "debias: ");
  }
}

// Each thread would have a stack of 95 GB, where there are 4.
TEST_F(Shortage, OfThreadsIsOneLine) {
  const std::string limits = "ulimit -s 100000000 && ulimit -v 4000000 && exec \"$@\"";
  if (run_under("ulimit -s 100000000", {}).exit != 0) GTEST_SKIP() << "the limit of the stack cannot be raised here";
  expect_shortage(run_under(limits, training("threads", {"train.threads=4", "train.workers=0"})), 5, "can be started");
  expect_shortage(run_under("export OMP_NUM_THREADS=1; " + limits, training("workers", {"train.threads=1", "train.workers=2"})), 5,
                  "lower workers");
}

TEST_F(Shortage, OfNumbersIsOneLineThatSaysWhichToLower) {
  int runs = 0;
  for (const char* words :
       {"optimizer.learning_rate=1e300", "optimizer.weight_decay=1e300", "classifier={name: linear, learning_rate: 1e300}"}) {
    expect_shortage(run_debias(training("run" + std::to_string(runs++), {words})), 4, "lower the learning rate or the weight decay");
  }
}

TEST_F(Shortage, OfRoomOnTheDiskEndsTheRunWithNeedAndRoom) {
  const SmallDisk disk(256 << 10);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  const auto result = run_debias(training(disk / "run"));
  EXPECT_EQ(result.exit, 5);
  EXPECT_THAT(result.err, ContainsRegex("next.safetensors': the disk is full: [0-9]+ bytes are needed, [0-9]+ are free"));
}

// dash counts blocks of 512 bytes.
TEST_F(Shortage, OfAFilesSizeIsOneLineAndTheLimitIsNamed) {
  for (const char* how : {"stop", "wait"}) {  // waiting would change nothing
    const std::string name = std::string("run-") + how;
    const ProcessResult result = run_under("ulimit -f 40; exec \"$@\"", training(name, {std::string("train.on_full_disk=") + how}));
    expect_complaint(result, 5, "next.safetensors': the file would be larger than this process may write (ulimit -f: 20480 bytes)");
    EXPECT_FALSE(fs::exists(name + "/checkpoints/last.safetensors"));
  }
  done(training("run-stop", {"--resume"}));
  const std::string made = "x.npy";
  const auto exported = run_under("ulimit -f 4; exec \"$@\"", {"data", "export", "glyphs", "size=16", "train_count=50", "--out", made});
  expect_complaint(exported, 5, "ulimit -f: 2048 bytes");
  EXPECT_FALSE(fs::exists(made));
}

TEST_F(Shortage, OfRoomOnTheDiskIsWaitedForUntilASignal) {
  const SmallDisk disk(256 << 10);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  Background process(with({kBinary}, training(disk / "run", {"train.on_full_disk=wait"})));
  const auto waits = [&] { return file_text(disk / "run/train.log").find("waiting for space") != std::string::npos; };
  EXPECT_TRUE(soon(waits));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().exit, 75);
}

TEST_F(Shortage, OfTheLockDoesNotConcernReaders) {
  const std::string path = "run";
  done(training(path, {"data.test={name: glyphs, size: 16, split: test}"}));
  const int lock = open((path + "/.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  for (const Words& words : {Words{"checkpoint", "show", path}, {"checkpoint", "verify", path}, {"report", path}, {"eval", "knn", path}}) {
    done(words);
  }
  for (const char* how : {"--resume", "--overwrite"}) {
    expect_shortage(run_debias(training(path, {how})), 2, "in use by another training process");
  }
  close(lock);
}

}  // namespace debias::shortage_test

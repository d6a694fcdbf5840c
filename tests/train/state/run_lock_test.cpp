// One training process a run folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/file.h>
#include <sys/stat.h>

#include <barrier>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "debias/core/error.h"
#include "debias/train/state/run_folder.h"
#include "debias/train/state/run_lock.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace run_lock_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

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

class Lines : public Log {
 public:
  void warn(const std::string& line) override { lines.push_back(line); }
  std::vector<std::string> lines;
};

RunLock::Flock failing(int reason) {
  return [reason](int, int) {
    errno = reason;
    return -1;
  };
}

TEST(RunLock, GoesOnWhereTheFileSystemHasNoLocksAndSaysSoOnce) {
  const TemporaryFolder folder;
  for (const int reason : {ENOLCK, ENOSYS, EOPNOTSUPP}) {
    Lines log;
    const RunLock lock = RunLock::take(folder.path(), log, failing(reason));
    ASSERT_EQ(log.lines.size(), 1u);
    EXPECT_THAT(log.lines[0], HasSubstr("has no locks"));
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

}  // namespace run_lock_test
}  // namespace debias

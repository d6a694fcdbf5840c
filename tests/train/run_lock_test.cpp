// One training process a run folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "debias/core/error.h"
#include "debias/train/run_folder.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace {

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

}  // namespace
}  // namespace debias

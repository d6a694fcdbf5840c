// What `best` is chosen by may change when a run goes on.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "debias/train/state/checkpoint.h"
#include "tests/support/kept_log.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace changed_selection_test {

class TwoMetrics : public TrainObserver {  // one falls, one rises
 public:
  std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) override {
    return {{"valid.falls", 1 - 0.1 * static_cast<double>(end.epoch)}, {"valid.rises", 0.1 * static_cast<double>(end.epoch)}};
  }
};

// The best epoch of three, of a run that was stopped in the second and goes on with another `select`.
int64_t best_epoch(const std::string& path, const std::string& select, std::string* warnings) {
  std::atomic<int> flag{0};
  StopAfter stop(flag, 8);
  KeptLog log;
  for (const std::string& by : {std::string("valid.falls"), select}) {
    TrainInput input = input_for(small_config(path));
    input.recipe.evaluate.select = by;
    input.observers.push_back(std::make_shared<TwoMetrics>());
    const bool first = flag == 0;
    if (first) {
      input.stop_signal = &flag;
      input.progress = &stop;
      EXPECT_THROW(train(input), Error);
    } else {
      input.existing = ExistingFolder::kResume;
      input.log = &log;
      train(input);
    }
  }
  *warnings = fmt::format("{}", fmt::join(log.warnings, "\n"));
  return open_checkpoint(path + "/checkpoints/best.safetensors").state.best_epoch;
}

TEST(ChangedSelection, BestIsChosenAnewAndTheLogSaysSo) {
  const TemporaryFolder folder;
  std::string warnings;
  EXPECT_EQ(best_epoch(folder / "changed", "valid.rises", &warnings), 3);
  EXPECT_THAT(warnings, testing::HasSubstr("the criterion of `best` has changed"));
  EXPECT_EQ(best_epoch(folder / "kept", "valid.falls", &warnings), 1);
  EXPECT_EQ(warnings, "");
}

}  // namespace changed_selection_test
}  // namespace debias

// Runs that were stopped, damaged or edited, and then resumed: the same bytes, or a refusal that says why.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "debias/core/error.h"
#include "debias/train/loop/trainer.h"
#include "debias/train/state/checkpoint.h"
#include "tests/support/kept_log.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace resume_test {

using testing::HasSubstr;

namespace fs = std::filesystem;

TEST(Resume, StoppedAnywhereAndResumedGivesTheSameBytes) {
  expect_resumes(small_config(""), {1, 6, 7, 11, 18});  // 6 steps an epoch: first step, its end, its start, its middle, the very end
}

TEST(Resume, ResumingAFinishedRunChangesNothing) {
  const TemporaryFolder folder;
  Config root = changed(small_config(folder.path() + "/run"), {"train.epochs=1"});
  train(input_for(root));
  const auto before = fs::last_write_time(folder.path() + "/run/checkpoints/last.safetensors");
  const std::string log = file_text(folder.path() + "/run/train.log");
  TrainInput input = input_for(root);
  input.existing = ExistingFolder::kResume;
  EXPECT_TRUE(train(input).already_finished);
  EXPECT_EQ(fs::last_write_time(folder.path() + "/run/checkpoints/last.safetensors"), before);
  EXPECT_EQ(file_text(folder.path() + "/run/train.log"), log);
}

TEST(Resume, AFinishedRunThatWasTouchedIsNotCalledFinished) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  Config root = changed(small_config(path), {"train.epochs=1"});
  train(input_for(root));
  const auto expect_refusal = [](ErrorKind kind, const Config& config, const std::string& part) {
    TrainInput input = input_for(config);
    input.existing = ExistingFolder::kResume;
    EXPECT_THAT(error_of(kind, [&] { train(input); }), HasSubstr(part));
  };
  std::ofstream(path + "/metrics.jsonl", std::ios::app) << "{\"step\": 7}\n";  // a line behind what is known is no matter
  TrainInput input = input_for(root);
  input.existing = ExistingFolder::kResume;
  EXPECT_TRUE(train(input).already_finished);
  std::ofstream(path + "/metrics.jsonl") << "{}\n";
  expect_refusal(ErrorKind::kData, root, "is shorter than");
  std::string config = file_text(path + "/config.yaml");
  const std::string rate = "learning_rate: 0.01";
  ASSERT_NE(config.find(rate), std::string::npos);
  std::ofstream(path + "/config.yaml") << config.replace(config.find(rate), rate.size(), "learning_rate: 0.5");
  root.assign("optimizer.learning_rate=0.5");
  expect_refusal(ErrorKind::kUsage, root, "config.yaml was edited at 'optimizer.learning_rate'");
}

TEST(Resume, ResumingWithoutACheckpointStartsFromTheBeginningAndSaysSo) {
  const TemporaryFolder folder;
  Config root = changed(small_config(folder.path() + "/run"), {"train.epochs=1"});
  KeptLog log;
  TrainInput input = input_for(root);
  input.existing = ExistingFolder::kResume;
  input.log = &log;
  EXPECT_FALSE(train(input).already_finished);
  EXPECT_THAT(log.text, HasSubstr("starting from the beginning"));
}

TEST(Resume, ADamagedLastCheckpointFallsBackToThePreviousOne) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  train(input_for(small_config(path)));
  const std::string metrics = file_text(path + "/metrics.jsonl");
  {
    std::fstream file(path + "/checkpoints/last.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-3, std::ios::end);
    file.put('\x55');
  }
  KeptLog log;
  TrainInput input = input_for(small_config(path));
  input.existing = ExistingFolder::kResume;
  input.log = &log;
  EXPECT_FALSE(train(input).already_finished);
  EXPECT_THAT(log.text, HasSubstr("resuming from"));
  EXPECT_EQ(file_text(path + "/metrics.jsonl"), metrics);
  EXPECT_TRUE(fs::exists(path + "/checkpoints/last.safetensors.damaged"));  // and `previous` was not lost to it
  EXPECT_NO_THROW(open_checkpoint(path + "/checkpoints/previous.safetensors"));
  fs::remove(path + "/checkpoints/previous.safetensors");
  std::ofstream(path + "/checkpoints/last.safetensors") << "not a checkpoint";
  data_error_of([&] { train(input); });
}

TEST(Resume, ResumingAnEditedRecipeIsRefusedWithTheKey) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  train(input_for(small_config(path)));
  fs::rename(path + "/checkpoints/previous.safetensors", path + "/checkpoints/last.safetensors");
  Config edited = changed(read_yaml_file(path + "/config.yaml"), {"optimizer.learning_rate=0.5"});
  std::ofstream(path + "/config.yaml") << edited.to_yaml();
  TrainInput input = input_for(edited);
  input.existing = ExistingFolder::kResume;
  EXPECT_THAT(usage_error_of([&] { train(input); }), HasSubstr("config.yaml was edited at 'optimizer.learning_rate'"));
}

// The same tensors under another training state, and a checksum that holds.
void alter_state(const std::string& path, const std::string& key, const nlohmann::ordered_json& value) {
  const auto file = SafetensorsFile::open(path);
  auto metadata = file.metadata();
  auto state = nlohmann::ordered_json::parse(metadata["debias.state"]);
  state[key] = value;
  metadata["debias.state"] = state.dump();
  const auto bytes = tensors_of(path);
  std::vector<TensorBytes> tensors;
  for (size_t i = 0; i < bytes.size(); ++i) {
    tensors.push_back({bytes[i].first, file.tensors()[i].dtype, file.tensors()[i].shape, bytes[i].second.data()});
  }
  write_safetensors(path, tensors, metadata);
}

TEST(Resume, ATrainingStateThatNoRunCanHaveIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run", last = path + "/checkpoints/last.safetensors";
  train(input_for(small_config(path)));
  fs::remove(path + "/checkpoints/previous.safetensors");
  TrainInput input = input_for(small_config(path));
  input.existing = ExistingFolder::kResume;
  const auto expect_refusal = [&](const std::string& key, const nlohmann::ordered_json& value) {
    SCOPED_TRACE(key + " " + value.dump());
    alter_state(last, key, value);
    data_error_of([&] { train(input); });
  };
  expect_refusal("epoch", 7);
  expect_refusal("epoch", -1);
  expect_refusal("epoch", 1e300);
  expect_refusal("epoch", 2);  // and finished
  alter_state(last, "finished", false);
  expect_refusal("metrics_bytes", int64_t{1} << 62);
  expect_refusal("metrics_bytes", int64_t{1} << 50);
  alter_state(last, "metrics_bytes", 0);
  expect_refusal("batch", 7);
  alter_state(last, "batch", 0);
  expect_refusal("substituted", -1);
  alter_state(last, "substituted", 0);
  const nlohmann::ordered_json right = open_checkpoint(last).state.diagnostics.to_json();
  const nlohmann::ordered_json term = {{"steps", 1},      {"loss_sum", 1.5},     {"anchors", 8},           {"clamped", 9},
                                       {"clampable", 16}, {"min_estimate", 0.5}, {"sample_size_steps", 0}, {"sample_size_sum", 0.0}};
  const auto with = [&](const char* part, const char* key, const nlohmann::ordered_json& value) {
    nlohmann::ordered_json diagnostics = {{"terms", {term}}, {"classifier", right.at("classifier")}};
    (std::string(part) == "terms" ? diagnostics["terms"][0] : diagnostics[part])[key] = value;
    return diagnostics;
  };
  for (const char* key : {"steps", "loss_sum", "anchors", "clamped", "clampable", "min_estimate", "sample_size_steps", "sample_size_sum"}) {
    expect_refusal("diagnostics", with("terms", key, "many"));
  }
  for (const char* key : {"steps", "anchors", "clamped", "clampable", "sample_size_steps"}) {
    for (const nlohmann::ordered_json& bad : {nlohmann::ordered_json(-1), nlohmann::ordered_json(1e300), nlohmann::ordered_json()}) {
      expect_refusal("diagnostics", with("terms", key, bad));
    }
  }
  for (const char* key : {"loss_sum", "sample_size_sum"}) expect_refusal("diagnostics", with("terms", key, nullptr));  // NaN
  for (const char* key : {"rows", "correct", "loss_steps"}) expect_refusal("diagnostics", with("classifier", key, -1));
  expect_refusal("diagnostics", with("classifier", "correct", 1));  // of no rows
  expect_refusal("diagnostics", {{"terms", {term, term}}, {"classifier", right.at("classifier")}});
  alter_state(last, "diagnostics", right);
  EXPECT_FALSE(train(input).already_finished);
}

}  // namespace resume_test

// What `best` is chosen by may change when a run goes on.
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

// Runs in temporary folders: how to start, stop and compare them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <sstream>
#include <string>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/core/safetensors.h"
#include "debias/data/dataset_registry.h"
#include "debias/train/loop/trainer.h"
#include "tests/support/file_text.h"
#include "tests/support/kept_log.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {

inline TrainInput input_for(const Config& root) {
  TrainInput input;
  input.recipe = read_recipe(root);
  input.dataset = input.recipe.train_data.make();
  return input;
}

class StopAfter : public Progress {  // raises the stop flag once, after so many steps
 public:
  StopAfter(std::atomic<int>& flag, int64_t steps) : flag_(flag), left_(steps) {}
  void begin(const std::string& label, int64_t) override { counts_ = label != "features"; }
  void advance(int64_t, const std::string&) override {
    if (counts_ && --left_ == 0) flag_ = SIGTERM;
  }

 private:
  std::atomic<int>& flag_;
  int64_t left_;
  bool counts_ = true;
};

// Trains in `path`, stopped once after so many steps and resumed with two workers.
inline void train_in_two(Config root, const std::string& path, int64_t steps,
                         const std::vector<std::shared_ptr<TrainObserver>>& observers = {}) {
  root.set("output", Config::string(path));
  std::atomic<int> flag{0};
  StopAfter stop(flag, steps);
  TrainInput input = input_for(root);
  input.stop_signal = &flag;
  input.progress = &stop;
  input.observers = observers;
  const std::string message = error_of(ErrorKind::kInterrupted, [&] { train(input); });
  ASSERT_NE(message.find(fmt::format("SIGTERM after step {}", steps)), std::string::npos) << message;
  TrainInput rest = input_for(root);
  rest.recipe.train.workers = 2;
  rest.existing = ExistingFolder::kResume;
  rest.observers = observers;
  train(rest);
}

inline std::vector<std::pair<std::string, std::string>> tensors_of(const std::string& checkpoint) {
  const auto file = SafetensorsFile::open(checkpoint);
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& entry : file.tensors()) {
    std::string bytes(entry.end - entry.begin, 0);
    file.read(entry, bytes.data());
    all.emplace_back(entry.name, std::move(bytes));
  }
  return all;
}

inline void expect_same_run(const std::string& a, const std::string& b) {
  for (const char* file : {"/metrics.jsonl", "/metrics.csv"}) EXPECT_EQ(file_text(a + file), file_text(b + file)) << b << file;
  const auto in_a = tensors_of(a + "/checkpoints/last.safetensors"), in_b = tensors_of(b + "/checkpoints/last.safetensors");
  ASSERT_EQ(in_a.size(), in_b.size());
  for (size_t i = 0; i < in_a.size(); ++i) EXPECT_TRUE(in_a[i] == in_b[i]) << b << " " << in_a[i].first;
}

// A run in folder/whole, and one stopped after each number of steps and resumed: the same bytes.
inline void expect_resumes(const TemporaryFolder& folder, Config root, const std::vector<int64_t>& stops,
                           const std::vector<std::shared_ptr<TrainObserver>>& observers = {}) {
  root.set("output", Config::string(folder / "whole"));
  TrainInput whole = input_for(root);
  whole.observers = observers;
  train(whole);
  for (const int64_t steps : stops) {
    const std::string path = folder / fmt::format("stopped{}", steps);
    train_in_two(root, path, steps, observers);
    expect_same_run(folder / "whole", path);
  }
}

inline void expect_resumes(const Config& root, const std::vector<int64_t>& stops) { expect_resumes(TemporaryFolder(), root, stops); }

// Features of the bias of the small recipe's 96 glyphs.
inline std::string write_bias_features(const TemporaryFolder& folder) {
  std::vector<float> values(96 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(0.7f * static_cast<float>(i)) + 1.1f;
  write_npy(folder / "bias.npy", DType::kFloat32, {96, 3}, values.data());
  return folder / "bias.npy";
}

inline std::vector<nlohmann::json> metric_lines(const std::string& run) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(file_text(run + "/metrics.jsonl"));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace debias

// Runs of an agent that trains in seconds; their tests are skipped where debias was built without MuJoCo and EGL.
#pragma once

#include "tests/apps/command.h"

namespace debias {

inline constexpr const char* kSmallAgent = R"(name: tiny
environment: {task: cartpole_swingup, action_repeat: 20, pixels: 20, look: plain}
agent: {crop: 16, filters: 4, features: 8, hidden: 16, batch_size: 8, random_steps: 30}
objective: {name: debiased_negatives, tau_plus: 0.1, positives: 2}
train: {epochs: 3, control_steps: 1500, log_every: 10, threads: 1, checkpoint_every: 0.02}
evaluate: {episodes: 2}
)";

inline bool has_agents() {
  static const bool has = run_debias({"rl", "train", "none"}).err.find("built without MuJoCo") == std::string::npos;
  return has;
}

class AgentRuns : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_agents()) GTEST_SKIP() << "built without MuJoCo";
    std::ofstream(path("tiny.yaml")) << kSmallAgent;
  }

  std::string path(const std::string& name) const { return folder_ / name; }

  // The words that train the run `name`.
  Words words(const std::string& name, const Words& more = {}) const {
    return with({"rl", "train", path("tiny.yaml"), "output=" + path(name)}, more);
  }

 private:
  TemporaryFolder folder_;
};

// When the run's checkpoint was written, once it is another time than `before`, or a minute is over.
inline fs::file_time_type wait_for_checkpoint(const std::string& run, fs::file_time_type before) {
  auto written = before;
  const bool is_new = soon([&] {
    std::error_code none;
    written = fs::last_write_time(run + "/checkpoints/last.safetensors", none);
    return !none && written != before;
  });
  return is_new ? written : before;
}

}  // namespace debias

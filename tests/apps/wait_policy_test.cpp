// A second start where the machine is busy, so that waiting threads give way (debias/process/startup.h).
#include "debias/core/cpu_share.h"
#include "tests/apps/command.h"

namespace debias::wait_policy_test {

// More threads that compute than the machine has processors.
class BusyMachine {
 public:
  BusyMachine() {
    for (unsigned i = 0; i < std::thread::hardware_concurrency() + 2; ++i) {
      threads_.emplace_back([this] {
        while (!stop_.load(std::memory_order_relaxed)) continue;
      });
    }
  }
  ~BusyMachine() {
    stop_ = true;
    for (auto& thread : threads_) thread.join();
  }
  // Containers with a quota may show less.
  static bool is_seen() {
    for (int look = 0; look < 10; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (other_runnable_threads() <= static_cast<int>(std::thread::hardware_concurrency())) return false;
    }
    return true;
  }
  BusyMachine(const BusyMachine&) = delete;
  BusyMachine& operator=(const BusyMachine&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

class WaitPolicy : public InFolder {
 protected:
  WaitPolicy() {
    unsetenv("GOMP_SPINCOUNT");
    unsetenv("OMP_WAIT_POLICY");
    std::ofstream("recipe.yaml") << kSmallRecipe;
  }
  ~WaitPolicy() override {
    unsetenv("GOMP_SPINCOUNT");
    unsetenv("OMP_WAIT_POLICY");
  }

  // The variables of a training process once it has begun, as lines.
  std::string environment_of_training() {
    const std::string output = "run-" + std::to_string(++runs_);
    Background process(with({kBinary}, {"train", "recipe.yaml", "output=" + output, "train.epochs=100000"}));
    EXPECT_TRUE(soon([&] { return fs::exists(output + "/config.yaml"); }));
    std::string variables = file_text("/proc/" + std::to_string(process.id()) + "/environ");
    process.signal(SIGKILL);
    process.wait();
    std::replace(variables.begin(), variables.end(), '\0', '\n');
    return "\n" + variables;
  }

  int runs_ = 0;
};

TEST_F(WaitPolicy, OnABusyMachineTheProcessIsStartedAgainSoThatWaitingThreadsSleep) {
  const BusyMachine busy;
  if (!BusyMachine::is_seen()) GTEST_SKIP() << "this system does not tell what else runs";
  EXPECT_NE(environment_of_training().find("\nGOMP_SPINCOUNT=0\n"), std::string::npos);
}

TEST_F(WaitPolicy, WhatIsSetStaysAsItIs) {
  const BusyMachine busy;
  setenv("GOMP_SPINCOUNT", "77", 1);
  EXPECT_NE(environment_of_training().find("\nGOMP_SPINCOUNT=77\n"), std::string::npos);
  unsetenv("GOMP_SPINCOUNT");
  setenv("OMP_WAIT_POLICY", "active", 1);
  EXPECT_EQ(environment_of_training().find("\nGOMP_SPINCOUNT="), std::string::npos);
}

}  // namespace debias::wait_policy_test

// Results that cannot be written: exit 1 of every command, and one line. What becomes of messages, and of streams that are closed or that
// nobody reads: tests/faults/streams.py.
#include <sys/resource.h>

#include "debias/core/cpu_share.h"
#include "tests/apps/command.h"

namespace debias {
namespace standard_streams_test {

using StandardStreams = InFolder;

ProcessResult run_full(const Words& words) { return run(with({"sh", "-c", "exec \"$0\" \"$@\" > /dev/full", kBinary}, words)); }

TEST_F(StandardStreams, LostResultsAreAFailureOfEveryVerb) {
  std::ofstream("recipe.yaml") << small_recipe(
      {"data={train: {name: glyphs, size: 16, train_count: 64}, test: {name: glyphs, size: 16, test_count: "
       "32, split: test}}",
       "objective=infonce", "evaluate={protocols: [knn], knn: {k: 7}}",
       "train={epochs: 2, batch_size: 32, device: cpu, threads: 1, log_every: 1}"});
  done({"train", "recipe.yaml", "output=whole"});
  const std::vector<float> values = {1, 0, 0.8f, 0.6f, 0, 1, 0.6f, 0.8f, -1, 0, -0.8f, 0.6f, 0, -1, 0.6f, -0.8f};
  write_npy("z.npy", DType::kFloat32, {4, 2, 2}, values.data());
  write_npy("rows.npy", DType::kFloat32, {8, 2}, values.data());
  const std::vector<int64_t> labels = {0, 0, 1, 1, 0, 0, 1, 1};
  write_npy("y.npy", DType::kInt64, {8}, labels.data());
  const std::string run = "whole";
  const std::vector<Words> commands = {
      {"--help"},
      {"--version"},
      {"train", "--help"},
      {"train", "recipe.yaml", "output=none", "--dry-run"},
      {"train", "recipe.yaml", "output=none", "--dry-run", "--json"},
      {"train", run, "--resume"},
      {"eval", "knn", run},
      {"eval", "knn", run, "--json"},
      {"embed", run, "--out", "e.npy"},
      {"embed", run, "--out", "e.npy", "--json"},
      {"export", run, "--out", "exported"},
      {"report", run},
      {"report", run, "--text"},
      {"report", run, "--json"},
      {"checkpoint", "show", run},
      {"checkpoint", "show", run, "--recipe"},
      {"checkpoint", "verify", run},
      {"loss", "--objective", "infonce", "--embeddings", "z.npy"},
      {"loss", "--objective", "infonce", "--embeddings", "z.npy", "--json"},
      {"prior", "--embeddings", "rows.npy", "--labels", "y.npy"},
      {"study", "estimators", "--embeddings", "rows.npy", "--labels", "y.npy", "--repetitions", "1", "--negatives", "4"},
      {"data", "list"},
      {"data", "list", "--json"},
      {"data", "check", "glyphs", "size=16", "train_count=20"},
      {"data", "check", "glyphs", "size=16", "train_count=20", "--json"},
      {"data", "make", "glyphs", "size=16", "train_count=20", "test_count=10", "--out", "made"},
      {"data", "export", "glyphs", "size=16", "train_count=20", "--out", "x.npy"},
      {"init", "made/conflict", "--out", "proposed.yaml", "--minutes", "1"},
      {"views", "show", "sim32", "--out", "views.png", "--rows", "1"},
      {"list", "objectives"},
      {"list", "recipes"},
      {"list", "recipes", "--json"},
  };
  for (const auto& command : commands) {
    SCOPED_TRACE(testing::PrintToString(command));
    expect_complaint(run_full(command), 1, "debias: writing to standard output failed: No space left on device; ");
  }
}

TEST_F(StandardStreams, AFailureOfAnotherKindKeepsItsCodeWhereResultsAreLostToo) {
  fs::create_directories("pictures/cat");
  std::ofstream("pictures/cat/a.png") << "no picture";
  const ProcessResult result = run_full({"data", "check", "image_folder", "--root", "pictures", "--json"});
  EXPECT_EQ(result.exit, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("writing to standard output failed"));
}

}  // namespace standard_streams_test

// A second start where the machine is busy, so that waiting threads give way (debias/process/startup.h).
namespace wait_policy_test {

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

}  // namespace wait_policy_test

// Training keeps the memory of its tensors from step to step (debias/process/startup.h).
namespace large_blocks_test {

long faults_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_minflt;
}

class LargeBlocks : public InFolder {
 protected:
  LargeBlocks() { std::ofstream("recipe.yaml") << kSmallRecipe; }

  // Pages that the system had to give to a training of six steps of 64 images an epoch, some 20 MB of tensors each.
  long pages_given(int epochs) const {
    const std::string number = std::to_string(epochs);
    const long before = faults_of_children();
    done({"train", "recipe.yaml", "output=run-" + number, "train.epochs=" + number, "train.batch_size=64", "data.train.train_count=384",
          "train.workers=0"});
    return faults_of_children() - before;
  }
};

TEST_F(LargeBlocks, AreNotAskedForAgainInEveryStep) {
  const long one = pages_given(1), four = pages_given(4);
  EXPECT_LT((four - one) / 18, 300) << one << " pages for an epoch, " << four << " for four";
}

}  // namespace large_blocks_test
}  // namespace debias

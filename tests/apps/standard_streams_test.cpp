// Standard streams that are full, closed, or pipes that nobody reads: messages are dropped, lost results are exit 1, or 141 where nobody
// reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "debias/core/npy.h"
#include "tests/apps/process.h"
#include "tests/support/shared_folder.h"

namespace debias {
namespace standard_streams_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kRecipe = R"(
seed: 3
data:
  train: {name: glyphs, size: 16, train_count: 64}
  test: {name: glyphs, size: 16, test_count: 32, split: test}
views: {preset: sim32, count: 2, random_resized_crop: {size: 16}}
encoder: {name: resnet18, width: 8}
objective: {name: infonce}
evaluate: {protocols: [knn], knn: {k: 7}}
train: {epochs: 2, batch_size: 32, device: cpu, threads: 1, log_every: 1}
)";

constexpr const char* kClosed = "closed";
constexpr const char* kUnread = "unread";  // a pipe whose reader is gone

struct Streams {
  std::string in = "/dev/null", out = "", err = "";  // a file, kClosed or kUnread; empty: kept
};

class Spawned {
 public:
  explicit Spawned(const Streams& streams) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    sigset_t pipe;  // as a shell starts it, whatever started this test
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes_, &pipe);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
    EXPECT_EQ(pipe2(unread_, O_CLOEXEC), 0);
    close(unread_[0]);
    attach(STDIN_FILENO, streams.in, O_RDONLY);
    attach(STDOUT_FILENO, streams.out.empty() ? folder_ / "out" : streams.out, O_WRONLY | O_CREAT);
    attach(STDERR_FILENO, streams.err.empty() ? folder_ / "err" : streams.err, O_WRONLY | O_CREAT);
  }
  ~Spawned() {
    close(unread_[1]);
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Spawned(const Spawned&) = delete;
  Spawned& operator=(const Spawned&) = delete;

  ProcessResult run(std::vector<std::string> words) const {
    words.insert(words.begin(), debias_binary());
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    if (posix_spawn(&child, arguments[0], &actions_, &attributes_, arguments.data(), environ) != 0) return {127, "", ""};
    const int exit = exit_of(child);
    return {exit, file_text(folder_ / "out"), file_text(folder_ / "err")};
  }

 private:
  void attach(int descriptor, const std::string& to, int flags) {
    if (to == kClosed) {
      posix_spawn_file_actions_addclose(&actions_, descriptor);
    } else if (to == kUnread) {
      posix_spawn_file_actions_adddup2(&actions_, unread_[1], descriptor);
    } else {
      posix_spawn_file_actions_addopen(&actions_, descriptor, to.c_str(), flags, 0600);
    }
  }

  TemporaryFolder folder_;
  int unread_[2];
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

ProcessResult run_with(const Streams& streams, const std::vector<std::string>& words) { return Spawned(streams).run(words); }

class StandardStreams : public SharedFolder<StandardStreams> {
 protected:
  static void SetUpTestSuite() {
    std::ofstream(path("recipe.yaml")) << kRecipe;
    const ProcessResult result = run_debias(training("whole"));
    ASSERT_EQ(result.exit, 0) << result.err;
  }
  static std::vector<std::string> training(const std::string& name) { return {"train", path("recipe.yaml"), "output=" + path(name)}; }
  static std::string metrics(const std::string& name) {
    return file_text(path(name) + "/metrics.jsonl") + file_text(path(name) + "/metrics.csv");
  }
  static void expect_whole(const std::string& name) {
    EXPECT_EQ(metrics(name), metrics("whole"));
    EXPECT_EQ(file_text(path(name) + "/classes.json"), file_text(path("whole") + "/classes.json"));
    const ProcessResult verified = run_debias({"checkpoint", "verify", path(name)});
    EXPECT_EQ(verified.exit, 0) << verified.err;
  }
};

TEST_F(StandardStreams, ClosedDescriptorsAreNotTakenForFilesOfTheRun) {
  ASSERT_EQ(run_with({.in = kClosed, .err = kClosed}, training("two-closed")).exit, 0);
  expect_whole("two-closed");
}

TEST_F(StandardStreams, LostResultsAreAFailureOfEveryVerb) {
  const std::vector<float> values = {1, 0, 0.8f, 0.6f, 0, 1, 0.6f, 0.8f, -1, 0, -0.8f, 0.6f, 0, -1, 0.6f, -0.8f};
  write_npy(path("z.npy"), DType::kFloat32, {4, 2, 2}, values.data());
  write_npy(path("rows.npy"), DType::kFloat32, {8, 2}, values.data());
  const std::vector<int64_t> labels = {0, 0, 1, 1, 0, 0, 1, 1};
  write_npy(path("y.npy"), DType::kInt64, {8}, labels.data());
  const std::string run = path("whole");
  const std::vector<std::vector<std::string>> commands = {
      {"--help"},
      {"--version"},
      {"train", "--help"},
      {"train", path("recipe.yaml"), "output=" + path("none"), "--dry-run"},
      {"train", path("recipe.yaml"), "output=" + path("none"), "--dry-run", "--json"},
      {"train", run, "--resume"},
      {"eval", "knn", run},
      {"eval", "knn", run, "--json"},
      {"embed", run, "--out", path("e.npy")},
      {"embed", run, "--out", path("e.npy"), "--json"},
      {"export", run, "--out", path("exported")},
      {"report", run},
      {"report", run, "--text"},
      {"report", run, "--json"},
      {"checkpoint", "show", run},
      {"checkpoint", "show", run, "--recipe"},
      {"checkpoint", "verify", run},
      {"loss", "--objective", "infonce", "--embeddings", path("z.npy")},
      {"loss", "--objective", "infonce", "--embeddings", path("z.npy"), "--json"},
      {"prior", "--embeddings", path("rows.npy"), "--labels", path("y.npy")},
      {"study", "estimators", "--embeddings", path("rows.npy"), "--labels", path("y.npy"), "--repetitions", "1", "--negatives", "4"},
      {"data", "list"},
      {"data", "list", "--json"},
      {"data", "check", "glyphs", "size=16", "train_count=20"},
      {"data", "check", "glyphs", "size=16", "train_count=20", "--json"},
      {"data", "make", "glyphs", "size=16", "train_count=20", "test_count=10", "--out", path("made")},
      {"data", "export", "glyphs", "size=16", "train_count=20", "--out", path("x.npy")},
      {"init", path("made") + "/conflict", "--out", path("proposed.yaml"), "--minutes", "1"},
      {"views", "show", "sim32", "--out", path("views.png"), "--rows", "1"},
      {"list", "objectives"},
      {"list", "recipes"},
      {"list", "recipes", "--json"},
  };
  for (const auto& command : commands) {
    const ProcessResult full = run_with({.out = "/dev/full"}, command);
    EXPECT_EQ(full.exit, 1) << testing::PrintToString(command) << full.err;
    EXPECT_THAT(full.err, HasSubstr("debias: writing to standard output failed: No space left on device; "))
        << testing::PrintToString(command);
    EXPECT_THAT(full.err, Not(HasSubstr("internal error")));
  }
  for (const auto& command : {commands[3], commands[14], commands[21], commands[29]}) {
    const ProcessResult lost = run_with({.out = kClosed}, command);
    EXPECT_EQ(lost.exit, 1) << testing::PrintToString(command);
    EXPECT_THAT(lost.err, HasSubstr("debias: writing to standard output failed: "));
    const ProcessResult unread = run_with({.out = kUnread}, command);
    EXPECT_EQ(unread.exit, 128 + SIGPIPE) << testing::PrintToString(command);
    EXPECT_THAT(unread.err, Not(HasSubstr("debias: ")));
  }
}

TEST_F(StandardStreams, AFailureOfAnotherKindKeepsItsCodeWhereResultsAreLostToo) {
  fs::create_directories(path("pictures") + "/cat");
  std::ofstream(path("pictures") + "/cat/a.png") << "no picture";
  const ProcessResult result = run_with({.out = "/dev/full"}, {"data", "check", "image_folder", "--root", path("pictures"), "--json"});
  EXPECT_EQ(result.exit, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("writing to standard output failed"));
}

TEST_F(StandardStreams, WhatIsPrintedStaysWholeWhereItCanBeWritten) {
  const ProcessResult result = run_with({.in = kClosed, .err = kClosed}, {"list", "objectives", "--json"});
  EXPECT_EQ(result.exit, 0);
  EXPECT_EQ(result.out, run_debias({"list", "objectives", "--json"}).out);
}

}  // namespace standard_streams_test
}  // namespace debias

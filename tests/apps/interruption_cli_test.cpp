// Ctrl-C, in commands that have no checkpoint to write, and what a terminal shows of a training.
#include <pty.h>

#include "tests/apps/command.h"
#include "tests/apps/rank_processes.h"
#include "tests/fix/gaussian_table.h"

namespace debias::interruption_cli_test {

// Signals a command once it reports progress, and gives what became of it.
ProcessResult interrupted(const Words& words, const std::string& progress, int signal) {
  Background process(with({kBinary}, words));
  EXPECT_TRUE(soon([&] { return process.err().find(progress) != std::string::npos; })) << process.err();
  kill(process.id(), signal);
  return process.wait();
}

size_t temporaries_in(const std::string& folder) {
  const auto is_temporary = [](const auto& entry) { return entry.path().string().find(".tmp-") != std::string::npos; };
  return static_cast<size_t>(std::count_if(fs::recursive_directory_iterator(folder), fs::recursive_directory_iterator(), is_temporary));
}

TEST(Interruption, EndsEveryLongCommandWithOneSentence) {
  const TemporaryFolder folder;
  const Words glyphs = {"glyphs", "size=64", "train_count=2000000"};
  const ProcessResult check = interrupted(with({"data", "check"}, glyphs), "reading glyphs", SIGINT);
  expect_complaint(check, 130, "debias: data check: stopped by SIGINT");
  const ProcessResult made = interrupted(with({"data", "make", "--out", folder / "made"}, glyphs), "making glyphs", SIGINT);
  expect_complaint(made, 130, "debias: data make: stopped by SIGINT");
  EXPECT_FALSE(fs::exists(folder / "made"));
  EXPECT_EQ(temporaries_in(folder.path()), 0u) << "the folder that was being made is removed";
  const ProcessResult study = interrupted({"study", "bcl", "--repetitions", "100000", "--out", folder / "study"}, "repetitions ", SIGTERM);
  expect_complaint(study, 143, "debias: study bcl: stopped by SIGTERM");
  EXPECT_FALSE(fs::exists(folder / "study"));
}

TEST(Interruption, OfEvaluationAndEmbeddingLeavesTheRunAsItIs) {
  const TemporaryFolder folder;
  std::ofstream(folder / "small.yaml") << kSmallRecipe;
  done({"train", folder / "small.yaml", "train.epochs=1", "output=" + folder / "run",
        "data.test={name: glyphs, size: 16, test_count: 500000, split: test}"});
  expect_complaint(interrupted({"eval", "knn", folder / "run"}, "/", SIGINT), 130, "debias: eval: stopped by SIGINT");
  EXPECT_FALSE(fs::exists(folder / "run/evaluation/knn.json"));
  expect_complaint(interrupted({"embed", folder / "run", "--out", folder / "z.npy"}, "/", SIGINT), 130, "debias: embed: stopped by SIGINT");
  EXPECT_FALSE(fs::exists(folder / "z.npy"));
  EXPECT_EQ(temporaries_in(folder.path()), 0u);
}

TEST(Interruption, OfAProposalWritesNoRecipe) {
  const TemporaryFolder folder;
  done({"data", "make", "glyphs", "size=32", "train_count=400", "--out", folder / "photos"});
  const Words init = {"init", folder / "photos", "--out", folder / "photos.yaml"};
  expect_complaint(interrupted(init, "measuring training steps", SIGINT), 130, "debias: init: stopped by SIGINT");
  EXPECT_FALSE(fs::exists(folder / "photos.yaml"));
  EXPECT_EQ(temporaries_in(folder.path()), 0u);
}

// Most of a correction reports no progress.
TEST(Interruption, OfACorrectionRemovesItsFolderAlsoWhereNothingUnwinds) {
  const GaussianTable table({.train = 20000, .test = 100, .dimensions = 128});
  const Words fix = {"fix", "--embeddings", table.vectors(), "--csv", table.csv(), "--out", table.folder() / "fixed"};
  for (const int signals : {1, 2}) {
    Background process(with({kBinary}, fix));
    ASSERT_TRUE(soon([&] { return temporaries_in(table.folder().path()) > 0; })) << process.err();
    for (int i = 0; i < signals; ++i) process.signal(SIGTERM);
    expect_complaint(process.wait(), 143, "debias: fix: stopped by SIGTERM");
    EXPECT_EQ(temporaries_in(table.folder().path()), 0u) << signals;
    EXPECT_FALSE(fs::exists(table.folder() / "fixed"));
  }
}

TEST(Interruption, ASecondOneOrSomeSilenceEndsAtOnce) {
  for (const int signals : {1, 2}) {
    Background process({kBinary, "study", "theorems"});
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
    for (int i = 0; i < signals; ++i) kill(process.id(), SIGINT);
    const auto begin = std::chrono::steady_clock::now();
    const ProcessResult result = process.wait();
    if (result.exit == 0) GTEST_SKIP() << "it had ended before";
    EXPECT_EQ(result.exit, 130) << result.err;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  }
}

// What a terminal of 80 columns shows of a command.
std::string shown_on_terminal(const Words& words) {
  int terminal = -1;
  winsize size{};
  size.ws_col = 80;
  size.ws_row = 24;
  const pid_t process = forkpty(&terminal, nullptr, nullptr, &size);
  if (process == 0) {
    setenv("TERM", "xterm", 1);
    std::vector<char*> pointers;
    Words all = with({kBinary}, words);
    for (auto& word : all) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  std::string text;
  char piece[4096];
  for (ssize_t count = 0; (count = read(terminal, piece, sizeof piece)) > 0;) text.append(piece, static_cast<size_t>(count));
  close(terminal);
  EXPECT_EQ(exit_of(process), 0) << text;
  return text;
}

TEST(TerminalBar, SaysHowLongTheEpochAndTheRunStillTakeIn80Columns) {
  const TemporaryFolder folder;
  std::ofstream(folder / "small.yaml") << kSmallRecipe;
  const std::string shown =
      shown_on_terminal({"train", folder / "small.yaml", "train.epochs=3", "data.train.train_count=640", "output=" + folder / "run"});
  EXPECT_THAT(shown, ContainsRegex("epoch 1/3 \\[[#.]+\\] +[0-9]+% [0-9]+:[0-9][0-9], [0-9:]+ left, run [0-9:]+ left, loss [0-9.]+"));
  size_t begin = 0;
  for (size_t end = 0; (end = shown.find_first_of("\r\n", begin)) != std::string::npos; begin = end + 1) {
    const std::string piece = shown.substr(begin, end - begin);
    if (piece.find('[') != std::string::npos) {
      EXPECT_LE(piece.size(), 80u) << piece;
    }
  }
  const std::string quiet = shown_on_terminal({"train", folder / "small.yaml", "train.epochs=1", "output=" + folder / "quiet", "-q"});
  expect_parts(quiet, {}, {"epoch 1/1", "["});
}

}  // namespace debias::interruption_cli_test

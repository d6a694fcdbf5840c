// What is typed around the verbs: help, version, misspelt commands, --quiet, output that nobody reads to its end.
#include "tests/apps/command.h"

namespace debias::command_line_test {

ProcessResult shell(const std::string& script) { return run({"sh", "-c", script, "sh", kBinary}); }

TEST(CommandLine, AloneItPrintsItsHelpWithTheExitCodes) {
  const ProcessResult alone = done({}), help = run_debias({"--help"});
  EXPECT_EQ(alone.out, help.out);
  EXPECT_EQ(run_debias({"help"}).out, help.out);
  for (const char* code : {"0 success", "1 failure", "2 usage", "3 data", "4 non-finite numbers", "5 memory", "75 stopped", "130 or 143"}) {
    EXPECT_THAT(help.out, HasSubstr(code));
  }
}

TEST(CommandLine, HelpOfAVerbIsItsOwn) {
  for (const Words& verb : std::vector<Words>{{"train"}, {"data", "make"}, {"rl", "train"}, {"eval", "sentences"}}) {
    const ProcessResult asked = done(with({"help"}, verb));
    EXPECT_EQ(asked.out, run_debias(with(verb, {"--help"})).out);
    EXPECT_THAT(asked.out, HasSubstr(verb.back()));
  }
}

TEST(CommandLine, VersionIsSaidHoweverItIsAskedFor) {
  const ProcessResult version = done({"--version"});
  EXPECT_THAT(version.out, testing::MatchesRegex("debias [0-9]+\\.[0-9]+\\.[0-9]+\n(DICOM: DCMTK [0-9.]+\n)?"));
  for (const Words& words : std::vector<Words>{{"-V"}, {"version"}}) {
    EXPECT_EQ(run_debias(words).out, version.out) << words[0];
  }
}

TEST(CommandLine, AReaderThatHasSeenEnoughIsNoFailure) {
  const ProcessResult cut = shell("(\"$1\" list objectives; echo exit $? >&2) | head -n 1");
  EXPECT_EQ(times("\n", cut.out), 1u);
  EXPECT_TRUE(cut.err == "exit 141\n" || cut.err == "exit 0\n") << cut.err;  // 0: head had not ended yet
  EXPECT_EQ(shell("(sleep 0.2; \"$1\" list objectives; echo exit $? >&2) | true").err, "exit 141\n");
  EXPECT_EQ(shell("(sleep 0.2; \"$1\" --help; echo exit $? >&2) | true").err, "exit 141\n");
  EXPECT_EQ(shell("(sleep 0.2; \"$1\" --version; echo exit $? >&2) | true").err, "exit 141\n");
  const ProcessResult usage = shell("(sleep 0.2; \"$1\" list nothing; echo exit $? >&2) | true");
  EXPECT_THAT(usage.err, HasSubstr("exit 2\n")) << "a mistake keeps its code";
}

TEST(CommandLine, QuietLeavesWarningsErrorsAndResults) {
  const TemporaryFolder folder;
  std::ofstream(folder / "small.yaml") << kSmallRecipe;
  const auto train = [&](const std::string& name, const Words& more) {
    return run_debias(with({"train", folder / "small.yaml", "train.epochs=1", "output=" + folder / name}, more));
  };
  const ProcessResult quiet = train("quiet", {"--quiet"}), loud = train("loud", {});
  ASSERT_EQ(quiet.exit, 0) << quiet.err;
  EXPECT_EQ(quiet.err, "");
  EXPECT_THAT(quiet.out, HasSubstr("1 epochs in"));
  EXPECT_THAT(loud.err, HasSubstr("epoch 1/1"));
  EXPECT_THAT(file_text(folder / "quiet/train.log"), HasSubstr("epoch 1/1"));
  const ProcessResult warned = train("warned", {"-q", "train.micro_batch=8"});
  EXPECT_THAT(warned.err, StartsWith("warning: micro_batch 8"));
  EXPECT_EQ(times("\n", warned.err), 1u);
  expect_one_line(train("quiet", {"--quiet"}), 2, "debias: output '");  // what is refused is said all the same
  EXPECT_EQ(run_debias({"data", "check", "glyphs", "size=16", "train_count=20", "-q"}).err, "");
}

TEST(CommandLine, EpochLinesFitTheTerminalAndTheLogHasThemWhole) {
  const TemporaryFolder folder;
  std::ofstream(folder / "small.yaml") << kSmallRecipe;
  const ProcessResult result =
      done({"train", folder / "small.yaml", "train.epochs=2", "output=" + folder / "run",
            "data.test={name: glyphs, size: 16, test_count: 32, split: test}", "evaluate={protocols: [knn, geometry], knn: {k: 7}}"});
  std::istringstream lines(result.err);
  int epochs = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("epoch ")) continue;
    ++epochs;
    EXPECT_LE(line.size(), 100u) << line;
    expect_parts(line, {": train_loss ", " more in metrics.csv"});
  }
  EXPECT_EQ(epochs, 2);
  EXPECT_THAT(result.err, ContainsRegex("epoch 1/2: .*, [0-9]+:[0-9][0-9] left\n")) << "of the run";
  const std::string log = file_text(folder / "run/train.log");
  EXPECT_THAT(log, ContainsRegex("epoch 1/2, train_loss [^\n]*grad_norm [^\n]*test\\.uniformity"));
}

TEST(CommandLine, AFileOfAnotherKindGivenAsARunIsNamedWithWhatToDo) {
  const TemporaryFolder folder;
  const auto written = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes << std::string(100, '\x7f');
    return folder / name;
  };
  const std::vector<std::pair<std::string, std::string>> files = {
      {written("z.npy", "\x93NUMPY"), "it is a NumPy array, and a run folder or a .safetensors checkpoint is needed; embeddings"},
      {written("model.pth", "PK\x03\x04"), "python -m debias.weights convert FILE weights.safetensors"},
      {written("net.onnx", std::string("\x08\x07\x12\x07pytorch", 11)), "it is an ONNX network"}};
  for (const auto& [path, line] : files) {
    for (const Words& words : std::vector<Words>{{"eval", "knn", path}, {"embed", path, "--out", folder / "out"}, {"export", path}}) {
      expect_refused(run_debias(words), 3, line);
    }
    const std::string kind = line.substr(0, line.find(','));
    expect_refused(run_debias({"checkpoint", "show", path}), 3, kind);
    for (const char* verb : {"report", "table"}) expect_refused(run_debias({verb, path}), 3, kind);
    expect_refused(run_debias({"train", path}), 2, kind);
  }
}

// Of runs and embeddings: tests/faults/escapes.py.
TEST(CommandLine, ATildeIsTheHomeFolderWhereNoShellHasSeenIt) {
  const TemporaryFolder home;
  const Words words = {"data", "export", "glyphs", "size=16", "train_count=20", "--out=~/x.npy", "--labels=~/y.npy"};
  EXPECT_EQ(run(with({"env", "HOME=" + home.path(), kBinary}, words)).exit, 0);
  EXPECT_EQ(home.entries(), 2u);
}

}  // namespace debias::command_line_test

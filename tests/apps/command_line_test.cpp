// What is typed around the verbs: help, version, misspelt commands, --quiet, output that nobody reads to its end.
#include "debias/core/printable.h"
#include "tests/apps/command.h"

namespace debias {
namespace command_line_test {

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

}  // namespace command_line_test

// Recipes by name, from a folder that has none of its own.
namespace recipe_names_test {

class RecipeNames : public InFolder {
 protected:
  Json listed(const std::string& name) const {
    const auto list = Json::parse(run_debias({"list", "recipes", "--json"}).out);
    for (const auto& recipe : list["recipes"]) {
      if (recipe["name"] == name) return recipe;
    }
    return {};
  }
};

TEST_F(RecipeNames, AreFoundFromAnywhere) {
  for (const char* name : {"mnist/infonce", "mnist/infonce.yaml", "recipes/mnist/infonce.yaml"}) {
    const auto result = run_debias({"train", name, "data.train.root=nowhere", "data.test.root=nowhere"});
    EXPECT_EQ(result.exit, 3) << result.err;  // the recipe was read, the data are missing
    EXPECT_THAT(result.err, HasSubstr("nowhere"));
  }
}

TEST_F(RecipeNames, AFolderOfOnesOwnComesFirst) {
  fs::create_directories("recipes/mnist");
  std::ofstream("recipes/mnist/infonce.yaml") << "# My own. Nothing else.\n# Time: a second.\ndata: {train: {name: glyphs}}\n";
  EXPECT_EQ(listed("mnist/infonce"), Json::parse(R"({"name": "mnist/infonce", "path": "recipes/mnist/infonce.yaml",
                                                              "summary": "My own", "data": "glyphs", "time": "a second"})"));
  EXPECT_THAT(run_debias({"train", "mnist/infonce"}).err, HasSubstr("recipes/mnist/infonce.yaml"));
}

TEST_F(RecipeNames, AnUnknownOneIsRefusedWithTheNearest) {
  const auto result = run_debias({"train", "mnist/infonc"});
  EXPECT_EQ(result.exit, 2);
  EXPECT_EQ(result.err, "debias: recipe 'mnist/infonc': no such file in " + fs::current_path().string() +
                            ", and no recipe of that name; did you mean 'mnist/infonce'?\n");
  EXPECT_THAT(run_debias({"train", "qqqqqqqqqqqqqqqqqqqqqq"}).err, HasSubstr("debias list recipes"));
}

TEST_F(RecipeNames, TheListSaysWhatEachIsForAndItsData) {
  const auto recipes = Json::parse(run_debias({"list", "recipes", "--json"}).out)["recipes"];
  EXPECT_GT(recipes.size(), 10u);
  for (const auto& recipe : recipes) {
    EXPECT_NE(recipe["summary"], "") << recipe;
    EXPECT_NE(recipe["data"], "") << recipe;
  }
  EXPECT_THAT(listed("mini/cross_entropy")["time"].get<std::string>(), HasSubstr("minute"));
  EXPECT_THAT(run_debias({"list", "recipes", "mini/end"}).out, AllOf(HasSubstr("mini/end: "), HasSubstr("biased_mnist in data/mnist")));
  EXPECT_EQ(listed("rl/table3")["data"], "sweep, 6 tasks");
  EXPECT_EQ(listed("rl/curl")["data"], "task cartpole_swingup");
}

TEST_F(RecipeNames, AFileOfSomeoneElseDoesNotEndTheList) {
  fs::create_directories("recipes");
  std::ofstream("recipes/soup.yaml") << "water: [\n";
  EXPECT_THAT(listed("soup")["summary"].get<std::string>(), HasSubstr("cannot be read"));
}

// A program that was moved without its recipes.
TEST_F(RecipeNames, WhereThereAreNoneTheListSaysWhereItLooked) {
  fs::create_directories("moved/bin");
  fs::copy_file(kBinary, "moved/bin/debias");
  const auto moved = [](const Words& more) { return run(with({"moved/bin/debias", "list", "recipes"}, more)); };
  const std::string beside = fs::canonical("moved").string() + "/share/debias/recipes";
  const std::string looked = "no recipe in ./recipes or " + beside + "; give the path of a recipe, or copy the folder recipes there\n";
  const ProcessResult none = moved({});
  EXPECT_EQ(none.exit, 3);
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(none.err, "debias: list recipes: " + looked);
  EXPECT_EQ(moved({"mini/end"}).err, "debias: list recipes: " + looked);
  EXPECT_EQ(Json::parse(moved({"--json"}).out), Json::parse(R"({"recipes": []})"));
  EXPECT_EQ(run({"moved/bin/debias", "train", "mini/end"}).err,
            "debias: recipe 'mini/end': no such file in " + fs::current_path().string() + ", and no recipe of that name; " + looked);
}

}  // namespace recipe_names_test

// Names of files and classes that would steer a terminal or run in a spreadsheet.
namespace hostile_names_test {

const std::string kRed = "cat\x1b[31m\ndog", kWindow =
                                                 "fox\xc2\x9b"
                                                 "31m";  // CSI in two bytes, and as one character

void expect_harmless(const std::string& text) { EXPECT_EQ(lines_without_control_characters(text), text); }

class HostileNames : public InSharedFolder<HostileNames> {
 public:
  static void fill() {
    for (const auto& group : {kRed, kWindow, std::string("=1+1,x"), std::string("-1")}) {
      fs::create_directories("data/" + group);
      for (int i = 0; i < 4; ++i) {
        fs::copy_file(golden_folder("images") + "/colour.jpg", "data/" + group + "/" + std::to_string(i) + ".jpg");
      }
    }
    std::ofstream("recipe.yaml") << small_recipe(
        {"head={name: none}", "objective=infonce", "train={epochs: 1, batch_size: 8, device: cpu, threads: 1}",
         "evaluate={protocols: [knn], knn: {k: 3}}",
         "data={train: {name: image_folder, root: data}, test: {name: image_folder, root: data}}"});
    done({"train", "recipe.yaml", "output=run"});
  }
};

TEST_F(HostileNames, AreTheSameInJsonAndEscapedForPeople) {
  const json check = json::parse(run_debias({"data", "check", "image_folder", "--root", "data", "--json"}).out);
  EXPECT_THAT(check["classes"], testing::UnorderedElementsAre(kRed, kWindow, "=1+1,x", "-1"));
  EXPECT_THAT(run_debias({"data", "check", "image_folder", "--root", "data"}).out,
              AllOf(HasSubstr("cat\\x1b[31m\\x0adog "), HasSubstr("fox\\xc2\\x9b31m ")));
}

TEST_F(HostileNames, OfBadFilesAreListedInOneLineEach) {
  const std::string name = "a\x1b]0;x\x07\nbad: b.png";
  fs::create_directories("bad/cat");
  fs::copy_file(golden_folder("images") + "/colour.jpg", "bad/cat/0.jpg");
  std::ofstream("bad/cat/" + name) << "no picture";
  const ProcessResult result = run_debias({"data", "check", "image_folder", "--root", "bad"});
  EXPECT_EQ(result.exit, 3);
  expect_harmless(result.out);
  expect_harmless(result.err);
  EXPECT_EQ(times("\nbad: ", result.out), 1u) << result.out;
  EXPECT_THAT(result.out, HasSubstr("a\\x1b]0;x\\x07\\x0abad: b.png"));
}

// What a program prints on a terminal.
std::string shown_on_terminal(const Words& words) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_TRUE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
  const int kept = open(ptsname(terminal), O_RDWR | O_NOCTTY);  // what was printed stays readable
  EXPECT_EQ(run(with({"sh", "-c", std::string("exec \"$0\" \"$@\" > ") + ptsname(terminal)}, words)).exit, 0);
  std::string text(4096, '\0');
  const ssize_t count = read(terminal, text.data(), text.size());
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  close(kept);
  close(terminal);
  return text;
}

TEST_F(HostileNames, OfACheckpointFromElsewhereSteerNothing) {
  const std::string file = "foreign.safetensors", recipe = "name: \x1b[31m\nseed: 1\n";
  const float value = 1;
  write_safetensors(file, {{"w\x1b[31m", DType::kFloat32, {1}, &value}},
                    {{"debias.recipe", recipe}, {"debias.state", R"({"a\u001b[31m": "\u009b31m"})"}});
  const ProcessResult shown = done({"checkpoint", "show", file});
  expect_harmless(shown.out);
  EXPECT_THAT(shown.out, AllOf(HasSubstr("w\\x1b[31m"), HasSubstr("\\xc2\\x9b31m")));
  EXPECT_EQ(run_debias({"checkpoint", "show", file, "--recipe"}).out, recipe) << "a file gets it byte for byte";
  EXPECT_EQ(shown_on_terminal({kBinary, "checkpoint", "show", file, "--recipe"}), "name: \\x1b[31m\r\nseed: 1\r\n");
}

TEST_F(HostileNames, DoNotRunInASpreadsheet) {
  const std::string run = "run", table = "e.csv", names = "e.names.csv", predictions = run + "/evaluation/knn.csv";
  done({"embed", run, "--out", table});
  EXPECT_THAT(file_text(names), AllOf(HasSubstr("\n\"'=1+1,x/0.jpg\",1,\"'=1+1,x\",-1,\n"), HasSubstr("\n'-1/0.jpg,0,-1,-1,\n")))
      << "file names and class names, but no class that is a number";
  EXPECT_THAT(file_text(table), AllOf(HasSubstr("\n\"'=1+1,x/0.jpg\","), Not(HasSubstr(",'"))));
  done({"eval", "knn", run, "--predictions"});
  EXPECT_THAT(file_text(predictions), HasSubstr("\ntest,'-1/0.jpg,0,-1,"));

  done({"embed", run, "--out", table, "--raw"});
  EXPECT_THAT(file_text(names), AllOf(HasSubstr("\n\"=1+1,x/0.jpg\",1,\"=1+1,x\",-1,\n"), Not(HasSubstr("'"))));
  EXPECT_THAT(file_text(table), Not(HasSubstr("'")));
  done({"eval", "knn", run, "--predictions", "--raw"});
  EXPECT_THAT(file_text(predictions), AllOf(HasSubstr("\ntest,-1/0.jpg,0,-1,"), Not(HasSubstr("'"))));
}

}  // namespace hostile_names_test
}  // namespace debias

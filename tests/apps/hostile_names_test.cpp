// Names of files and classes that would steer a terminal or run in a spreadsheet.
#include "debias/core/printable.h"
#include "tests/apps/command.h"

namespace debias::hostile_names_test {

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

}  // namespace debias::hostile_names_test

// `debias init`: from a folder of pictures to a recipe and the commands that lead to a report.
#include <random>

#include "debias/core/config.h"
#include "tests/apps/command.h"

namespace debias::init_cli_test {

// Two classes and two colours, sorted the other way round: ape goes with red, zebra with blue, but for one picture in four.
class InitCommand : public InFolder {
 protected:
  InitCommand() {
    std::ofstream csv("colours.csv");
    csv << "path,label,bias\n";
    for (int i = 0; i < 24; ++i) {
      for (const char* kind : {"ape", "zebra"}) {
        const std::string path = std::string(kind) + "/" + std::to_string(i) + ".ppm";
        add(path, 2 * i + (*kind == 'a' ? 0 : 1));
        csv << path << "," << kind << "," << ((std::string(kind) == "ape") == (i % 4 != 0) ? "red" : "blue") << "\n";
      }
    }
  }
  // A picture of its own: copies would stay on one side of the images held out.
  static void add(const std::string& path, int seed) {
    fs::create_directories((fs::path("photos") / path).parent_path());
    std::ofstream file(fs::path("photos") / path, std::ios::binary);
    file << "P6 19 13 255\n";
    std::mt19937 random(static_cast<unsigned>(seed));
    for (int i = 0; i < 3 * 19 * 13; ++i) file.put(static_cast<char>(random() % 256));
  }
  // The same rows under another name of the column of bias labels.
  static void rename_bias(const std::string& title, const std::string& file) {
    std::string text = file_text("colours.csv");
    std::ofstream(file) << text.replace(text.find("bias"), 4, title);
  }
  // The shell commands of the README's part "Your own images", without comments.
  Words commands_of_readme() const {
    const std::string page = file_text(golden_folder("tables") + "/../../../README.md");
    const size_t part = page.find("## Your own images"), begin = page.find("```sh\n", part) + 6;
    std::istringstream block(page.substr(begin, page.find("```", begin) - begin));
    Words commands;
    for (std::string line; std::getline(block, line);) {
      if (line.starts_with("debias ")) commands.push_back(line.substr(0, line.find(" #")));
    }
    return commands;
  }
  void run_readme(const std::string& without) const {
    const Words commands = commands_of_readme();
    ASSERT_EQ(commands.size(), 4u);
    for (std::string command : commands) {
      if (const size_t at = command.find(without); !without.empty() && at != std::string::npos) command.erase(at, without.size());
      if (command.starts_with("debias init")) command += " --minutes 0.02";
      const ProcessResult result = shell(command);
      EXPECT_EQ(result.exit, 0) << command << "\n" << result.err;
    }
    EXPECT_TRUE(fs::exists("photos.html"));
  }
  ProcessResult init(const Words& words) const { return run_debias(with({"init", "photos"}, words)); }
  Json json(const Words& words) const {
    const ProcessResult result = init(with(words, {"--json", "--minutes", "0.02"}));
    EXPECT_EQ(result.exit, 0) << result.err;
    return Json::parse(result.out);
  }
  // The commands as a person would type them, with the program of this test.
  ProcessResult shell(const std::string& command) const {
    return run({"sh", "-c", "PATH='" + fs::path(kBinary).parent_path().string() + "':\"$PATH\"; " + command});
  }
  static size_t pictures() {
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator("photos")) count += entry.is_regular_file() ? 1 : 0;
    return count;
  }
};

TEST_F(InitCommand, ItsThreeCommandsLeadToAReport) {
  const auto found = json({"--labels", "colours.csv"});
  EXPECT_EQ(found["images"], 48);
  EXPECT_EQ(found["classes"], Json({"ape", "zebra"}));
  EXPECT_EQ(found["biases"], Json({"blue", "red"}));
  EXPECT_EQ(found["bias_table"], Json::parse("[[6, 18], [18, 6]]"));
  EXPECT_EQ(found["goal"], "bias");
  EXPECT_EQ(found["recipe"], "photos.yaml");
  EXPECT_EQ(pictures(), 48u);
  ASSERT_EQ(found["next"].size(), 3u);
  for (const auto& command : found["next"]) {
    const ProcessResult result = shell(command);
    EXPECT_EQ(result.exit, 0) << command << "\n" << result.err;
  }
  const std::string page = file_text("photos.html");
  EXPECT_THAT(page, AllOf(HasSubstr("runs/photos-plain"), HasSubstr("conflicting"), HasSubstr("bias_balanced")));
}

TEST_F(InitCommand, TheReadmesCommandsWorkWithACsv) {
  fs::rename("colours.csv", "photos.csv");
  run_readme("");
  EXPECT_THAT(file_text("photos.html"), HasSubstr("conflicting"));
}

TEST_F(InitCommand, TheReadmesCommandsWorkWithoutACsv) { run_readme(" --labels photos.csv"); }

TEST_F(InitCommand, TheProposedEncodersAreExportedAsOnnx) {
  const auto found = json({"--labels", "colours.csv"});
  ASSERT_EQ(shell(found["next"][0]).exit, 0);
  const ProcessResult exported = done({"export", "runs/photos", "--format", "onnx"});
  EXPECT_TRUE(fs::exists("runs/photos/exported/encoder.onnx"));
}

TEST_F(InitCommand, AColumnThatIsNotReadIsReportedWithTheCommandThatUsesIt) {
  rename_bias("paint job", "paints.csv");
  const ProcessResult result = init({"--labels", "paints.csv", "--minutes", "0.02"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("columns of paints.csv: path, label are read; paint job is not\n"));
  const std::string use = "debias init photos --labels paints.csv --minutes 0.02 'labels.bias=paint job' --out photos-paint-job.yaml";
  ASSERT_THAT(result.out, HasSubstr("  " + use + "\n"));
  EXPECT_EQ(shell(use).exit, 0);
  EXPECT_THAT(file_text("photos-paint-job.yaml"), AllOf(HasSubstr("bias: paint job"), HasSubstr("[groups, knn, geometry]")));
  EXPECT_THAT(run_debias({"train", "photos.yaml", "--dry-run"}).err, HasSubstr("paints.csv: column paint job is not read"));
}

TEST_F(InitCommand, JsonHasTheColumns) {
  rename_bias("paint", "paints.csv");
  EXPECT_EQ(json({"--labels", "paints.csv"})["columns"],
            Json::parse(R"({"read": ["path", "label"], "ignored": ["paint"], "likely_bias": ["paint"]})"));
  EXPECT_EQ(json({"--labels", "paints.csv", "labels.bias=paint", "--out", "b.yaml"})["columns"],
            Json::parse(R"({"read": ["path", "label", "paint"], "ignored": [], "likely_bias": []})"));
}

TEST_F(InitCommand, SaysWhatItFound) {
  std::ofstream("photos/ape/3.heic") << "no picture";
  const auto result = init({"--labels", "colours.csv", "--minutes", "0.02"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("photos: 29 training images, 19 more held out for evaluation"),
                                HasSubstr("36 of 48 training images (75.0 %) have the most frequent bias label of their class"),
                                HasSubstr("ignored: ape/3.heic"), HasSubstr("next:\n  debias train photos.yaml\n")));
}

TEST_F(InitCommand, ImagesOfUnknownBiasLabelAreInNoShare) {
  std::istringstream lines(file_text("colours.csv"));
  std::ofstream part("part.csv");
  int row = 0;
  for (std::string line; std::getline(lines, line); ++row) part << (row % 2 == 1 ? line.substr(0, line.rfind(',') + 1) : line) << "\n";
  part.close();
  const auto result = init({"--labels", "part.csv", "--minutes", "0.02"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr(" of 24 training images with a label and a bias label ("),
                                HasSubstr("note: 24 of 48 training images have no label or no bias label")));
}

TEST_F(InitCommand, WithoutBiasValuesOrLabelsItProposesAnEncoderWithoutLabels) {
  const auto labelled = json({});
  EXPECT_EQ(labelled["goal"], "sampling");
  const std::string recipe = file_text("photos.yaml");
  EXPECT_THAT(recipe, AllOf(HasSubstr("hard_negatives, temperature: 0.5, beta: 1, tau_plus: 0.5"), HasSubstr("[knn, geometry]")));
  fs::rename("photos/ape", "flat");
  fs::remove_all("photos");
  fs::rename("flat", "photos");
  const auto flat = json({"--out", "flat.yaml"});
  EXPECT_EQ(flat["classes"].size(), 0u);
  for (const auto& command : flat["next"]) {
    const ProcessResult ran = shell(command);
    EXPECT_EQ(ran.exit, 0) << command << "\n" << ran.err;
  }
  EXPECT_THAT(file_text("flat.html"), HasSubstr("uniformity"));
}

TEST_F(InitCommand, DamagedFilesAreNamedAndNoneIsEvaluated) {
  std::ofstream("photos/ape/0.ppm") << "no picture";
  const auto found = json({"--labels", "colours.csv"});
  ASSERT_EQ(found["bad_files"].size(), 1u);
  EXPECT_EQ(found["bad_files"][0]["path"], "photos/ape/0.ppm");
  EXPECT_EQ(shell(found["next"][0]).exit, 0);
}

}  // namespace debias::init_cli_test

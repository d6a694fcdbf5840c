// `debias init`: from a folder of pictures to a recipe and the commands that lead to a report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/apps/process.h"
#include "tests/support/golden_folder.h"

namespace debias {
namespace init_cli_test {

using testing::AllOf;
using testing::HasSubstr;

namespace fs = std::filesystem;

// Two classes and two colours, sorted the other way round: ape goes with red, zebra with blue, but for one picture in four.
class InitCommand : public testing::Test {
 protected:
  InitCommand() : home_(fs::current_path()), binary_(fs::absolute(debias_binary()).string()) {
    fs::current_path(folder_.path());
    std::ofstream csv("colours.csv");
    csv << "path,label,bias\n";
    for (int i = 0; i < 24; ++i) {
      for (const char* kind : {"ape", "zebra"}) {
        const std::string path = std::string(kind) + "/" + std::to_string(i) + (i % 2 == 0 ? ".jpg" : ".png");
        add(path, i % 2 == 0 ? "colour.jpg" : "grey.png");
        csv << path << "," << kind << "," << ((std::string(kind) == "ape") == (i % 4 != 0) ? "red" : "blue") << "\n";
      }
    }
  }
  ~InitCommand() override { fs::current_path(home_); }

  static void add(const std::string& path, const std::string& image) {
    fs::create_directories((fs::path("photos") / path).parent_path());
    fs::copy_file(golden_folder("images") + "/" + image, fs::path("photos") / path);
  }
  ProcessResult init(const std::vector<std::string>& words) const { return run(with({binary_, "init", "photos"}, words)); }
  nlohmann::json json(const std::vector<std::string>& words) const {
    const ProcessResult result = init(with(words, {"--json", "--minutes", "0.02"}));
    EXPECT_EQ(result.exit, 0) << result.err;
    return nlohmann::json::parse(result.out);
  }
  // The commands as a person would type them, with the program of this test.
  ProcessResult shell(const std::string& command) const {
    return run({"sh", "-c", "PATH='" + fs::path(binary_).parent_path().string() + "':\"$PATH\"; " + command});
  }
  static size_t pictures() {
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator("photos")) count += entry.is_regular_file() ? 1 : 0;
    return count;
  }
  void expect_refused(const std::vector<std::string>& words, int exit, const std::string& text) const {
    const ProcessResult result = run(with({binary_, "init"}, words));
    EXPECT_EQ(result.exit, exit) << result.err;
    EXPECT_THAT(result.err.substr(result.err.rfind("debias: ")), HasSubstr(text));
    EXPECT_FALSE(fs::exists("photos.yaml"));
  }

  TemporaryFolder folder_;
  fs::path home_;
  std::string binary_;
};

TEST_F(InitCommand, ItsThreeCommandsLeadToAReport) {
  const auto found = json({"--labels", "colours.csv"});
  EXPECT_EQ(found["images"], 48);
  EXPECT_EQ(found["classes"], nlohmann::json({"ape", "zebra"}));
  EXPECT_EQ(found["biases"], nlohmann::json({"blue", "red"}));
  EXPECT_EQ(found["bias_table"], nlohmann::json::parse("[[6, 18], [18, 6]]"));
  EXPECT_EQ(found["goal"], "bias");
  EXPECT_EQ(found["recipe"], "photos.yaml");
  EXPECT_EQ(pictures(), 48u);
  ASSERT_EQ(found["next"].size(), 3u);
  for (const auto& command : found["next"]) {
    const ProcessResult result = shell(command);
    EXPECT_EQ(result.exit, 0) << command << "\n" << result.err;
  }
  const std::string page = file_text("photos.html");
  EXPECT_THAT(page, AllOf(HasSubstr("runs/photos-plain"), HasSubstr("conflicting")));
}

TEST_F(InitCommand, SaysWhatItFound) {
  std::ofstream("photos/ape/3.heic") << "no picture";
  const auto result = init({"--labels", "colours.csv", "--minutes", "0.02"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("photos: 29 pictures to train on, 19 of the same held out to judge"),
                                HasSubstr("36 of 48 training pictures (75.0 %) have the most frequent bias value of their class"),
                                HasSubstr("passed over: ape/3.heic"), HasSubstr("next:\n  debias train photos.yaml\n")));
}

TEST_F(InitCommand, WithoutBiasValuesOrLabelsItProposesAnEncoderWithoutLabels) {
  const auto labelled = json({});
  EXPECT_EQ(labelled["goal"], "sampling");
  const std::string recipe = file_text("photos.yaml");
  EXPECT_THAT(recipe, AllOf(HasSubstr("debiased_negatives, temperature: 0.5, tau_plus: 0.5"), HasSubstr("[knn, geometry]")));
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

TEST_F(InitCommand, DamagedFilesAreNamedAndNoneIsJudged) {
  std::ofstream("photos/ape/0.jpg") << "no picture";
  const auto found = json({"--labels", "colours.csv"});
  ASSERT_EQ(found["bad_files"].size(), 1u);
  EXPECT_EQ(found["bad_files"][0]["path"], "photos/ape/0.jpg");
  EXPECT_EQ(shell(found["next"][0]).exit, 0);
}

TEST_F(InitCommand, NothingIsOverwrittenOrWrittenAmongThePictures) {
  json({});
  const std::string before = file_text("photos.yaml");
  const auto again = init({"--minutes", "0.02"});
  EXPECT_EQ(again.exit, 2);
  EXPECT_THAT(again.err, HasSubstr("the recipe 'photos.yaml' exists"));
  EXPECT_EQ(file_text("photos.yaml"), before);
  fs::remove("photos.yaml");
  expect_refused({"photos", "--out", "photos/a.yaml"}, 2, "lies inside the data folder");
  EXPECT_EQ(pictures(), 48u);
}

TEST_F(InitCommand, HelpFitsAScreenAndEndsWithAnExample) {
  const ProcessResult result = run({binary_, "init", "--help"});
  EXPECT_EQ(result.exit, 0);
  EXPECT_LE(std::count(result.out.begin(), result.out.end(), '\n'), 40);
  EXPECT_THAT(result.out, HasSubstr("Example: debias init"));
}

TEST_F(InitCommand, MistakesAreNamedInOneLine) {
  fs::create_directories("empty");
  std::ofstream("other.csv") << "path,label\nelsewhere.jpg,cat\n";
  expect_refused({"nowhere"}, 3, "nowhere: no such folder");
  expect_refused({"colours.csv"}, 3, "is a file");
  expect_refused({"empty"}, 3, "holds no picture that can be read");
  expect_refused({"photos", "--labels", "absent.csv"}, 3, "absent.csv");
  expect_refused({"photos", "--labels", "other.csv"}, 3, "other.csv");
  expect_refused({"photos", "--minutes", "0"}, 2, "--minutes 0: expected a number above 0");
  expect_refused({"photos", "--goal", "baias"}, 2, "did you mean 'bias'?");
  expect_refused({"photos", "--goal", "bias"}, 2, "--goal bias needs at least two classes and two bias values, found 2 and 0");
}

}  // namespace init_cli_test
}  // namespace debias

// `debias report` as a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"
#include "tests/report/run_fixture.h"
#include "tests/report/well_formed.h"

namespace debias {
namespace report_cli_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ReportCommand : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  TemporaryFolder folder_;
};

TEST_F(ReportCommand, PrintsTheVerdictAndOnItsLastLineThePageInTheRun) {
  write_whole_run(path("run"));
  const ProcessResult result = run_debias({"report", path("run")});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, testing::StartsWith("run: "));
  EXPECT_THAT(result.out, testing::EndsWith("\n" + path("run/report.html") + "\n"));
  const std::string text = run_debias({"report", path("run"), "--text"}).out;
  EXPECT_THAT(text, testing::StartsWith(result.out.substr(0, result.out.rfind(path("run/report.html")))));
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(well_formed(file_text(path("run/report.html"))).fault, "");
}

TEST_F(ReportCommand, SeveralRunsGiveOnePage) {
  write_whole_run(path("a"));
  write_run(path("b"), {.epochs_done = 2});
  const ProcessResult result = run_debias({"report", path("a"), path("b"), "--out", path("both.html")});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, testing::EndsWith("\n" + path("both.html") + "\n"));
  EXPECT_THAT(file_text(path("both.html")), HasSubstr("2 of 4 epochs, unfinished"));
  EXPECT_FALSE(fs::exists(path("a/report.html")));
}

TEST_F(ReportCommand, ReplacesAnExistingPageWhole) {
  write_run(path("run"));
  write_text(path("page.html"), "an old page");
  fs::create_hard_link(path("page.html"), path("reader"));  // someone who has the old one open
  ASSERT_EQ(run_debias({"report", path("run"), "--out", path("page.html")}).exit, 0);
  EXPECT_TRUE(file_text(path("page.html")).starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(file_text(path("reader")), "an old page");
  EXPECT_EQ(folder_.entries(), 3u);
}

TEST_F(ReportCommand, TextAndJsonWriteNoPageUnlessAskedTo) {
  write_whole_run(path("run"));
  const ProcessResult text = run_debias({"report", path("run"), "--text"});
  EXPECT_EQ(text.exit, 0);
  EXPECT_THAT(text.out, HasSubstr("kNN accuracy"));
  const ProcessResult json = run_debias({"report", path("run"), "--json"});
  EXPECT_EQ(json.exit, 0);
  EXPECT_EQ(nlohmann::json::parse(json.out)["runs"][0]["epochs_done"], 4);
  EXPECT_FALSE(fs::exists(path("run/report.html")));
  const ProcessResult both = run_debias({"report", path("run"), "--json", "--out", path("page.html")});
  EXPECT_EQ(nlohmann::json::parse(both.out)["page"], path("page.html"));
  EXPECT_TRUE(fs::exists(path("page.html")));
  expect_refused(run_debias({"report", path("run"), "--json", "--text"}), 2, "exclude each other");
}

TEST_F(ReportCommand, RefusesWhatItCannotDo) {
  write_run(path("run"));
  expect_refused(run_debias({"report"}), 2, "report");
  expect_refused(run_debias({"report", path("nowhere")}), 3, path("nowhere") + "': no such run folder");
  expect_refused(run_debias({"report", folder_.path()}), 3, "not a run folder (no config.yaml)");
  expect_refused(run_debias({"report", path("run"), path("run")}), 2, "given twice");
  expect_refused(run_debias({"report", path("run"), "--out", path("run/config.yaml")}), 2, "does not end in .html");
  fs::create_directories(path("folder.html"));
  expect_refused(run_debias({"report", path("run"), "--out", path("folder.html")}), 2, "is a folder");
  expect_refused(run_debias({"report", path("run"), "--out", path("none/page.html")}), 5, path("none/page.html"));
  expect_refused(run_debias({"report", path("run"), "--txt"}), 2, "did you mean '--text'?");
  write_text(path("run/evaluation/groups.json"), "{\"metrics\": {");
  expect_refused(run_debias({"report", path("run")}), 3, path("run/evaluation/groups.json") + "': damaged JSON");
  EXPECT_FALSE(fs::exists(path("run/report.html")));
}

TEST_F(ReportCommand, WritesNothingInsideADataFolder) {
  write_run(path("run"));
  std::string recipe = file_text(path("run/config.yaml"));
  recipe.replace(recipe.find("root: \"\""), 8, "root: \"" + path("images") + "\"");
  write_text(path("run/config.yaml"), recipe);
  fs::create_directories(path("images"));
  expect_refused(run_debias({"report", path("run"), "--out", path("images/page.html")}), 2, "is inside the data folder");
  EXPECT_TRUE(fs::is_empty(path("images")));
}

TEST_F(ReportCommand, AStudyWritesItsFiguresBesideItsTables) {
  const ProcessResult result =
      run_debias({"study", "bcl", "--repetitions", "1", "--anchors", "4", "--negatives", "8", "--out", path("bcl")});
  ASSERT_EQ(result.exit, 0) << result.err;
  const std::string page = file_text(path("bcl/figures.html"));
  const WellFormed parsed = well_formed(page);
  EXPECT_EQ(parsed.fault, "");
  EXPECT_EQ(parsed.count("figure"), 2u + 4u + 14u + 4u);  // figures 3, 4, 5 and 8
  EXPECT_THAT(page, HasSubstr("<code>debias study bcl --repetitions 1 --negatives 8 --anchors 4 --out DIR</code>"));
}

}  // namespace report_cli_test
}  // namespace debias

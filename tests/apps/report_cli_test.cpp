// `debias report` as a process.
#include "tests/apps/command.h"
#include "tests/report/run_fixture.h"
#include "tests/report/well_formed.h"

namespace debias::report_cli_test {

class ReportCommand : public InFolder {
 protected:
};

TEST_F(ReportCommand, PrintsTheVerdictAndOnItsLastLineThePageInTheRun) {
  write_whole_run("run");
  const ProcessResult result = done({"report", "run"});
  EXPECT_LE(std::ranges::count(result.out, '\n'), 15);
  EXPECT_THAT(result.out, EndsWith("\nrun/report.html\n"));
  const std::string text = run_debias({"report", "run", "--text"}).out;
  EXPECT_THAT(text, StartsWith(result.out.substr(0, result.out.rfind("run/report.html"))));
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(well_formed(file_text("run/report.html")).fault, "");
}

TEST_F(ReportCommand, SeveralRunsGiveOnePage) {
  write_whole_run("a");
  write_run("b", {.epochs_done = 2});
  const ProcessResult result = done({"report", "a", "b", "--out", "both.html"});
  EXPECT_THAT(result.out, EndsWith("\nboth.html\n"));
  EXPECT_THAT(file_text("both.html"), HasSubstr("2 of 4 epochs, unfinished"));
  EXPECT_FALSE(fs::exists("a/report.html"));
}

TEST_F(ReportCommand, ReplacesAnExistingPageWhole) {
  write_run("run");
  write_text("page.html", "an old page");
  fs::create_hard_link("page.html", "reader");  // someone who has the old one open
  done({"report", "run", "--out", "page.html"});
  EXPECT_TRUE(file_text("page.html").starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(file_text("reader"), "an old page");
  EXPECT_EQ(folder_.entries(), 3u);
}

TEST_F(ReportCommand, TextAndJsonWriteNoPageUnlessAskedTo) {
  write_whole_run("run");
  EXPECT_THAT(done({"report", "run", "--text"}).out, Not(HasSubstr("kNN accuracy")));
  EXPECT_THAT(done({"report", "run", "--text", "-v"}).out, HasSubstr("kNN accuracy"));
  const ProcessResult json = done({"report", "run", "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["runs"][0]["epochs_done"], 4);
  EXPECT_FALSE(fs::exists("run/report.html"));
  const ProcessResult both = run_debias({"report", "run", "--json", "--out", "page.html"});
  EXPECT_EQ(nlohmann::json::parse(both.out)["page"], "page.html");
  EXPECT_TRUE(fs::exists("page.html"));
  expect_refused(run_debias({"report", "run", "--json", "--text"}), 2, "exclude each other");
}

TEST_F(ReportCommand, AStudyWritesItsFiguresBesideItsTables) {
  done({"study", "bcl", "--repetitions", "1", "--anchors", "4", "--negatives", "8", "--out", "bcl"});
  const std::string page = file_text("bcl/figures.html");
  const WellFormed parsed = well_formed(page);
  EXPECT_EQ(parsed.fault, "");
  EXPECT_EQ(parsed.count("figure"), 2u + 4u + 14u + 4u);  // figures 3, 4, 5 and 8
  EXPECT_THAT(page, HasSubstr("<code>debias study bcl --repetitions 1 --negatives 8 --anchors 4 --out DIR</code>"));
}

}  // namespace debias::report_cli_test

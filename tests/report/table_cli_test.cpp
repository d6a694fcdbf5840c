// `debias table` as a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"
#include "tests/report/run_fixture.h"

namespace debias {
namespace table_cli_test {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class TableCommand : public testing::Test {
 protected:
  TableCommand() {
    for (int seed = 1; seed <= 3; ++seed) {
      write_run(run("plain", seed), {.seed = seed, .objective = "infonce", .accuracy = 0.4 + 0.01 * seed});
      write_run(run("debiased", seed), {.seed = seed, .accuracy = 0.5 + 0.012 * seed});
    }
  }
  std::string run(const std::string& name, int seed) const { return folder_ / (name + "-" + std::to_string(seed)); }
  ProcessResult table(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"table"};
    for (const char* name : {"plain", "debiased"}) {
      for (int seed = 1; seed <= 3; ++seed) words.push_back(run(name, seed));
    }
    return run_debias(with(words, more));
  }
  void expect_table_refusal(const std::vector<std::string>& more, int exit, const std::string& part) const {
    expect_one_line(table(more), exit, part);
  }
  TemporaryFolder folder_;
};

TEST_F(TableCommand, PrintsRowsAndDifferences) {
  const ProcessResult text = table({});
  ASSERT_EQ(text.exit, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("test.knn_acc1, last epoch"), HasSubstr("debiased – plain")));
  const json out = json::parse(table({"--json"}).out);
  EXPECT_EQ(out["metric"], "test.knn_acc1");
  ASSERT_EQ(out["rows"].size(), 2u);
  EXPECT_EQ(out["rows"][0]["seeds"], json({"1", "2", "3"}));
  EXPECT_NEAR(out["rows"][0]["mean"].get<double>(), 0.46, 1e-12);  // 0.04 more in the fourth epoch
  EXPECT_EQ(out["rows"][0]["expected"], 0.5);
  EXPECT_EQ(out["differences"][0]["a"], "debiased");
  EXPECT_NEAR(out["differences"][0]["mean"].get<double>(), 0.104, 1e-12);
  EXPECT_EQ(out["differences"][0]["n"], 3);
}

TEST_F(TableCommand, TakesTheEpochOfAGivenNumber) {
  const json out = json::parse(table({"--epoch", "2", "--json"}).out);
  EXPECT_EQ(out["epoch"], "epoch 2");
  EXPECT_NEAR(out["rows"][0]["mean"].get<double>(), 0.44, 1e-12);
}

TEST_F(TableCommand, WritesCsvOfEachPartWithMinutesWhereAsked) {
  const ProcessResult csv = table({"--format", "csv", "--minutes"});
  ASSERT_EQ(csv.exit, 0) << csv.err;
  EXPECT_THAT(csv.out, HasSubstr("published,spread,source,minutes\nplain,"));
  EXPECT_THAT(csv.out, Not(HasSubstr("difference")));
  EXPECT_THAT(table({"--format", "csv_differences"}).out,
              HasSubstr("difference,against,seeds,paired,mean,half_width,p,p_holm\ndebiased,plain,3,true,0.10"));
  EXPECT_THAT(table({}).out, Not(HasSubstr("minutes")));
  EXPECT_THAT(table({"--minutes"}).out, HasSubstr("minutes"));
}

TEST_F(TableCommand, ConditionsDecideTheExitCode) {
  EXPECT_EQ(table({"--fail-if", "mean.plain>0.9"}).exit, 0);
  EXPECT_EQ(table({"--fail-if", "low.debiased.over.plain<0"}).exit, 0);
  expect_table_refusal({"--fail-if", "difference.debiased.over.plain>0.1"}, 1, "difference.debiased.over.plain is 0.104, so --fail-if");
  expect_table_refusal({"--fail-if", "mean.plain>0.9", "--fail-if", "mean.debiased<0.9"}, 1, "mean.debiased is 0.564");
  expect_table_refusal({"--fail-if", "mean.plian<1"}, 2, "did you mean 'mean.plain'?");
}

TEST_F(TableCommand, BadInputIsOneLineAndExit2) {
  expect_table_refusal({"--epoch", "best"}, 2, "biases the result");
  expect_table_refusal({"--epoch", "lst"}, 2, "did you mean 'last'?");
  expect_table_refusal({"--epoch", "0"}, 2, "last, selected or the number of an epoch, from 1");
  expect_table_refusal({"--epoch", "2x"}, 2, "the number of an epoch");
  expect_table_refusal({"--epoch", "selected"}, 2, "has no `evaluate.select` on valid");
  expect_table_refusal({"--format", "html"}, 2, "unknown format 'html'");
  expect_table_refusal({"--format", "csv", "--json"}, 2, "exclude each other");
  expect_table_refusal({"--metric", "test.knn_acc9"}, 2, "no run has 'test.knn_acc9'");
  expect_table_refusal({run("plain", 1)}, 2, "is given twice");
  expect_table_refusal({folder_ / "nowhere"}, 3, "no such run folder");
  write_text(folder_ / "list.yaml", "a: 1\n");
  expect_table_refusal({folder_ / "list.yaml"}, 2, "is a file, not a sweep");
  std::string other = file_text(run("plain", 3) + "/config.yaml");
  other.replace(other.find("correlation: 0.1, split"), 16, "correlation: 0.3");
  write_text(run("plain", 3) + "/config.yaml", other);
  expect_table_refusal({}, 2, "runs of different data: data.test.correlation is 0.1 in");
}

}  // namespace table_cli_test
}  // namespace debias

// `debias table` as a process.
#include "tests/apps/command.h"
#include "tests/report/run_fixture.h"

namespace debias::table_cli_test {

class TableCommand : public InFolder {
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
  expect_parts(csv.out, {"published,spread,source,minutes\nplain,"}, {"difference"});
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

}  // namespace debias::table_cli_test

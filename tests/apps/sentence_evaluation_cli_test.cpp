// Sentences by the command: evaluation by tasks, and the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/apps/expect_complaint.h"
#include "tests/apps/report_page.h"
#include "tests/apps/sentence_runs.h"

namespace debias {
namespace sentence_evaluation_cli_test {

using nlohmann::json;
using testing::HasSubstr;

class SentenceEvaluationCli : public SentenceRuns {};

json evaluated_in(const std::string& file) { return json::parse(file_text(file)); }

TEST_F(SentenceEvaluationCli, EvaluatesTheSetsThatAreThere) {
  const ProcessResult found = run_debias({"eval", "sentences", path("run"), "--root", path("sets"), "--json"});
  ASSERT_EQ(found.exit, 0) << found.err;
  for (const char* missing : {"'mr'", "'subj'", "'mpqa'", "'trec'"})
    EXPECT_THAT(found.err, HasSubstr(std::string("no files of ") + missing));
  const json metrics = json::parse(found.out)["protocols"]["sentences"]["metrics"];
  EXPECT_GT(metrics["cr_acc"], 0.9);
  EXPECT_EQ(metrics.size(), 3u);
  EXPECT_TRUE(std::filesystem::exists(path("run/evaluation/sentences.json")));
  const ProcessResult cheap =
      run_debias({"eval", "sentences", path("run"), "--root", path("sets"), "--tasks", "cr", "--cheap", "--untrained"});
  ASSERT_EQ(cheap.exit, 0) << cheap.err;
  EXPECT_THAT(cheap.out, HasSubstr("untrained), 16 dimensions, cheap"));
  EXPECT_TRUE(std::filesystem::exists(path("run/evaluation/sentences-untrained-cheap.json")));
  const ProcessResult both = run_debias({"eval", "sentences", path("run"), "--root", path("sets"), "--tasks", "cr", "--with", path("run")});
  EXPECT_THAT(both.out, HasSubstr("32 dimensions")) << both.err;
  EXPECT_EQ(evaluated_in(path("run/evaluation/sentences-with.json"))["options"]["with_epochs"], json::array({2}));
  const std::vector<std::string> untrained = {"eval",    "sentences", path("run"), "--root",    path("sets"),
                                              "--tasks", "cr",        "--with",    path("run"), "--untrained"};
  ASSERT_EQ(run_debias(untrained).exit, 0);
  EXPECT_EQ(evaluated_in(path("run/evaluation/sentences-untrained-with.json"))["options"]["with_epochs"], json::array({0}));
  const ProcessResult failing =
      run_debias({"eval", "sentences", path("run"), "--root", path("sets"), "--tasks", "cr", "--fail-if", "cr_acc>0.5"});
  EXPECT_EQ(failing.exit, 1) << failing.err;
}

TEST_F(SentenceEvaluationCli, KeepsEachKindOfEvaluationInAFileOfItsOwn) {
  const auto evaluate = [](const std::vector<std::string>& more) {
    const ProcessResult found = run_debias(with({"eval", "sentences", path("run"), "--root", path("sets")}, more));
    EXPECT_EQ(found.exit, 0) << found.err;
    return found.err;
  };
  const std::string file = path("run/evaluation/sentences.json");
  evaluate({});
  const json full = evaluated_in(file);
  evaluate({"--cheap", "--tasks", "cr"});
  evaluate({"--with", path("run"), "--tasks", "cr"});
  evaluate({"--checkpoint", "previous", "--tasks", "cr"});
  EXPECT_EQ(evaluated_in(file), full);
  EXPECT_EQ(evaluated_in(path("run/evaluation/sentences-cheap.json"))["options"]["mode"], "cheap");
  EXPECT_EQ(evaluated_in(path("run/evaluation/sentences-with.json"))["options"]["dimensions"], 32);
  EXPECT_EQ(evaluated_in(path("run/evaluation/sentences-previous.json"))["checkpoint"], "previous.safetensors");
  EXPECT_THAT(evaluate({"--tasks", "cr"}), testing::Not(HasSubstr("replaced")));
  EXPECT_EQ(evaluated_in(file), full);  // the other tasks stay
  json older = full;
  older["epoch"] = 1;
  write(file, older.dump());
  EXPECT_THAT(evaluate({"--tasks", "cr"}), HasSubstr("is of epoch 1 or of other options; it is replaced, with all its tasks"));
  EXPECT_EQ(evaluated_in(file)["metrics"].size(), 1u);
  write(file, "{");
  EXPECT_THAT(evaluate({"--tasks", "cr"}), HasSubstr("it is overwritten"));
  EXPECT_EQ(evaluated_in(file)["epoch"], 2);
}

TEST_F(SentenceEvaluationCli, FindsNeighboursAsOftenAsTrainingDid) {
  copy_run("again");
  const ProcessResult found = run_debias({"eval", "neighbours", path("again"), "--json"});
  ASSERT_EQ(found.exit, 0) << found.err;
  const json record = json::parse(found.out)["protocols"]["neighbours"], trained = evaluated_in(path("run/evaluation/neighbours.json"));
  for (const char* key : {"metrics", "intervals", "counts", "options"}) EXPECT_EQ(record[key], trained[key]) << key;
  EXPECT_EQ(evaluated_in(path("again/evaluation/neighbours.json")), record);
  const ProcessResult previous = run_debias({"eval", "neighbours", path("again"), "--checkpoint", "previous", "--json"});
  EXPECT_EQ(json::parse(previous.out)["protocols"]["neighbours"]["checkpoint"], "previous.safetensors") << previous.err;
  const ProcessResult smaller = run_debias({"eval", "neighbours", path("again"), "batch_size=20", "--fail-if", "test.neighbour_acc<0.99"});
  EXPECT_EQ(smaller.exit, 1) << smaller.err;
  EXPECT_EQ(evaluated_in(path("again/evaluation/neighbours.json"))["options"]["batch_size"], 20);
}

// One text goes from one class to the other, in its place: no more than its label differs.
TEST_F(SentenceEvaluationCli, NamesTheTextsThatItEvaluated) {
  copy_run("named");
  copy_run("other");
  std::filesystem::copy(path("sets"), path("edition"), std::filesystem::copy_options::recursive);
  const auto evaluate = [](const std::string& run, const std::string& root, const std::string& tasks) {
    const ProcessResult found = run_debias({"eval", "sentences", path(run), "--root", path(root), "--tasks", tasks});
    EXPECT_EQ(found.exit, 0) << found.err;
    return found.err;
  };
  const std::string file = path("named/evaluation/sentences.json");
  evaluate("named", "sets", "cr,msrp");
  const json options = evaluated_in(file)["options"];
  EXPECT_EQ(options["texts"], (json{{"cr", 60}, {"msrp", 78}}));
  EXPECT_EQ(options["digest"]["cr"].get<std::string>().size(), 64u);
  EXPECT_THAT(evaluate("named", "edition", "cr"), testing::Not(HasSubstr("other texts")));  // the same ones elsewhere
  EXPECT_EQ(evaluated_in(file)["options"], options);

  const std::string good = file_text(path("sets/custrev.pos"));
  const size_t last = good.rfind('\n', good.size() - 2) + 1;
  write(path("edition/custrev.pos"), good.substr(0, last));
  write(path("edition/custrev.neg"), good.substr(last) + file_text(path("sets/custrev.neg")));
  EXPECT_THAT(evaluate("named", "edition", "cr"), HasSubstr("has 'cr' evaluated on other texts; it is replaced"));
  const json replaced = evaluated_in(file)["options"];
  EXPECT_EQ(replaced["texts"], options["texts"]);
  EXPECT_NE(replaced["digest"]["cr"], options["digest"]["cr"]);
  EXPECT_EQ(replaced["digest"]["msrp"], options["digest"]["msrp"]);

  evaluate("other", "sets", "cr,msrp");
  const std::vector<std::vector<std::string>> together = {{"report", path("named"), path("other"), "--text"},
                                                          {"table", path("named"), path("other"), "--metric", "cr_acc"}};
  for (const auto& words : together) {
    expect_one_line(run_debias(words), 2, "runs evaluated on different texts: those of 'cr' have the digest");
  }
  EXPECT_EQ(run_debias({"table", path("named"), path("other"), "--metric", "msrp_acc"}).exit, 0);
}

TEST_F(SentenceEvaluationCli, PrintsWhatItFoundAlsoWhereItCannotBeKept) {
  copy_run("sealed");
  write(path("sealed/evaluation"), "a file");
  const ProcessResult found = run_debias({"eval", "sentences", path("sealed"), "--root", path("sets"), "--tasks", "cr", "--cheap"});
  EXPECT_EQ(found.exit, 5) << found.err;
  EXPECT_THAT(found.out, HasSubstr("cr_acc"));
  EXPECT_THAT(found.err, HasSubstr("creating '" + path("sealed/evaluation") + "'"));
}

TEST_F(SentenceEvaluationCli, TakesFlagsBeforeAndBehindTheRun) {
  const std::vector<std::string> behind = {"eval", "sentences", path("run"), "--root", path("sets"), "--tasks", "cr", "--cheap", "--json"};
  const std::vector<std::string> before = {"eval", "sentences", "--root", path("sets"), "--cheap", "--json", "--tasks", "cr", path("run")};
  const std::vector<std::string> above = {"eval", "--json", "--root", path("sets"), "sentences", "--tasks", "cr", path("run"), "--cheap"};
  const ProcessResult found = run_debias(behind);
  ASSERT_EQ(found.exit, 0) << found.err;
  for (const auto& words : {before, above}) {
    const ProcessResult same = run_debias(words);
    EXPECT_EQ(same.exit, 0) << same.err;
    EXPECT_EQ(same.out, found.out);
  }
}

TEST_F(SentenceEvaluationCli, ShowsThemInAReport) {
  write(path("queries.txt"), "w1 w2.\n");
  write(path("pool.txt"), "w1 w2.\nw1 w2 w2.\nw20 w9.\n");
  const ProcessResult near =
      run_debias({"text", "nearest", path("run"), "--text", path("pool.txt"), "--queries", path("queries.txt"), "--k", "2"});
  ASSERT_EQ(near.exit, 0) << near.err;
  EXPECT_LT(near.out.find("w1 w2 w2."), near.out.find("w20 w9.")) << near.out;
  ASSERT_EQ(run_debias({"eval", "sentences", path("run"), "--root", path("sets"), "--tasks", "cr", "--cheap"}).exit, 0);
  const std::string html = page_of({path("run")}, path("page.html"));
  EXPECT_THAT(html, HasSubstr("CR accuracy"));
  EXPECT_THAT(html, HasSubstr("neighbour accuracy"));
  EXPECT_THAT(html, HasSubstr("Nearest sentences"));
  EXPECT_THAT(html, HasSubstr("w1 w2 w2. ("));
  EXPECT_THAT(html, HasSubstr("epoch 2 (last.safetensors), 3 sentences of " + path("pool.txt")));
  EXPECT_THAT(html, testing::Not(HasSubstr("searched different texts")));
  for (const char* section : {"Verdict", "Groups", "Similarities", "t-SNE plot", "Nearest neighbours"}) {
    EXPECT_THAT(html, testing::Not(HasSubstr(std::string(section) + "</h2>")));
  }
  EXPECT_THAT(html, testing::Not(HasSubstr("debias eval")));
  copy_run("bare");
  const ProcessResult bare = run_debias({"report", path("bare"), "--text"});
  EXPECT_THAT(bare.out, HasSubstr("no sentence tasks; debias eval sentences " + path("bare") + " --root DIR would add them"));
  EXPECT_THAT(bare.out, HasSubstr("no nearest sentences; debias text nearest " + path("bare") + " --text FILE --queries FILE"));
  std::filesystem::copy(path("run"), path("twin"),
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  write(path("pool.txt"), "w1 w2.\nw7 w2 w2.\nw20 w9.\n");
  ASSERT_EQ(run_debias({"text", "nearest", path("twin"), "--text", path("pool.txt"), "--queries", path("queries.txt")}).exit, 0);
  EXPECT_THAT(page_of({path("run"), path("twin")}, path("page.html")), HasSubstr("searched different texts"));
}

}  // namespace sentence_evaluation_cli_test
}  // namespace debias

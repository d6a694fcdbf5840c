// Sentences by the command: evaluation by tasks, and the report.
#include "tests/apps/command.h"
#include "tests/apps/sentence_runs.h"

namespace debias::sentence_evaluation_cli_test {

using SentenceEvaluationCli = SentenceRuns;

json evaluated_in(const std::string& file) { return json_in(file); }

TEST_F(SentenceEvaluationCli, EvaluatesTheSetsThatAreThere) {
  const ProcessResult found = done({"eval", "sentences", "run", "--root", "sets", "--json"});
  for (const char* missing : {"'mr'", "'subj'", "'mpqa'", "'trec'"})
    EXPECT_THAT(found.err, HasSubstr(std::string("no files of ") + missing));
  const json metrics = json::parse(found.out)["protocols"]["sentences"]["metrics"];
  EXPECT_GT(metrics["cr_acc"], 0.9);
  EXPECT_EQ(metrics.size(), 3u);
  EXPECT_TRUE(fs::exists("run/evaluation/sentences.json"));
  const ProcessResult cheap = done({"eval", "sentences", "run", "--root", "sets", "--tasks", "cr", "--cheap", "--untrained"});
  EXPECT_THAT(cheap.out, HasSubstr("untrained), 16 dimensions, cheap"));
  EXPECT_TRUE(fs::exists("run/evaluation/sentences-untrained-cheap.json"));
  const ProcessResult both = run_debias({"eval", "sentences", "run", "--root", "sets", "--tasks", "cr", "--with", "run"});
  EXPECT_THAT(both.out, HasSubstr("32 dimensions")) << both.err;
  EXPECT_EQ(evaluated_in("run/evaluation/sentences-with.json")["options"]["with_epochs"], json::array({2}));
  const Words untrained = {"eval", "sentences", "run", "--root", "sets", "--tasks", "cr", "--with", "run", "--untrained"};
  done(untrained);
  EXPECT_EQ(evaluated_in("run/evaluation/sentences-untrained-with.json")["options"]["with_epochs"], json::array({0}));
  const ProcessResult failing = run_debias({"eval", "sentences", "run", "--root", "sets", "--tasks", "cr", "--fail-if", "cr_acc>0.5"});
  EXPECT_EQ(failing.exit, 1) << failing.err;
}

TEST_F(SentenceEvaluationCli, KeepsEachKindOfEvaluationInAFileOfItsOwn) {
  const auto evaluate = [](const Words& more) {
    const ProcessResult found = done(with({"eval", "sentences", "run", "--root", "sets"}, more));
    return found.err;
  };
  const std::string file = "run/evaluation/sentences.json";
  evaluate({});
  const json full = evaluated_in(file);
  evaluate({"--cheap", "--tasks", "cr"});
  evaluate({"--with", "run", "--tasks", "cr"});
  evaluate({"--checkpoint", "previous", "--tasks", "cr"});
  EXPECT_EQ(evaluated_in(file), full);
  EXPECT_EQ(evaluated_in("run/evaluation/sentences-cheap.json")["options"]["mode"], "cheap");
  EXPECT_EQ(evaluated_in("run/evaluation/sentences-with.json")["options"]["dimensions"], 32);
  EXPECT_EQ(evaluated_in("run/evaluation/sentences-previous.json")["checkpoint"], "previous.safetensors");
  EXPECT_THAT(evaluate({"--tasks", "cr"}), Not(HasSubstr("replaced")));
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
  const json record = json_of(run_debias({"eval", "neighbours", "again", "--json"}))["protocols"]["neighbours"],
             trained = evaluated_in("run/evaluation/neighbours.json");
  for (const char* key : {"metrics", "intervals", "counts", "options"}) EXPECT_EQ(record[key], trained[key]) << key;
  EXPECT_EQ(evaluated_in("again/evaluation/neighbours.json"), record);
  const ProcessResult previous = run_debias({"eval", "neighbours", "again", "--checkpoint", "previous", "--json"});
  EXPECT_EQ(json::parse(previous.out)["protocols"]["neighbours"]["checkpoint"], "previous.safetensors") << previous.err;
  const ProcessResult smaller = run_debias({"eval", "neighbours", "again", "batch_size=20", "--fail-if", "test.neighbour_acc<0.99"});
  EXPECT_EQ(smaller.exit, 1) << smaller.err;
  EXPECT_EQ(evaluated_in("again/evaluation/neighbours.json")["options"]["batch_size"], 20);
}

// One text goes from one class to the other, in its place: no more than its label differs.
TEST_F(SentenceEvaluationCli, NamesTheTextsThatItEvaluated) {
  copy_run("named");
  copy_run("other");
  fs::copy("sets", "edition", fs::copy_options::recursive);
  const auto evaluate = [](const std::string& run, const std::string& root, const std::string& tasks) {
    const ProcessResult found = done({"eval", "sentences", run, "--root", root, "--tasks", tasks});
    return found.err;
  };
  const std::string file = "named/evaluation/sentences.json";
  evaluate("named", "sets", "cr,msrp");
  const json options = evaluated_in(file)["options"];
  EXPECT_EQ(options["texts"], (json{{"cr", 60}, {"msrp", 78}}));
  EXPECT_EQ(options["digest"]["cr"].get<std::string>().size(), 64u);
  EXPECT_THAT(evaluate("named", "edition", "cr"), Not(HasSubstr("other texts")));  // the same ones elsewhere
  EXPECT_EQ(evaluated_in(file)["options"], options);

  const std::string good = file_text("sets/custrev.pos");
  const size_t last = good.rfind('\n', good.size() - 2) + 1;
  write("edition/custrev.pos", good.substr(0, last));
  write("edition/custrev.neg", good.substr(last) + file_text("sets/custrev.neg"));
  EXPECT_THAT(evaluate("named", "edition", "cr"), HasSubstr("has 'cr' evaluated on other texts; it is replaced"));
  const json replaced = evaluated_in(file)["options"];
  EXPECT_EQ(replaced["texts"], options["texts"]);
  EXPECT_NE(replaced["digest"]["cr"], options["digest"]["cr"]);
  EXPECT_EQ(replaced["digest"]["msrp"], options["digest"]["msrp"]);

  evaluate("other", "sets", "cr,msrp");
  const std::vector<Words> together = {{"report", "named", "other", "--text"}, {"table", "named", "other", "--metric", "cr_acc"}};
  for (const auto& words : together) {
    expect_one_line(run_debias(words), 2, "runs evaluated on different texts: those of 'cr' have the digest");
  }
  done({"table", "named", "other", "--metric", "msrp_acc"});
}

TEST_F(SentenceEvaluationCli, PrintsWhatItFoundAlsoWhereItCannotBeKept) {
  copy_run("sealed");
  write("sealed/evaluation", "a file");
  const ProcessResult found = run_debias({"eval", "sentences", "sealed", "--root", "sets", "--tasks", "cr", "--cheap"});
  EXPECT_EQ(found.exit, 5) << found.err;
  EXPECT_THAT(found.out, HasSubstr("cr_acc"));
  EXPECT_THAT(found.err, HasSubstr("creating 'sealed/evaluation'"));
}

TEST_F(SentenceEvaluationCli, TakesFlagsBeforeAndBehindTheRun) {
  const Words behind = {"eval", "sentences", "run", "--root", "sets", "--tasks", "cr", "--cheap", "--json"};
  const Words before = {"eval", "sentences", "--root", "sets", "--cheap", "--json", "--tasks", "cr", "run"};
  const Words above = {"eval", "--json", "--root", "sets", "sentences", "--tasks", "cr", "run", "--cheap"};
  const ProcessResult found = done(behind);
  for (const auto& words : {before, above}) {
    const ProcessResult same = done(words);
    EXPECT_EQ(same.out, found.out);
  }
}

TEST_F(SentenceEvaluationCli, ShowsThemInAReport) {
  write("queries.txt", "w1 w2.\n");
  write("pool.txt", "w1 w2.\nw1 w2 w2.\nw20 w9.\n");
  const ProcessResult near = done({"text", "nearest", "run", "--text", "pool.txt", "--queries", "queries.txt", "--k", "2"});
  EXPECT_LT(near.out.find("w1 w2 w2."), near.out.find("w20 w9.")) << near.out;
  done({"eval", "sentences", "run", "--root", "sets", "--tasks", "cr", "--cheap"});
  const std::string html = page_of({"run"}, "page.html");
  expect_parts(
      html,
      {"CR accuracy", "neighbour accuracy", "Nearest sentences", "w1 w2 w2. (", "epoch 2 (last.safetensors), 3 sentences of pool.txt"},
      {"searched different texts"});
  for (const char* section : {"Verdict", "Groups", "Similarities", "t-SNE plot", "Nearest neighbours"}) {
    EXPECT_THAT(html, Not(HasSubstr(std::string(section) + "</h2>")));
  }
  EXPECT_THAT(html, Not(HasSubstr("debias eval")));
  copy_run("bare");
  const ProcessResult bare = run_debias({"report", "bare", "--text", "-v"});
  expect_parts(bare.out, {"no sentence tasks; debias eval sentences bare --root DIR would add them",
                          "no nearest sentences; debias text nearest bare --text FILE --queries FILE"});
  fs::copy("run", "twin", fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  write("pool.txt", "w1 w2.\nw7 w2 w2.\nw20 w9.\n");
  done({"text", "nearest", "twin", "--text", "pool.txt", "--queries", "queries.txt"});
  EXPECT_THAT(page_of({"run", "twin"}, "page.html"), HasSubstr("searched different texts"));
}

}  // namespace debias::sentence_evaluation_cli_test

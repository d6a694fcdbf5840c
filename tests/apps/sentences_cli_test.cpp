// Sentences by the command: vocabulary, training, vectors, and what is refused.
#include "debias/data/readers/sentences.h"

#include "tests/apps/command.h"
#include "tests/apps/sentence_runs.h"

namespace debias {
namespace sentences_cli_test {

using SentencesCli = SentenceRuns;

TEST_F(SentencesCli, TrainsAndSaysHowOftenNeighboursAreFound) {
  expect_parts(trained_.out, {"test.neighbour_acc", "next_acc"});
  EXPECT_THAT(trained_.err, HasSubstr("before training: test.neighbour_acc"));
  EXPECT_EQ(file_text("run/vocabulary.txt"), file_text("vocab.txt"));
  EXPECT_EQ(times(" sentences/s, waited ", file_text("run/train.log")), 2u);
  const json record = json_in("run/evaluation/neighbours.json");
  EXPECT_EQ(record["options"]["chance"], 0.2);
}

TEST_F(SentencesCli, KeepsHowOftenTheUntrainedEncoderFindsNeighbours) {
  const std::string name = "/evaluation/neighbours-untrained.json", kept = file_text("run" + name);
  const json record = json::parse(kept);
  EXPECT_EQ(record["epoch"], 0);
  EXPECT_EQ(record["options"]["untrained"], true);
  EXPECT_THAT(trained_.err,
              HasSubstr(fmt::format("before training: test.neighbour_acc {:.4f}", record["metrics"]["test.neighbour_acc"].get<double>())));
  const ProcessResult shown = run_debias({"report", "run", "--text", "-v"});
  EXPECT_THAT(shown.out, HasSubstr("neighbour accuracy, untrained encoder")) << shown.err;
  copy_run("resumed");                                 // which has no such file
  fs::remove("resumed/checkpoints/last.safetensors");  // so that it goes on from before its end
  const ProcessResult resumed = done({"train", "small.yaml", "output=resumed", "--resume"});
  EXPECT_EQ(file_text("resumed" + name), kept);  // of the first weights, not of those that it went on from
}

TEST_F(SentencesCli, NamesBooksThatAreTooShortForABatch) {
  fs::copy("books", "mixed", fs::copy_options::recursive);
  write("mixed/short.txt", "W1 w2.\n\nW3 w4.\n");
  const std::string root = "root=mixed";
  const ProcessResult trained =
      done({"train", "small.yaml", "data.train." + root, "data.test." + root, "train.epochs=1", "output=mixed-run"});
  EXPECT_EQ(times("train: 1 of 4 books have fewer than 10 sentences, and none of their 2 is read: short.txt", trained.err), 1u);
  EXPECT_EQ(times("data.test: 1 of 4 books have fewer than 10 sentences", trained.err), 1u) << trained.err;
}

TEST_F(SentencesCli, WarnsOfBooksThatAreTrainedOnAndEvaluated) {
  EXPECT_EQ(times("data.test: '0.txt' is a book of data.train, too", trained_.err), 1u) << trained_.err;
  fs::create_directory_symlink("books", "other-name");
  const std::string out = "hold_out: 1, split: held_out, name: sentences, root: ";
  const auto train_with = [](const Words& more) {
    const ProcessResult trained =
        done(with({"train", "small.yaml", "data.train.hold_out=1", "train.epochs=1", "output=apart", "--overwrite"}, more));
    return trained.err;
  };
  const std::string test = "data.test={" + out + "books}";
  EXPECT_THAT(train_with({test}), Not(HasSubstr("is a book of")));
  EXPECT_THAT(train_with({"data.test={name: sentences, root: other-name}"}), HasSubstr("is a book of data.train, too"));
  const std::string valid = "data.valid={" + out + "other-name}";
  EXPECT_THAT(train_with({test, valid}), Not(HasSubstr("is a book of")));
  EXPECT_THAT(train_with({test, valid, "evaluate.select=valid.neighbour_acc"}),
              HasSubstr("is a book of data.valid, too, by which evaluate.select chooses the best epoch"));
}

TEST_F(SentencesCli, PlansWithoutWriting) {
  const ProcessResult plan = done({"train", "small.yaml", "--dry-run", "--json", "output=none"});
  EXPECT_EQ(json::parse(plan.out)["steps_per_epoch"], 12);
  EXPECT_EQ(json::parse(plan.out)["sentences"], kSmallBooks * kSmallSentences);
  const ProcessResult shown = run_debias({"train", "small.yaml", "--dry-run", "output=none"});
  EXPECT_THAT(shown.out, HasSubstr("# sentences          120 (12 steps an epoch, 2 epochs)\n")) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("s with fresh sentences, "));
  EXPECT_FALSE(fs::exists("none"));
}

TEST_F(SentencesCli, CountsWords) {
  const json counted = json_of(run_debias({"text", "vocabulary", "books", "--lowercase", "--size", "12", "--out", "twelve.txt", "--json"}));
  EXPECT_EQ(counted["sentences"], kSmallBooks * kSmallSentences);
  EXPECT_EQ(counted["words"], 12);
  const std::string words = file_text("twelve.txt");
  EXPECT_TRUE(words.starts_with("<unk>\n.\n")) << words;
  EXPECT_EQ(times("\n", words), 12u);
}

// Each book has a word of its own.
TEST_F(SentencesCli, CountsNoWordOfTheBooksThatARecipeSetsAside) {
  const int books = 6;
  fs::create_directories("shelf");
  for (int book = 0; book < books; ++book) {
    const std::string number = std::to_string(book);
    write("shelf/" + number + ".txt", "Only" + number + " is here.\n");
  }
  const auto count = [](const std::string& out, const Words& more) {
    done(with({"text", "vocabulary", "shelf", "--out", out}, more));
    return file_text(out);
  };
  const std::string all = count("all.txt", {});
  for (int book = 0; book < books; ++book) EXPECT_THAT(all, HasSubstr("\nOnly" + std::to_string(book) + "\n"));
  for (const int64_t seed : {0, 5}) {
    const Sentences out({.root = "shelf", .vocabulary = "all.txt", .split = BookSplit::kHeldOut, .hold_out = 2, .seed = seed});
    const Words held_out = out.files();
    ASSERT_EQ(held_out.size(), 2u);
    const std::string kept = count("kept.txt", {"--hold-out", "2", "--seed", std::to_string(seed)});
    for (int book = 0; book < books; ++book) {
      const std::string number = std::to_string(book);
      const bool is_out = std::find(held_out.begin(), held_out.end(), number + ".txt") != held_out.end();
      EXPECT_EQ(times("\nOnly" + number + "\n", kept), is_out ? 0u : 1u) << number << " with seed " << seed;
    }
  }
}

TEST_F(SentencesCli, EmbedsLines) {
  write("lines.txt", "w1 w2.\nW1 w2.\nzebra\n");
  const ProcessResult made = done({"embed", "run", "--text", "lines.txt", "--out", "v.npy"});
  EXPECT_THAT(made.err, HasSubstr("1 of 3 lines have no word that the run knows"));
  const NpyArray vectors = read_npy("v.npy");
  EXPECT_EQ(vectors.shape, (std::vector<int64_t>{3, 16}));
  const auto values = vectors.as<float>();
  double norm = 0;
  for (size_t j = 0; j < 8; ++j) norm += values[j] * values[j];
  EXPECT_NEAR(norm, 1, 1e-5);
  for (size_t j = 0; j < 16; ++j) EXPECT_EQ(values[j], values[16 + j]);  // in lower case as in training
}

TEST_F(SentencesCli, ReadsLinesInLatin1) {
  write("old.txt", "w1 caf\xe9\n");
  write("new.txt", "w1 caf\u00e9\n");
  const Words of_old = {"embed", "run", "--text", "old.txt", "--out", "old.npy", "--encoding", "latin1"};
  done(of_old);
  done({"embed", "run", "--text", "new.txt", "--out", "new.npy"});
  EXPECT_EQ(file_text("old.npy"), file_text("new.npy"));
  const ProcessResult near = run_debias({"text", "nearest", "run", "--text", "old.txt", "--queries", "old.txt", "--encoding", "latin1"});
  EXPECT_THAT(near.out, HasSubstr("w1 caf\u00e9")) << near.err;
}

}  // namespace sentences_cli_test

// Vectors of words from a file, by the command: fixed in an encoder, and for words that a run does not know.
namespace word_vectors_cli_test {

using WordVectorsCli = SentenceRuns;

TEST_F(WordVectorsCli, TakesFixedVectorsOfAFile) {
  write("glove.txt", "w1 0.5 -1\nzebra 1 1\nw2 2e-1 0\n");
  const ProcessResult made = done({"text", "vectors", "glove.txt", "--vocabulary", "vocab.txt", "--out", "fixed.npy", "--json"});
  EXPECT_EQ(json::parse(made.out)["found"], 2);
  const NpyArray table = read_npy("fixed.npy");
  EXPECT_EQ(table.shape, (std::vector<int64_t>{32, 2}));
  EXPECT_EQ(table.as<float>()[2 * 3], 0.5f);  // w1 is word 3
  EXPECT_EQ(table.as<float>()[2 * 3 + 1], -1.0f);
  const std::string encoder = "encoder={name: gru, embedding: 2, features: 4, vectors: fixed.npy}";
  done({"train", "small.yaml", encoder, "train.epochs=1", "output=fixed"});
  fs::remove("fixed.npy");  // the checkpoint has them
  write("one.txt", "w1\n");
  done({"embed", "fixed", "--text", "one.txt", "--out", "one.npy"});
}

constexpr const char* kGlove = "w1 0.5 -1\nw2 0.25 0\nw3 -0.5 0.25\nw4 1 0.75\nzebra 0.5 -1\n";

double largest_difference(const NpyArray& vectors, int64_t a, int64_t b) {
  double largest = 0;
  const auto values = vectors.as<float>();
  const auto D = static_cast<size_t>(vectors.shape[1]);
  for (size_t j = 0; j < D; ++j) {
    largest = std::max(largest, std::abs(double{values[static_cast<size_t>(a) * D + j]} - double{values[static_cast<size_t>(b) * D + j]}));
  }
  return largest;
}

// With fixed vectors the map is the identity: zebra, which has the vector of w1, makes the same of a sentence.
TEST_F(WordVectorsCli, ReadsWordsThatAFileOfVectorsHas) {
  write("glove.txt", kGlove);
  done({"text", "vectors", "glove.txt", "--vocabulary", "vocab.txt", "--out", "two.npy"});
  const std::string encoder = "encoder={name: gru, embedding: 2, features: 4, vectors: two.npy}";
  done({"train", "small.yaml", encoder, "train.epochs=1", "output=two"});
  write("zebra.txt", "w2 w1 w3\nw2 zebra w3\nlion\n");
  const ProcessResult without = done({"embed", "two", "--text", "zebra.txt", "--out", "without.npy"});
  EXPECT_GT(largest_difference(read_npy("without.npy"), 0, 1), 1e-3);
  const ProcessResult expanded = done({"embed", "two", "--text", "zebra.txt", "--expand", "glove.txt", "--out", "with.npy"});
  EXPECT_LT(largest_difference(read_npy("with.npy"), 0, 1), 1e-5);
  expect_parts(expanded.err, {"4 shared with the run's vocabulary, vectors for 1 of 2 unknown words of the text",
                              "1 of 3 lines have no word that the run knows"});
}

TEST_F(WordVectorsCli, LeavesTextsOfKnownWordsAsTheyAre) {
  write("glove.txt", kGlove);
  write("known.txt", "w1 w2.\nw7 w29.\nW5\n");
  const Words plain = {"embed", "run", "--text", "known.txt", "--out", "plain.npy"};
  done(plain);
  const ProcessResult expanded = done({"embed", "run", "--text", "known.txt", "--expand", "glove.txt", "--out", "expanded.npy"});
  EXPECT_EQ(file_text("expanded.npy"), file_text("plain.npy"));
}

TEST_F(WordVectorsCli, EvaluatesByWordsOfAFileOfVectors) {
  write("glove.txt", std::string(kGlove) + "puma 5 -5\nlion -5 5\n");
  std::string good, bad;
  for (int i = 0; i < 30; ++i) {
    good += "puma " + small_word(i) + "\n";
    bad += "lion " + small_word(i) + "\n";
  }
  good += "puma\n";
  bad += "lion\n";
  fs::create_directories("cats");
  write("cats/custrev.pos", good);
  write("cats/custrev.neg", bad);
  const Words words = {"eval", "sentences", "run", "--root", "cats", "--tasks", "cr", "--cheap", "--json"};
  const ProcessResult without = done(words);
  const json blind = json::parse(without.out)["protocols"]["sentences"];
  EXPECT_LT(blind["metrics"]["cr_acc"], 0.6);
  EXPECT_THAT(without.err, HasSubstr("2 of 62 texts of 'cr' have no word that the run knows; their vectors carry no information"));
  EXPECT_EQ(blind["options"]["unknown"]["cr"], 2);
  EXPECT_FALSE(blind["options"].contains("expand"));
  const ProcessResult expanded = done(with(words, {"--expand", "glove.txt"}));
  expect_parts(expanded.err, {"vectors for 2 of 2 unknown words of the text"}, {"no word that the run knows"});
  const json record = json::parse(expanded.out)["protocols"]["sentences"];
  EXPECT_GT(record["metrics"]["cr_acc"], 0.9);
  EXPECT_EQ(record["options"]["expand"], "glove.txt");
  EXPECT_TRUE(fs::exists("run/evaluation/sentences-cheap.json"));  // the one is not lost for the other
  EXPECT_TRUE(fs::exists("run/evaluation/sentences-expanded-cheap.json"));
}

}  // namespace word_vectors_cli_test

// Sentences by the command: evaluation by tasks, and the report.
namespace sentence_evaluation_cli_test {

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

}  // namespace sentence_evaluation_cli_test
}  // namespace debias

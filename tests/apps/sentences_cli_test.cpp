// Sentences by the command: vocabulary, training, vectors, and what is refused.
#include "debias/data/readers/sentences.h"
#include "tests/apps/command.h"
#include "tests/apps/sentence_runs.h"

namespace debias::sentences_cli_test {

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

}  // namespace debias::sentences_cli_test

// Sentences by the command: vocabulary, training, vectors, and what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "debias/core/npy.h"
#include "debias/data/readers/sentences.h"
#include "tests/apps/sentence_runs.h"

namespace debias {
namespace sentences_cli_test {

using nlohmann::json;
using testing::HasSubstr;

class SentencesCli : public SentenceRuns {
 protected:
  // The corpus `library` is a folder of one link, `all`, to the folder `annex`, in which the books lie one folder further down.
  static void link_books(const std::string& library, const std::string& annex) {
    std::filesystem::create_directories(path(library));
    std::filesystem::create_directories(path(annex));
    std::filesystem::copy(path("books"), path(annex + "/deep"), std::filesystem::copy_options::recursive);
    std::filesystem::create_directory_symlink(path(annex), path(library + "/all"));
  }
};

TEST_F(SentencesCli, TrainsAndSaysHowOftenNeighboursAreFound) {
  EXPECT_THAT(trained_.out, HasSubstr("test.neighbour_acc"));
  EXPECT_THAT(trained_.out, HasSubstr("next_acc"));
  EXPECT_THAT(trained_.err, HasSubstr("before training: test.neighbour_acc"));
  EXPECT_EQ(file_text(path("run/vocabulary.txt")), file_text(path("vocab.txt")));
  EXPECT_EQ(times(" sentences/s, waited ", file_text(path("run/train.log"))), 2u);
  const json record = json::parse(file_text(path("run/evaluation/neighbours.json")));
  EXPECT_EQ(record["options"]["chance"], 0.2);
}

TEST_F(SentencesCli, KeepsHowOftenTheUntrainedEncoderFindsNeighbours) {
  const std::string name = "/evaluation/neighbours-untrained.json", kept = file_text(path("run") + name);
  const json record = json::parse(kept);
  EXPECT_EQ(record["epoch"], 0);
  EXPECT_EQ(record["options"]["untrained"], true);
  EXPECT_THAT(trained_.err,
              HasSubstr(fmt::format("before training: test.neighbour_acc {:.4f}", record["metrics"]["test.neighbour_acc"].get<double>())));
  const ProcessResult shown = run_debias({"report", path("run"), "--text"});
  EXPECT_THAT(shown.out, HasSubstr("neighbour accuracy, untrained encoder")) << shown.err;
  copy_run("resumed");                                                    // which has no such file
  std::filesystem::remove(path("resumed/checkpoints/last.safetensors"));  // so that it goes on from before its end
  const ProcessResult resumed = run_debias({"train", path("small.yaml"), "output=" + path("resumed"), "--resume"});
  ASSERT_EQ(resumed.exit, 0) << resumed.err;
  EXPECT_EQ(file_text(path("resumed") + name), kept);  // of the first weights, not of those that it went on from
}

TEST_F(SentencesCli, NamesBooksThatAreTooShortForABatch) {
  std::filesystem::copy(path("books"), path("mixed"), std::filesystem::copy_options::recursive);
  write(path("mixed/short.txt"), "W1 w2.\n\nW3 w4.\n");
  const std::string root = "root=" + path("mixed");
  const ProcessResult trained =
      run_debias({"train", path("small.yaml"), "data.train." + root, "data.test." + root, "train.epochs=1", "output=" + path("mixed-run")});
  ASSERT_EQ(trained.exit, 0) << trained.err;
  EXPECT_EQ(times("train: 1 of 4 books have fewer than 10 sentences, and none of their 2 is read: short.txt", trained.err), 1u);
  EXPECT_EQ(times("data.test: 1 of 4 books have fewer than 10 sentences", trained.err), 1u) << trained.err;
}

TEST_F(SentencesCli, WarnsOfBooksThatAreTrainedOnAndEvaluated) {
  EXPECT_EQ(times("data.test: '0.txt' is a book of data.train, too", trained_.err), 1u) << trained_.err;
  std::filesystem::create_directory_symlink(path("books"), path("other-name"));
  const std::string out = "hold_out: 1, split: held_out, name: sentences, root: ";
  const auto train_with = [](const std::vector<std::string>& more) {
    const ProcessResult trained = run_debias(
        with({"train", path("small.yaml"), "data.train.hold_out=1", "train.epochs=1", "output=" + path("apart"), "--overwrite"}, more));
    EXPECT_EQ(trained.exit, 0) << trained.err;
    return trained.err;
  };
  const std::string test = "data.test={" + out + path("books") + "}";
  EXPECT_THAT(train_with({test}), testing::Not(HasSubstr("is a book of")));
  EXPECT_THAT(train_with({"data.test={name: sentences, root: " + path("other-name") + "}"}), HasSubstr("is a book of data.train, too"));
  const std::string valid = "data.valid={" + out + path("other-name") + "}";
  EXPECT_THAT(train_with({test, valid}), testing::Not(HasSubstr("is a book of")));
  EXPECT_THAT(train_with({test, valid, "evaluate.select=valid.neighbour_acc"}),
              HasSubstr("is a book of data.valid, too, by which evaluate.select chooses the best epoch"));
}

TEST_F(SentencesCli, PlansWithoutWriting) {
  const ProcessResult plan = run_debias({"train", path("small.yaml"), "--dry-run", "--json", "output=" + path("none")});
  ASSERT_EQ(plan.exit, 0) << plan.err;
  EXPECT_EQ(json::parse(plan.out)["steps_per_epoch"], 12);
  EXPECT_EQ(json::parse(plan.out)["sentences"], kSmallBooks * kSmallSentences);
  const ProcessResult shown = run_debias({"train", path("small.yaml"), "--dry-run", "output=" + path("none")});
  EXPECT_THAT(shown.out, HasSubstr("# sentences          120 (12 steps an epoch, 2 epochs)\n")) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("s with fresh sentences, "));
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

TEST_F(SentencesCli, CountsWords) {
  const ProcessResult made =
      run_debias({"text", "vocabulary", path("books"), "--lowercase", "--size", "12", "--out", path("twelve.txt"), "--json"});
  ASSERT_EQ(made.exit, 0) << made.err;
  const json counted = json::parse(made.out);
  EXPECT_EQ(counted["sentences"], kSmallBooks * kSmallSentences);
  EXPECT_EQ(counted["words"], 12);
  const std::string words = file_text(path("twelve.txt"));
  EXPECT_TRUE(words.starts_with("<unk>\n.\n")) << words;
  EXPECT_EQ(times("\n", words), 12u);
}

// Each book has a word of its own.
TEST_F(SentencesCli, CountsNoWordOfTheBooksThatARecipeSetsAside) {
  const int books = 6;
  std::filesystem::create_directories(path("shelf"));
  for (int book = 0; book < books; ++book) {
    const std::string number = std::to_string(book);
    write(path("shelf/" + number + ".txt"), "Only" + number + " is here.\n");
  }
  const auto count = [](const std::string& out, const std::vector<std::string>& more) {
    const ProcessResult made = run_debias(with({"text", "vocabulary", path("shelf"), "--out", path(out)}, more));
    EXPECT_EQ(made.exit, 0) << made.err;
    return file_text(path(out));
  };
  const std::string all = count("all.txt", {});
  for (int book = 0; book < books; ++book) EXPECT_THAT(all, HasSubstr("\nOnly" + std::to_string(book) + "\n"));
  for (const int64_t seed : {0, 5}) {
    const Sentences out(
        SentencesOptions().root(path("shelf")).vocabulary(path("all.txt")).split(BookSplit::kHeldOut).hold_out(2).seed(seed));
    const std::vector<std::string> held_out = out.files();
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
  write(path("lines.txt"), "w1 w2.\nW1 w2.\nzebra\n");
  const ProcessResult made = run_debias({"embed", path("run"), "--text", path("lines.txt"), "--out", path("v.npy")});
  ASSERT_EQ(made.exit, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("1 of 3 lines have no word that the run knows"));
  const NpyArray vectors = read_npy(path("v.npy"));
  EXPECT_EQ(vectors.shape, (std::vector<int64_t>{3, 16}));
  const auto values = vectors.as<float>();
  double norm = 0;
  for (size_t j = 0; j < 8; ++j) norm += values[j] * values[j];
  EXPECT_NEAR(norm, 1, 1e-5);
  for (size_t j = 0; j < 16; ++j) EXPECT_EQ(values[j], values[16 + j]);  // in lower case as in training
}

TEST_F(SentencesCli, ReadsLinesInLatin1) {
  write(path("old.txt"), "w1 caf\xe9\n");
  write(path("new.txt"), "w1 caf\u00e9\n");
  const std::vector<std::string> of_old = {"embed", path("run"),     "--text",     path("old.txt"),
                                           "--out", path("old.npy"), "--encoding", "latin1"};
  ASSERT_EQ(run_debias(of_old).exit, 0);
  ASSERT_EQ(run_debias({"embed", path("run"), "--text", path("new.txt"), "--out", path("new.npy")}).exit, 0);
  EXPECT_EQ(file_text(path("old.npy")), file_text(path("new.npy")));
  const ProcessResult near =
      run_debias({"text", "nearest", path("run"), "--text", path("old.txt"), "--queries", path("old.txt"), "--encoding", "latin1"});
  EXPECT_THAT(near.out, HasSubstr("w1 caf\u00e9")) << near.err;
}

// Its vocabulary.txt would be a book the next time.
TEST_F(SentencesCli, KeepsNoRunWhereALinkOfTheCorpusLeads) {
  link_books("shelves", "attic");
  for (const char* split : {"train", "test"}) {
    const ProcessResult result = run_debias({"train", path("small.yaml"), "train.epochs=1",
                                             fmt::format("data.{}.root={}", split, path("shelves")), "output=" + path("attic/run")});
    EXPECT_EQ(result.exit, 2) << split << result.err;
    EXPECT_THAT(result.err, HasSubstr("is inside the data folder '" + path("shelves/all") + "'")) << split;
    EXPECT_FALSE(std::filesystem::exists(path("attic/run"))) << split;
  }
}

struct Refusal {
  std::vector<std::string> words;
  int exit;
  std::string says;
};

TEST_F(SentencesCli, RefusesInOneLine) {
  write(path("blank.txt"), "w1\n\nw2\n");
  write(path("binary.txt"), std::string("w1\nw\0x\n", 7));
  write(path("empty.txt"), "");
  write(path("latin.txt"), "w1\ncaf\xe9\n");
  write(path("noununk.txt"), "w1\nw2\n");
  std::string words = file_text(path("vocab.txt"));  // of the same size
  words.replace(words.find("w4\n"), 2, "v4");
  write(path("other.txt"), words);
  std::filesystem::copy(path("run"), path("cut"),
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  write(path("cut/vocabulary.txt"), "<unk>\nw1\n");
  std::filesystem::create_directories(path("bad"));
  write(path("bad/TREC.train"), "HUM:ind Who ?\nno label\n");
  write(path("bad/TREC.test"), "HUM:ind Who ?\n");
  write(path("fine.txt"), "w1 w2.\n");
  write(path("foreign.txt"), "zebra 1 2\n");
  write(path("few.txt"), "w1 1 2 3\nw2 4 5 7\nzebra 1 2 3\n");
  write(path("flat.txt"), "w1 1 2\nw2 2 4\nw3 -1 -2\n");
  write(path("uneven.txt"), "w1 1 2\nzebra 1 2 3\n");
  write(path("infinite.txt"), "w1 1 2\nw2 1 inf\n");
  link_books("library", "annex");
  const std::string root = path("sets");
  const auto expand = [](const std::string& vectors) {
    return std::vector<std::string>{"embed", path("run"), "--text", path("fine.txt"), "--expand", path(vectors), "--out", path("x.npy")};
  };
  const auto embed = [](const std::string& text) {
    return std::vector<std::string>{"embed", path("run"), "--text", path(text), "--out", path("x.npy")};
  };
  const auto beside_text = [&](const std::vector<std::string>& more) { return with(embed("fine.txt"), more); };
  const std::vector<Refusal> refusals = {
      {expand("foreign.txt"), 3, "foreign.txt: it has not one word of the run's vocabulary"},
      {expand("few.txt"), 3, "few.txt: 2 of its words are in the run's vocabulary, and a map from vectors of 3 numbers takes 4"},
      {expand("flat.txt"), 3, "flat.txt: vectors of the 3 words that are in the run's vocabulary vary in 1 of 2 directions"},
      {expand("uneven.txt"), 3, "uneven.txt: line 2: 3 numbers behind a word, 2 on the lines before"},
      {expand("infinite.txt"), 3, "infinite.txt: line 2: \"inf\" is not finite"},
      {expand("nowhere.txt"), 3, "nowhere.txt"},
      {{"embed", path("run"), "--expand", path("few.txt"), "--out", path("x.npy")}, 2, "--expand needs --text FILE"},
      {{"eval", "sentences", path("run"), "--root", root, "--tasks", "cr", "--expand", path("few.txt")}, 3, "few.txt: 2 of its words"},
      {beside_text({"--layer", "encoder"}), 2, "--text does not take --layer; it takes --out,"},
      {beside_text({"--device", "cpu"}), 2, "--text does not take --device"},
      {beside_text({"--raw"}), 2, "--text does not take --raw"},
      {beside_text({"--accept-data-change"}), 2, "--text does not take --accept-data-change"},
      {beside_text({"--bias-features"}), 2, "--text does not take --bias-features"},
      {beside_text({"--data", "glyphs"}), 2, "--text does not take --data"},
      {beside_text({"split=train"}), 2, "--text does not take overrides"},
      {{"embed", path("run"), "--text", path("fine.txt"), "--out", path("x.csv")}, 2, "x.csv': vectors of a text are written as .npy"},
      {embed("blank.txt"), 3, "blank.txt: line 2: no word"},
      {embed("binary.txt"), 3, "binary.txt: line 2: a NUL byte"},
      {embed("empty.txt"), 3, "empty.txt: the file is empty"},
      {embed("latin.txt"), 3, "latin.txt: line 2: byte 4 (0xe9) is not UTF-8"},
      {{"embed", path("cut"), "--text", path("lines.txt"), "--out", path("x.npy")}, 3, "2 words, the tables of"},
      {{"embed", path("run"), "--out", path("x.npy")}, 2, "it reads sentences; this is for images"},
      {{"eval", "knn", path("run")},
       2,
       "eval: protocol 'knn' is for images, and the run is on sentences; for these there are: neighbours, sentences"},
      {{"eval", "neighbours", path("run"), "--labels", path("few.txt")}, 2, "eval: --labels gives bias labels to images"},
      {{"export", path("run")}, 2, "it reads sentences; this is for images"},
      {{"eval", "sentences", path("run")}, 2, "no root is given; add --root DIR"},
      {{"eval", "sentences", path("run"), "--root", path("books")}, 3, "no sentence set in"},
      {{"eval", "sentences", path("run"), "--root", root, "--tasks", "cr,trek"}, 2, "unknown task 'trek'; did you mean 'trec'"},
      {{"eval", "sentences", path("run"), "--root", path("bad"), "--tasks", "trec"}, 3, "TREC.train: line 2: expected COARSE:fine"},
      {{"train", path("small.yaml"), "output=" + path("x"), "data.train.vocabulary=" + path("noununk.txt")},
       3,
       "line 1: the first word of a vocabulary is <unk>"},
      {{"train", path("small.yaml"), "output=" + path("x"), "train.batch_size=2"}, 2, "batch_size 2"},
      {{"train", path("small.yaml"), "output=" + path("x"), "train.batch_size=41"},
       2,
       "data.test: no book has the 41 sentences of a batch"},
      {{"train", path("small.yaml"), "output=" + path("x"), "data.test.vocabulary=" + path("other.txt")},
       2,
       "other.txt' has other words than that of data.train"},
      {{"train", path("small.yaml"), "output=" + path("x"), "evaluate.protocols=[knn]"}, 2, "is for images, and the run is on sentences"},
      {{"train", path("small.yaml"), "output=" + path("x"), "data.test={name: glyphs}"}, 2, "its samples are not sentences"},
      {{"text", "vocabulary", path("empty.txt"), "--out", path("x.txt")}, 3, "empty.txt: the file is empty"},
      {{"text", "vectors", path("foreign.txt"), "--vocabulary", path("vocab.txt"), "--out", path("x.npy")},
       3,
       "foreign.txt: it has no word of the vocabulary"},
      {{"text", "vocabulary", path("books"), "--out", path("books/0.txt")}, 2, "0.txt"},
      {{"text", "vocabulary", path("books/"), "--out", path("books/words.txt")}, 2, "is inside the data folder"},
      {{"text", "vocabulary", path("fine.txt"), path("library"), "--out", path("annex/words.txt")},
       2,
       "data folder '" + path("library/all")},
      {{"text", "vocabulary", path("books"), "--hold-out", "3", "--out", path("x.txt")}, 2, "hold_out: 3 of 3 books"},
      {{"text", "vocabulary", path("books"), path("fine.txt"), "--hold-out", "1", "--out", path("x.txt")}, 2, "--hold-out 1 of 2 corpora"},
      {{"text", "vocabulary", path("books"), "--seed", "5", "--out", path("x.txt")}, 2, "--seed requires --hold-out"},
      {{"train", path("small.yaml"), "output=" + path("x"), "data.train.cache=" + path("books/numbers")},
       2,
       "books'; nothing is written there: choose another cache"},
      {{"train", path("small.yaml"), "output=" + path("x"), "data.train.root=" + path("library"),
        "data.train.cache=" + path("annex/numbers")},
       2,
       "library/all'; nothing is written there: choose another cache"},
  };
  for (const Refusal& refusal : refusals) {
    const ProcessResult result = run_debias(refusal.words);
    std::string line;
    for (const auto& word : refusal.words) line += word + " ";
    EXPECT_EQ(result.exit, refusal.exit) << line << "\n" << result.err;
    EXPECT_THAT(result.err, HasSubstr(refusal.says)) << line;
    EXPECT_EQ(times("debias: ", result.err), 1u) << line << "\n" << result.err;
    EXPECT_EQ(times("\n", result.err) - times("warning: ", result.err), 1u) << line << "\n" << result.err;
  }
  EXPECT_FALSE(std::filesystem::exists(path("x")));
  EXPECT_FALSE(std::filesystem::exists(path("x.npy")));
  EXPECT_FALSE(std::filesystem::exists(path("books/words.txt")));
  EXPECT_FALSE(std::filesystem::exists(path("annex/words.txt")));
  EXPECT_FALSE(std::filesystem::exists(path("x.csv.npy")));
}

}  // namespace sentences_cli_test
}  // namespace debias

// Vectors of words from a file, by the command: fixed in an encoder, and for words that a run does not know.
#include "tests/apps/command.h"
#include "tests/apps/sentence_runs.h"

namespace debias::word_vectors_cli_test {

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

}  // namespace debias::word_vectors_cli_test

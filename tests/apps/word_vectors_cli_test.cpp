// Vectors of words from a file, by the command: fixed in an encoder, and for words that a run does not know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "debias/core/npy.h"
#include "tests/apps/sentence_runs.h"

namespace debias {
namespace word_vectors_cli_test {

using nlohmann::json;
using testing::HasSubstr;

class WordVectorsCli : public SentenceRuns {};

TEST_F(WordVectorsCli, TakesFixedVectorsOfAFile) {
  write(path("glove.txt"), "w1 0.5 -1\nzebra 1 1\nw2 2e-1 0\n");
  const ProcessResult made =
      run_debias({"text", "vectors", path("glove.txt"), "--vocabulary", path("vocab.txt"), "--out", path("fixed.npy"), "--json"});
  ASSERT_EQ(made.exit, 0) << made.err;
  EXPECT_EQ(json::parse(made.out)["found"], 2);
  const NpyArray table = read_npy(path("fixed.npy"));
  EXPECT_EQ(table.shape, (std::vector<int64_t>{32, 2}));
  EXPECT_EQ(table.as<float>()[2 * 3], 0.5f);  // w1 is word 3
  EXPECT_EQ(table.as<float>()[2 * 3 + 1], -1.0f);
  const std::string encoder = "encoder={name: gru, embedding: 2, features: 4, vectors: " + path("fixed.npy") + "}";
  const ProcessResult trained = run_debias({"train", path("small.yaml"), encoder, "train.epochs=1", "output=" + path("fixed")});
  ASSERT_EQ(trained.exit, 0) << trained.err;
  std::filesystem::remove(path("fixed.npy"));  // the checkpoint has them
  write(path("one.txt"), "w1\n");
  EXPECT_EQ(run_debias({"embed", path("fixed"), "--text", path("one.txt"), "--out", path("one.npy")}).exit, 0);
  write(path("glove.txt"), "w1 0.5 -1\nw2 x 0\n");
  const ProcessResult bad = run_debias({"text", "vectors", path("glove.txt"), "--vocabulary", path("vocab.txt"), "--out", path("y.npy")});
  EXPECT_EQ(bad.exit, 3);
  EXPECT_THAT(bad.err, HasSubstr("glove.txt: line 2: \"x\" is not a number"));
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
  write(path("glove.txt"), kGlove);
  ASSERT_EQ(run_debias({"text", "vectors", path("glove.txt"), "--vocabulary", path("vocab.txt"), "--out", path("two.npy")}).exit, 0);
  const std::string encoder = "encoder={name: gru, embedding: 2, features: 4, vectors: " + path("two.npy") + "}";
  const ProcessResult trained = run_debias({"train", path("small.yaml"), encoder, "train.epochs=1", "output=" + path("two")});
  ASSERT_EQ(trained.exit, 0) << trained.err;
  write(path("zebra.txt"), "w2 w1 w3\nw2 zebra w3\nlion\n");
  const ProcessResult without = run_debias({"embed", path("two"), "--text", path("zebra.txt"), "--out", path("without.npy")});
  ASSERT_EQ(without.exit, 0) << without.err;
  EXPECT_GT(largest_difference(read_npy(path("without.npy")), 0, 1), 1e-3);
  const ProcessResult expanded =
      run_debias({"embed", path("two"), "--text", path("zebra.txt"), "--expand", path("glove.txt"), "--out", path("with.npy")});
  ASSERT_EQ(expanded.exit, 0) << expanded.err;
  EXPECT_LT(largest_difference(read_npy(path("with.npy")), 0, 1), 1e-5);
  EXPECT_THAT(expanded.err, HasSubstr("4 shared with the run's vocabulary, vectors for 1 of 2 unknown words of the text"));
  EXPECT_THAT(expanded.err, HasSubstr("1 of 3 lines have no word that the run knows"));
}

TEST_F(WordVectorsCli, LeavesTextsOfKnownWordsAsTheyAre) {
  write(path("glove.txt"), kGlove);
  write(path("known.txt"), "w1 w2.\nw7 w29.\nW5\n");
  const std::vector<std::string> plain = {"embed", path("run"), "--text", path("known.txt"), "--out", path("plain.npy")};
  ASSERT_EQ(run_debias(plain).exit, 0);
  const ProcessResult expanded =
      run_debias({"embed", path("run"), "--text", path("known.txt"), "--expand", path("glove.txt"), "--out", path("expanded.npy")});
  ASSERT_EQ(expanded.exit, 0) << expanded.err;
  EXPECT_EQ(file_text(path("expanded.npy")), file_text(path("plain.npy")));
}

TEST_F(WordVectorsCli, EvaluatesByWordsOfAFileOfVectors) {
  write(path("glove.txt"), std::string(kGlove) + "puma 5 -5\nlion -5 5\n");
  std::string good, bad;
  for (int i = 0; i < 30; ++i) {
    good += "puma " + small_word(i) + "\n";
    bad += "lion " + small_word(i) + "\n";
  }
  good += "puma\n";
  bad += "lion\n";
  std::filesystem::create_directories(path("cats"));
  write(path("cats/custrev.pos"), good);
  write(path("cats/custrev.neg"), bad);
  const std::vector<std::string> words = {"eval", "sentences", path("run"), "--root", path("cats"), "--tasks", "cr", "--cheap", "--json"};
  const ProcessResult without = run_debias(words);
  ASSERT_EQ(without.exit, 0) << without.err;
  const json blind = json::parse(without.out)["protocols"]["sentences"];
  EXPECT_LT(blind["metrics"]["cr_acc"], 0.6);
  EXPECT_THAT(without.err, HasSubstr("2 of 62 texts of 'cr' have no word that the run knows; their vectors carry no information"));
  EXPECT_EQ(blind["options"]["unknown"]["cr"], 2);
  EXPECT_FALSE(blind["options"].contains("expand"));
  const ProcessResult expanded = run_debias(with(words, {"--expand", path("glove.txt")}));
  ASSERT_EQ(expanded.exit, 0) << expanded.err;
  EXPECT_THAT(expanded.err, HasSubstr("vectors for 2 of 2 unknown words of the text"));
  EXPECT_THAT(expanded.err, testing::Not(HasSubstr("no word that the run knows")));
  const json record = json::parse(expanded.out)["protocols"]["sentences"];
  EXPECT_GT(record["metrics"]["cr_acc"], 0.9);
  EXPECT_EQ(record["options"]["expand"], path("glove.txt"));
  EXPECT_TRUE(std::filesystem::exists(path("run/evaluation/sentences-cheap.json")));  // the one is not lost for the other
  EXPECT_TRUE(std::filesystem::exists(path("run/evaluation/sentences-expanded-cheap.json")));
}

}  // namespace word_vectors_cli_test
}  // namespace debias

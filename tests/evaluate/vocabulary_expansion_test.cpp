#include "debias/evaluate/vocabulary_expansion.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/encoders/sentence_encoders.h"
#include "debias/encoders/state.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace vocabulary_expansion_test {

using testing::ElementsAre;
using testing::HasSubstr;

at::Tensor drawn(int64_t rows, int64_t columns, uint64_t seed) {
  at::Tensor values = at::empty({rows, columns}, at::kDouble);
  Random random({.seed = seed});
  double* out = values.mutable_data_ptr<double>();
  for (int64_t i = 0; i < values.numel(); ++i) out[i] = random.uniform(-1, 1);
  return values;
}

double largest(const at::Tensor& difference) { return difference.abs().max().item<double>(); }

TEST(LinearMap, IsFoundExactlyWhereThereIsOne) {
  for (const int64_t S : {12, 64, 4096, 4097, 9000}) {  // rows are taken 4096 at a time
    const at::Tensor from = drawn(S, 4, 1), weight = drawn(4, 3, 2), intercept = drawn(1, 3, 3).squeeze(0);
    const LinearMap map = fit_linear_map(from, from.mm(weight) + intercept);
    EXPECT_EQ(map.rank, 4);
    EXPECT_LT(largest(map.weight - weight), 1e-10) << S;
    EXPECT_LT(largest(map.intercept - intercept), 1e-10) << S;
    const at::Tensor further = drawn(7, 4, 4);
    EXPECT_LT(largest(map(further) - (further.mm(weight) + intercept)), 1e-10) << S;
  }
}

// Residuals of least squares are orthogonal to every column and to the constant.
TEST(LinearMap, IsTheBestWhereThereIsNone) {
  const at::Tensor from = drawn(50, 4, 1), to = drawn(50, 3, 2);
  const at::Tensor residual = to - fit_linear_map(from, to)(from);
  EXPECT_LT(largest(from.t().mm(residual)), 1e-11);
  EXPECT_LT(largest(residual.sum(0)), 1e-11);
  EXPECT_GT(largest(residual), 0.1);
}

TEST(LinearMap, SaysInHowManyDirectionsItsInputVaries) {
  const auto rank = [](const at::Tensor& from) { return fit_linear_map(from, drawn(from.size(0), 2, 2)).rank; };
  const at::Tensor combined = drawn(50, 4, 1), fixed = drawn(50, 4, 1), shifted = drawn(50, 4, 1);
  combined.select(1, 3).copy_(combined.select(1, 0) - 2 * combined.select(1, 2));
  fixed.select(1, 2).fill_(0.3);
  shifted.select(1, 3).copy_(2 * shifted.select(1, 0) + 1);
  EXPECT_EQ(rank(combined), 3);
  EXPECT_EQ(rank(fixed), 3);
  EXPECT_EQ(rank(shifted), 3);
  EXPECT_EQ(rank(drawn(4, 4, 1)), 3);
  EXPECT_EQ(rank(drawn(50, 4, 1)), 4);
}

const std::vector<std::string> kWords = {"<unk>", "a", "b", "c", "d", "e", "f", "g"};
constexpr int64_t kNumbers = 4;

std::shared_ptr<Encoder> encoder_of(const std::string& name, int64_t words, uint64_t seed) {
  if (name == "gru") return make_gru(GruOptions{.embedding = kNumbers, .features = 6}, words, seed);
  return make_bag_of_words(BagOfWordsOptions{.features = kNumbers}, words, seed);
}

std::shared_ptr<Encoder> pair_of(const std::string& name, int64_t words) {
  return sentence_pair(encoder_of(name, words, 1), encoder_of(name, words, 2));
}

at::Tensor table_of(const Encoder& pair, const std::string& name) {
  for (const auto& [key, tensor] : named_state(pair)) {
    if (key == name) return tensor;
  }
  return {};
}

// `large` knows one word more than `small`, and is the same otherwise; the rows of g are those of f under a linear map with an intercept.
void make_alike(const Encoder& small, const Encoder& large) {
  const at::NoGradGuard no_grad;
  const at::Tensor f = table_of(large, "f.embedding");
  table_of(large, "g.embedding").copy_(f * 3 + f.roll(1, 1) * 0.5 - 0.25);
  for (const auto& [name, tensor] : named_state(small)) {
    const at::Tensor other = table_of(large, name);
    tensor.copy_(name.ends_with(".embedding") ? other.slice(0, 0, tensor.size(0)) : other);
  }
}

class VocabularyExpansion : public testing::Test {
 protected:
  std::string file(const std::string& text) const {
    std::ofstream(folder_ / "v.txt", std::ios::binary) << text;
    return folder_ / "v.txt";
  }
  // A line for each word, its numbers a row of the table.
  static std::string lines(const std::vector<std::string>& words, const at::Tensor& rows) {
    std::string text;
    for (size_t i = 0; i < words.size(); ++i) {
      text += words[i];
      for (int64_t j = 0; j < rows.size(1); ++j) text += fmt::format(" {:.17g}", rows[static_cast<int64_t>(i)][j].item<double>());
      text += "\n";
    }
    return text;
  }
  std::string refused(const std::string& text) const {
    const auto pair = pair_of("bag_of_words", std::ssize(kWords));
    const std::string message = data_error_of([&] { expand_vocabulary(*pair, Vocabulary(kWords), file(text), {"zebra"}); });
    EXPECT_EQ(table_of(*pair, "f.embedding").size(0), std::ssize(kWords));
    return message;
  }

  TemporaryFolder folder_;
};

TEST_F(VocabularyExpansion, MakesAWordAsIfTheVocabularyHadIt) {
  const int64_t V = std::ssize(kWords);
  for (const std::string name : {"bag_of_words", "gru"}) {
    const auto small = pair_of(name, V), large = pair_of(name, V + 1);
    make_alike(*small, *large);
    std::vector<std::string> words = kWords;
    words.emplace_back("zebra");
    const at::Tensor table = table_of(*large, "f.embedding").detach();
    const at::Tensor ids = at::tensor(std::vector<int64_t>{1, 2, V, V, 3, -1}, at::kLong).view({2, 3});
    const at::Tensor known = at::tensor({1, 2, 0, 4, 3, -1}, at::kLong).view({2, 3});
    const at::Tensor before = small->forward(known).detach();
    EXPECT_THROW(small->forward(ids), Error);
    const Expansion expansion = expand_vocabulary(*small, Vocabulary(kWords), file(lines(words, table)), {"lion", "zebra"});
    EXPECT_EQ(expansion.shared, V - 1);  // without <unk>, of which the file has a vector
    EXPECT_THAT(expansion.words, ElementsAre("zebra"));
    EXPECT_LT(largest(small->forward(ids) - large->forward(ids)), 1e-5) << name;
    EXPECT_TRUE(small->forward(known).equal(before)) << name;
  }
}

TEST_F(VocabularyExpansion, NumbersWordsBehindTheVocabulary) {
  const auto pair = pair_of("bag_of_words", std::ssize(kWords));
  std::vector<std::string> words = kWords;
  words.insert(words.end(), {"zebra", "new_york", "lion", "unasked"});
  const at::Tensor rows = drawn(std::ssize(words), 2, 5);
  const Expansion expansion =
      expand_vocabulary(*pair, Vocabulary(kWords), file(lines(words, rows)), {"zebra", "new_york", "lion", "tiger"});
  EXPECT_THAT(expansion.words, ElementsAre("lion", "zebra"));
  const at::Tensor table = table_of(*pair, "g.embedding").detach();
  ASSERT_EQ(table.sizes(), (std::vector<int64_t>{std::ssize(kWords) + 2, kNumbers}));
  const at::Tensor single = rows.to(at::kFloat);
  const LinearMap map = fit_linear_map(single.slice(0, 1, std::ssize(kWords)), table.slice(0, 1, std::ssize(kWords)));
  EXPECT_LT(largest(table[std::ssize(kWords) + 1] - map(single.slice(0, 8, 9))[0]), 1e-6);  // zebra
  EXPECT_LT(largest(table[std::ssize(kWords)] - map(single.slice(0, 10, 11))[0]), 1e-6);    // lion
}

TEST_F(VocabularyExpansion, TakesTheLastOfAWordThatStandsTwice) {
  const auto once = pair_of("bag_of_words", std::ssize(kWords)), twice = pair_of("bag_of_words", std::ssize(kWords));
  std::vector<std::string> words = kWords;
  words.emplace_back("zebra");
  const std::string text = lines(words, drawn(std::ssize(words), 2, 5));
  expand_vocabulary(*once, Vocabulary(kWords), file(text), {"zebra"});
  expand_vocabulary(*twice, Vocabulary(kWords), file("zebra 9 9\na 7 8\n" + text), {"zebra"});
  EXPECT_TRUE(table_of(*once, "f.embedding").equal(table_of(*twice, "f.embedding")));
}

TEST_F(VocabularyExpansion, RefusesFilesThatSayTooLittle) {
  const at::Tensor rows = drawn(std::ssize(kWords), 7, 5);
  EXPECT_THAT(refused("zebra 1 2\nlion 3 4\n"), HasSubstr("v.txt: it has not one word of the run's vocabulary"));
  EXPECT_THAT(refused("<unk> 1 2\nA 3 4\n"), HasSubstr("v.txt: it has not one word of the run's vocabulary"));
  EXPECT_THAT(refused(lines(kWords, rows)),
              HasSubstr("v.txt: 7 of its words are in the run's vocabulary, and a map from vectors of 7 numbers takes 8"));
  EXPECT_THAT(refused("a 1 2\nb 2 4\nc 3 6\nd -1 -2\nzebra 1 1\n"),
              HasSubstr("v.txt: vectors of the 4 words that are in the run's vocabulary vary in 1 of 2 directions"));
  EXPECT_THAT(refused("a 1 2\nb 2 x\nc 3 6\n"), HasSubstr("v.txt: line 2: \"x\" is not a number"));
  EXPECT_THAT(refused("a 0 0\nb 1e-30 0\nc 0 1e-30\nd 2e-30 1e-30\nzebra 3e38 1\n"), HasSubstr("v.txt: a mapped vector is not finite"));
}

}  // namespace vocabulary_expansion_test
}  // namespace debias

#include "debias/text/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace word_vectors_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

bool any_word(std::string_view) { return true; }

class WordVectors : public testing::Test {
 protected:
  std::string file(const std::string& text) const {
    std::ofstream(folder_ / "v.txt", std::ios::binary) << text;
    return folder_ / "v.txt";
  }
  std::vector<std::pair<std::string, std::vector<float>>> read(const std::string& text, const WantsWord& is_wanted = any_word) {
    std::vector<std::pair<std::string, std::vector<float>>> found;
    dimensions_ = for_each_word_vector(
        file(text), is_wanted, [&](std::string_view word, const std::vector<float>& numbers) { found.emplace_back(word, numbers); });
    return found;
  }
  std::string refused(const std::string& text, const WantsWord& is_wanted = any_word) {
    return data_error_of([&] { read(text, is_wanted); });
  }

  TemporaryFolder folder_;
  size_t dimensions_ = 0;
};

TEST_F(WordVectors, AreAWordAndItsNumbers) {
  EXPECT_THAT(read("the 0.5 -1e2\n, 1 +2.25\n"), ElementsAre(Pair("the", ElementsAre(0.5f, -100.f)), Pair(",", ElementsAre(1.f, 2.25f))));
  EXPECT_EQ(dimensions_, 2u);
}

TEST_F(WordVectors, MayBeginWithTheirNumberAndEndInSpaces) {
  EXPECT_THAT(read("2 3\na 1 2 3 \nb 4 5 6 \n"), ElementsAre(Pair("a", ElementsAre(1.f, 2.f, 3.f)), Pair("b", ElementsAre(4.f, 5.f, 6.f))));
}

TEST_F(WordVectors, OfOtherWordsAreCountedButNotRead) {
  const auto is_b = [](std::string_view word) { return word == "b"; };
  EXPECT_THAT(read("a x y\nb 1 2\n", is_b), ElementsAre(Pair("b", ElementsAre(1.f, 2.f))));
  EXPECT_THAT(refused("a 1 2 3\nb 1 2\n", is_b), HasSubstr("v.txt: line 2: 2 numbers behind a word, 3 on the lines before"));
  EXPECT_THAT(refused("b 1 2\na 1 2 3\n", is_b), HasSubstr("v.txt: line 2: 3 numbers behind a word, 2 on the lines before"));
}

TEST_F(WordVectors, OfWordsWithSpacesArePassedOver) {
  EXPECT_THAT(read("a 1 2\n. . . 3 4\nat name@domain.com 5 6\nb 7 8\n"),
              ElementsAre(Pair("a", ElementsAre(1.f, 2.f)), Pair("b", ElementsAre(7.f, 8.f))));
  EXPECT_THAT(refused("a 1 2\nb  1 2\n"), HasSubstr("v.txt: line 2: 3 numbers behind a word, 2 on the lines before"));
}

TEST_F(WordVectors, AreRefusedByTheLine) {
  EXPECT_THAT(refused("a 1 2\nb 1 x\n"), HasSubstr("v.txt: line 2: \"x\" is not a number"));
  EXPECT_THAT(refused("a 1 2\nb 1 nan\n"), HasSubstr("v.txt: line 2: \"nan\" is not a number"));
  EXPECT_THAT(refused("a 1 2\nb 1 inf\n"), HasSubstr("v.txt: line 2: \"inf\" is not finite in single precision"));
  EXPECT_THAT(refused("a 1 2\nb -1e39 1\n"), HasSubstr("v.txt: line 2: \"-1e39\" is not finite in single precision"));
  EXPECT_THAT(refused("a 1  2\n"), HasSubstr("v.txt: line 1: \"\" is not a number"));
  EXPECT_THAT(refused("word\n"), HasSubstr("v.txt: line 1: no numbers behind the word; every line of a file of word vectors"));
  EXPECT_THAT(refused("2 3\n"), HasSubstr("v.txt: not one vector in it"));
  EXPECT_THAT(refused(""), HasSubstr("v.txt: the file is empty"));
}

}  // namespace word_vectors_test
}  // namespace debias

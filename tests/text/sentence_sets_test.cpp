#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "debias/text/sentence_sets.h"
#include "debias/text/vocabulary.h"
#include "tests/support/golden_folder.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/text_files.h"

namespace debias {
namespace sentence_sets_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(SentenceSets, ReadsTwoClassesInWindows1252) {
  const TemporaryFolder folder;
  write_file(folder / "rt-polarity.pos", "a fine caf\xe9 \n\n\xa0\n\xa0good \n");  // \xa0 alone is a blank line
  write_file(folder / "rt-polarity.neg", "dull \x85\n");
  const SentenceSet set = *read_sentence_set("mr", folder.path());
  EXPECT_THAT(set.train.texts, ElementsAre("a fine café", "good", "dull …"));
  EXPECT_THAT(set.train.labels, ElementsAre(1, 1, 0));
  EXPECT_FALSE(set.test);
  EXPECT_FALSE(read_sentence_set("cr", folder.path()));
}

TEST(SentenceSets, ReadsQuestionsAndPairs) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "trec");
  write_file(folder / "trec/TREC.train", "DESC:manner How is it ?\nHUM:ind Who \xf0 ?\n");
  write_file(folder / "trec/TREC.test", "HUM:ind Who am I ?\n");
  const SentenceSet questions = *read_sentence_set("trec", folder.path());
  EXPECT_THAT(questions.classes, ElementsAre("DESC", "HUM"));
  EXPECT_THAT(questions.train.texts, ElementsAre("How is it ?", "Who ð ?"));
  EXPECT_THAT(questions.test->labels, ElementsAre(1));
  write_file(folder / "msr_paraphrase_train.txt",
             "\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tHe said \"no.\tNo, he said\n0\t1\t2\ta\tb\n");
  write_file(folder / "msr_paraphrase_test.txt", "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tx\ty\n");
  const SentenceSet pairs = *read_sentence_set("msrp", folder.path());
  EXPECT_TRUE(pairs.has_pairs());
  EXPECT_THAT(pairs.train.texts, ElementsAre("He said \"no.", "a"));
  EXPECT_THAT(pairs.train.seconds, ElementsAre("No, he said", "b"));
  EXPECT_THAT(pairs.train.labels, ElementsAre(1, 0));
}

TEST(SentenceSets, RefusesBadFilesByTheirLine) {
  const TemporaryFolder folder;
  const auto read = [&](const char* set) { return [&folder, set] { read_sentence_set(set, folder.path()); }; };
  write_file(folder / "custrev.pos", "good\n");
  EXPECT_THAT(data_error_of(read("cr")), HasSubstr("custrev.neg is not"));
  write_file(folder / "custrev.neg", "\n");
  EXPECT_THAT(data_error_of(read("cr")), HasSubstr("fewer than two classes"));
  write_file(folder / "TREC.train", "DESC:manner How ?\nHUM:ind Who ?\nno label here\n");
  write_file(folder / "TREC.test", "NUM:date When ?\n");
  EXPECT_THAT(data_error_of(read("trec")), HasSubstr("TREC.train: line 3: expected COARSE:fine"));
  write_file(folder / "TREC.train", "DESC:manner How ?\nHUM:ind \xa0\n");
  EXPECT_THAT(data_error_of(read("trec")), HasSubstr("TREC.train: line 2: expected COARSE:fine"));
  write_file(folder / "TREC.train", "DESC:manner How ?\nHUM:ind Who ?\n");
  EXPECT_THAT(data_error_of(read("trec")), HasSubstr("TREC.test: line 1: label \"NUM\" is not a label of the training questions"));
  write_file(folder / "msr_paraphrase_test.txt", "1\t7\t8\tx\ty\n");
  write_file(folder / "msr_paraphrase_train.txt", "Quality\tx\n1\t7\t8\tx\ty\n2\t7\t8\tx\ty\n");
  EXPECT_THAT(data_error_of(read("msrp")), HasSubstr("msr_paraphrase_train.txt: line 3: quality \"2\" is not 0 or 1"));
  write_file(folder / "msr_paraphrase_train.txt", "1\t7\t8\tx\t\u00a0\n");
  EXPECT_THAT(data_error_of(read("msrp")), HasSubstr("msr_paraphrase_train.txt: line 1: an empty sentence"));
  write_file(folder / "msr_paraphrase_train.txt", "1\t7\t8\tx\n");
  EXPECT_THAT(data_error_of(read("msrp")), HasSubstr("line 1: 4 fields between tabs, expected 5"));
  write_file(folder / "msr_paraphrase_train.txt", "1\t7\t8\tx\xff\ty\n");
  EXPECT_THAT(data_error_of(read("msrp")), HasSubstr("line 1: byte 8 (0xff) is not UTF-8"));
}

TEST(SentenceSetsRealData, HaveTheirPublishedSizes) {
  const char* given = std::getenv("DEBIAS_TEST_DATA");
  const std::string root = given == nullptr || *given == '\0' ? golden_folder("../../../shared/data") : given;
  if (!std::filesystem::exists(root + "/sentences")) GTEST_SKIP() << "no sentences in " << root;
  const auto sizes = [&](const char* name) {
    const SentenceSet set = *read_sentence_set(name, root);
    const auto ones = std::count(set.train.labels.begin(), set.train.labels.end(), 1);
    return std::vector<int64_t>{std::ssize(set.train.texts), ones, set.test ? std::ssize(set.test->texts) : 0};
  };
  EXPECT_THAT(sizes("mr"), ElementsAre(10662, 5331, 0));
  EXPECT_THAT(sizes("cr"), ElementsAre(3771, 2405, 0));
  EXPECT_THAT(sizes("subj"), ElementsAre(10000, 5000, 0));
  EXPECT_THAT(sizes("mpqa"), ElementsAre(10603, 3311, 0));
  EXPECT_THAT(sizes("trec"), ElementsAre(5452, 1250, 500));
  EXPECT_THAT(sizes("msrp"), ElementsAre(4076, 2753, 1725));
}

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

}  // namespace sentence_sets_test
}  // namespace debias

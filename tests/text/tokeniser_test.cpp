#include "debias/text/tokeniser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "debias/core/npy.h"
#include "debias/text/characters.h"
#include "tests/support/golden_folder.h"

namespace debias {
namespace tokeniser_test {

using testing::ElementsAre;
namespace fs = std::filesystem;

TEST(Tokeniser, PartsPunctuationFromWords) {
  EXPECT_THAT(tokenise("Well, it rained; nobody came: why?"),
              ElementsAre("Well", ",", "it", "rained", ";", "nobody", "came", ":", "why", "?"));
  EXPECT_THAT(tokenise("(yes) [no] {so} <then>"), ElementsAre("(", "yes", ")", "[", "no", "]", "{", "so", "}", "<", "then", ">"));
  EXPECT_THAT(tokenise("5 % of $10 & more* #1 a@b"), ElementsAre("5", "%", "of", "$", "10", "&", "more", "*", "#", "1", "a", "@", "b"));
}

TEST(Tokeniser, KeepsInnerPeriodsAndPartsTheLast) {
  EXPECT_THAT(tokenise("Mr. Poe met Dr. Dee."), ElementsAre("Mr.", "Poe", "met", "Dr.", "Dee", "."));
  EXPECT_THAT(tokenise("She left. He stayed."), ElementsAre("She", "left.", "He", "stayed", "."));
  EXPECT_THAT(tokenise("(They left.) "), ElementsAre("(", "They", "left", ".", ")"));
  EXPECT_THAT(tokenise("and then... nothing"), ElementsAre("and", "then", "...", "nothing"));
  EXPECT_THAT(tokenise("."), ElementsAre("."));
}

TEST(Tokeniser, KeepsNumbersWhole) {
  EXPECT_THAT(tokenise("at 10:30 some 3,360 of 2.5"), ElementsAre("at", "10:30", "some", "3,360", "of", "2.5"));
  EXPECT_THAT(tokenise("one,two"), ElementsAre("one", ",", "two"));
  EXPECT_THAT(tokenise("so:"), ElementsAre("so", ":"));
}

TEST(Tokeniser, TurnsQuotesByWhereTheyStand) {
  EXPECT_THAT(tokenise("\"Go,\" he said, \"now.\""), ElementsAre("``", "Go", ",", "''", "he", "said", ",", "``", "now", ".", "''"));
  EXPECT_THAT(tokenise("“Go” «là»"), ElementsAre("“", "Go", "”", "«", "là", "»"));
  EXPECT_THAT(tokenise("('Go')"), ElementsAre("(", "'Go", "'", ")"));
  EXPECT_THAT(tokenise("'a b'"), ElementsAre("'", "a", "b", "'"));
}

TEST(Tokeniser, SplitsContractions) {
  EXPECT_THAT(tokenise("I don't know what's there, we'll see"),
              ElementsAre("I", "do", "n't", "know", "what", "'s", "there", ",", "we", "'ll", "see"));
  EXPECT_THAT(tokenise("They've said I'd go, I'm sure you're right"),
              ElementsAre("They", "'ve", "said", "I", "'d", "go", ",", "I", "'m", "sure", "you", "'re", "right"));
  EXPECT_THAT(tokenise("I cannot, gonna and GIMME"), ElementsAre("I", "can", "not", ",", "gon", "na", "and", "GIM", "ME"));
  EXPECT_THAT(tokenise("the boys' hats"), ElementsAre("the", "boys", "'", "hats"));
}

TEST(Tokeniser, PartsDashes) {
  EXPECT_THAT(tokenise("here--there well-known"), ElementsAre("here", "--", "there", "well-known"));
  EXPECT_THAT(tokenise("here—there"), ElementsAre("here", "—", "there"));
}

TEST(Tokeniser, GivesNoEmptyWords) {
  EXPECT_TRUE(tokenise("").empty());
  EXPECT_TRUE(tokenise(" \t\u00a0 ").empty());
  EXPECT_THAT(tokenise("'"), ElementsAre("'"));
}

// It would take minutes if each mark moved all that is behind it.
TEST(Tokeniser, ReadsAMegabyteOfQuotationMarks) {
  constexpr size_t kMarks = 1 << 20;
  const auto words = tokenise(std::string(kMarks, '"'));
  ASSERT_EQ(words.size(), kMarks);
  EXPECT_EQ(words[0], "``");
  EXPECT_EQ(words[1], "``");  // it stands behind a space now
  EXPECT_TRUE(std::all_of(words.begin() + 2, words.end(), [](const std::string& word) { return word == "''"; }));
  EXPECT_EQ(tokenise(std::string(kMarks, '\'')).size(), kMarks / 2);
  EXPECT_EQ(tokenise(std::string(kMarks, '`')).size(), kMarks / 2);
}

uint32_t hash_of(const std::vector<std::string>& words) {
  uint32_t value = 0x811c9dc5;
  for (const auto& word : words) {
    for (const char byte : word + "\n") value = (value ^ static_cast<unsigned char>(byte)) * 0x01000193u;
  }
  return value;
}

fs::path shared_data() {
  const char* given = std::getenv("DEBIAS_TEST_DATA");
  return given == nullptr || *given == '\0' ? golden_folder("../../../shared/data") : given;
}

std::vector<std::string> lines_of(const fs::path& path, Encoding encoding) {
  std::vector<std::string> lines;
  TextLines file(path.string(), encoding);
  for (std::string_view line; file.next(line);) lines.emplace_back(line);
  lines.emplace_back();  // what Python's split gives behind the last line end
  return lines;
}

std::vector<std::string> set_lines(const fs::path& root) {
  std::vector<std::string> all;
  for (const char* name : {"rt-polarity.pos", "rt-polarity.neg", "subj.subjective", "subj.objective", "custrev.pos", "custrev.neg",
                           "mpqa.pos", "mpqa.neg", "TREC.train", "TREC.test"}) {
    for (std::string& line : lines_of(root / "sentences" / name, Encoding::kLatin1)) {
      if (std::string(name).starts_with("TREC")) line = line.substr(line.find(' ') + 1);
      all.push_back(std::move(line));
    }
  }
  for (const char* name : {"msr_paraphrase_train.txt", "msr_paraphrase_test.txt"}) {
    for (std::string& line : lines_of(root / "msrp" / name, Encoding::kUtf8)) all.push_back(line.substr(line.rfind('\t') + 1));
  }
  return all;
}

// As make_text.py cuts a book.
std::vector<std::string> rough_sentences(const fs::path& path) {
  std::vector<std::string> sentences;
  std::string text;
  const auto cut = [&] {
    std::erase(text, '_');
    for (size_t begin = 0; begin < text.size();) {
      size_t end = begin;
      for (;; ++end) {
        end = std::min(text.find_first_of(".!?", end), text.size());
        const size_t after = std::min(text.find_first_not_of("\"')", std::min(end + 1, text.size())), text.size());
        if (after >= text.size()) end = text.size();
        if (end == text.size()) break;
        if (text[after] != ' ') continue;
        end = after;
        break;
      }
      const std::string sentence = text.substr(begin, end - begin);
      if (sentence.find_first_not_of(' ') != std::string::npos) sentences.push_back(sentence);
      begin = end + 1;
    }
    text.clear();
  };
  for (const std::string& line : lines_of(path, Encoding::kUtf8)) {
    const size_t first = line.find_first_not_of(" \t"), last = line.find_last_not_of(" \t");
    if (first == std::string::npos) {
      cut();
    } else {
      text += (text.empty() ? "" : " ") + line.substr(first, last - first + 1);
    }
  }
  cut();
  return sentences;
}

double share_alike(const std::vector<std::string>& texts, const std::string& golden) {
  const std::string path = golden_folder("text") + "/" + golden;
  const std::vector<int64_t> hashes = npy_integers(read_npy(path), path);
  EXPECT_EQ(texts.size(), hashes.size());
  if (texts.size() != hashes.size()) return 0;
  int64_t alike = 0;
  for (size_t i = 0; i < texts.size(); ++i) alike += hash_of(tokenise(texts[i])) == hashes[i];
  return static_cast<double>(alike) / static_cast<double>(texts.size());
}

template <class Item>
std::vector<Item> every(const std::vector<Item>& all, size_t step) {
  std::vector<Item> some;
  for (size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

TEST(TokeniserRealData, MakesOfTheSentenceSetsWhatNltkDoes) {
  if (!fs::exists(shared_data() / "sentences")) GTEST_SKIP() << "no sentences in " << shared_data();
  const double share = share_alike(every(set_lines(shared_data()), 3), "sets.npy");
  RecordProperty("alike", std::to_string(share));
  EXPECT_GE(share, 0.999);
}

TEST(TokeniserRealData, MakesOfNovelsWhatNltkDoes) {
  if (!fs::exists(shared_data() / "novels")) GTEST_SKIP() << "no novels in " << shared_data();
  std::vector<fs::path> books;
  for (const auto& entry : fs::directory_iterator(shared_data() / "novels")) books.push_back(entry.path());
  std::sort(books.begin(), books.end());
  std::vector<std::string> texts;
  for (const auto& book : every(books, 4)) {
    for (auto& sentence : every(rough_sentences(book), 5)) texts.push_back(std::move(sentence));
  }
  const double share = share_alike(texts, "novels.npy");
  RecordProperty("alike", std::to_string(share));
  EXPECT_GE(share, 0.999);
}

}  // namespace tokeniser_test
}  // namespace debias

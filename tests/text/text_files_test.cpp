// Lines of files, sentences of lines, words of sentences, and their numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "debias/text/characters.h"
#include "debias/text/sentence_store.h"
#include "debias/text/tokeniser.h"
#include "debias/text/vocabulary.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/text_files.h"

namespace debias {
namespace text_files_test {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& path, Encoding encoding = Encoding::kUtf8) {
  std::vector<std::string> lines;
  TextLines file(path, encoding);
  for (std::string_view line; file.next(line);) lines.emplace_back(line);
  return lines;
}

TEST(TextLines, GivesLinesWithoutTheirEnds) {
  const TemporaryFolder folder;
  write_file(folder / "a.txt", "\xef\xbb\xbfone\r\n\ntwo\nthree");
  EXPECT_THAT(lines_of(folder / "a.txt"), ElementsAre("one", "", "two", "three"));
}

TEST(TextLines, JoinsBlocksOfAFile) {
  const TemporaryFolder folder;
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 30000; ++i) {
    expected.push_back("line " + std::to_string(i) + std::string(static_cast<size_t>(i % 97), 'x'));
    text += expected.back() + "\n";
  }
  write_file(folder / "a.txt", text);
  EXPECT_EQ(lines_of(folder / "a.txt"), expected);
}

TEST(TextLines, ReadsWindows1252) {
  const TemporaryFolder folder;
  write_file(folder / "a.txt", "caf\xe9 \x93so\x94 \x85\n");
  EXPECT_THAT(lines_of(folder / "a.txt", Encoding::kLatin1), ElementsAre("café “so” …"));
}

TEST(TextLines, RefusesWhatIsNoTextByItsLine) {
  const TemporaryFolder folder;
  write_file(folder / "empty.txt", "");
  write_file(folder / "latin.txt", "good\nna\xefve\n");
  write_file(folder / "binary.txt", std::string("good\nba\0d\n", 10));
  write_file(folder / "long.txt", "a\n" + std::string((1 << 20) + 1, 'x'));
  EXPECT_THAT(data_error_of([&] { lines_of(folder / "empty.txt"); }), HasSubstr("empty.txt: the file is empty"));
  EXPECT_THAT(data_error_of([&] { lines_of(folder / "latin.txt"); }), HasSubstr("latin.txt: line 2: byte 3 (0xef) is not UTF-8"));
  EXPECT_THAT(data_error_of([&] { lines_of(folder / "binary.txt"); }), HasSubstr("binary.txt: line 2: a NUL byte"));
  EXPECT_THAT(data_error_of([&] { lines_of(folder / "long.txt"); }), HasSubstr("long.txt: line 2: more than 1048576 bytes"));
}

TEST(TextLines, TakesALineOfAMegabyte) {
  const TemporaryFolder folder;
  write_file(folder / "long.txt", std::string(1 << 20, 'x') + "\nb\n");
  EXPECT_EQ(lines_of(folder / "long.txt").size(), 2u);
}

std::vector<std::string> sentences_of(const std::string& page) {
  std::vector<std::string> sentences;
  SentenceSplitter splitter([&](const std::string& sentence) { sentences.push_back(sentence); });
  size_t begin = 0;
  while (begin < page.size()) {
    const size_t end = std::min(page.find('\n', begin), page.size());
    splitter.line(std::string_view(page).substr(begin, end - begin));
    begin = end + 1;
  }
  splitter.end();
  return sentences;
}

// A page of our own, cut by hand.
TEST(SentenceSplit, CutsAPageAsAReaderDoes) {
  EXPECT_THAT(sentences_of("CHAPTER IV\n\nTHE MILL\n\nXII.\n\n* * *\n\n"
                           "The wheel had\n_stopped_.  Mr. Abel and Mrs. J. Thorn\nwent in, i.e. down. \"Who is there?\" he\n"
                           "called. \"Nobody,\" said a voice; \"go home!\" And so they did.\n\n"
                           "\"Never!\" cried she. (It was late.) She wept . . . and slept.\n\n"
                           "NO ENTRY\n\n\"NO!\"\n\nHe read of St. Paul's. 'Tis well.\n"),
              ElementsAre("The wheel had stopped.", "Mr. Abel and Mrs. J. Thorn went in, i.e. down.", "\"Who is there?\" he called.",
                          "\"Nobody,\" said a voice; \"go home!\"", "And so they did.", "\"Never!\" cried she.", "(It was late.)",
                          "She wept . . . and slept.", "\"NO!\"", "He read of St. Paul's.", "'Tis well."));
}

TEST(SentenceSplit, GivesNothingOfBlankText) {
  EXPECT_TRUE(split_sentences("").empty());
  EXPECT_TRUE(split_sentences(" \n ").empty());
  EXPECT_THAT(split_sentences("so do I. Then he left"), ElementsAre("so do I.", "Then he left"));
}

// Each would take minutes if every sign were looked at from every other.
TEST(SentenceSplit, ReadsAMegabyteOfSigns) {
  const std::string dots(1 << 20, '.');
  EXPECT_THAT(split_sentences("a" + dots), ElementsAre("a" + dots));
  EXPECT_THAT(split_sentences("a" + dots + " b"), ElementsAre("a" + dots + " b"));
  EXPECT_THAT(split_sentences("a" + dots + "\" B."), ElementsAre("a" + dots + "\"", "B."));
}

TEST(SentenceSplit, TakesSeveralSignsTogether) {
  EXPECT_THAT(split_sentences("What?! No... he said. \"Well.\") J. Poe? yes?.\" So J.. So"),
              ElementsAre("What?!", "No... he said.", "\"Well.\")", "J. Poe? yes?.\"", "So J..", "So"));
}

TEST(Vocabulary, HasTheCommonestWordsFirst) {
  WordCounter counter;
  counter.add({"b", "a", "c", "b", "a", "d"});
  counter.add({"b"});
  const Vocabulary words = counter.vocabulary(4);
  EXPECT_THAT(words.words(), ElementsAre("<unk>", "b", "a", "c"));
  EXPECT_EQ(words.number("a"), 2);
  EXPECT_EQ(words.number("d"), 0);
  EXPECT_EQ(counter.occurrences(words), 6);
  EXPECT_THAT(counter.vocabulary(9, 2).words(), ElementsAre("<unk>", "b", "a"));
}

TEST(Vocabulary, IsReadBackAsWritten) {
  const TemporaryFolder folder;
  write_file(folder / "v.txt", Vocabulary({"<unk>", "the", "naïve"}).text());
  EXPECT_THAT(Vocabulary::read(folder / "v.txt").words(), ElementsAre("<unk>", "the", "naïve"));
}

TEST(Vocabulary, RefusesFilesThatAreNone) {
  const TemporaryFolder folder;
  write_file(folder / "none.txt", "the\nof\n");
  write_file(folder / "gap.txt", "<unk>\nthe\n\nof\n");
  write_file(folder / "twice.txt", "<unk>\nthe\nof\nthe\n");
  write_file(folder / "bare.txt", "<unk>\n");
  EXPECT_THAT(data_error_of([&] { Vocabulary::read(folder / "none.txt"); }),
              HasSubstr("none.txt: line 1: the first word of a vocabulary is <unk>"));
  EXPECT_THAT(data_error_of([&] { Vocabulary::read(folder / "gap.txt"); }), HasSubstr("gap.txt: line 3: no word"));
  EXPECT_THAT(data_error_of([&] { Vocabulary::read(folder / "twice.txt"); }), HasSubstr("line 4: word \"the\" is on line 2 already"));
  EXPECT_THAT(data_error_of([&] { Vocabulary::read(folder / "bare.txt"); }), HasSubstr("no word beside <unk>"));
}

struct SmallCorpus {
  SmallCorpus() {
    std::filesystem::create_directories(folder / "books/deep");
    write_file(folder / "books/b.txt", "The cat sat. The dog ran far away.\n\nA bird flew.\n");
    write_file(folder / "books/deep/a.txt", "One more.\n");
    write_file(folder / "books/.hidden.txt", "No.\n");
    write_file(folder / "books/notes.md", "No.\n");
    recipe.files = text_files(folder / "books", "corpus");
    recipe.max_tokens = 4;
    recipe.text.lowercase = true;
  }
  TemporaryFolder folder;
  SentenceStore::Recipe recipe;
  Vocabulary words{{"<unk>", "the", ".", "cat", "dog", "a", "one"}};
};

std::vector<std::string> names_of(const std::vector<TextFile>& files) {
  std::vector<std::string> names;
  for (const auto& file : files) names.push_back(file.name);
  return names;
}

TEST(TextFiles, AreThoseOfFoldersThatAreNotHiddenInEitherCase) {
  const SmallCorpus corpus;
  for (const char* hidden : {"books/.ipynb_checkpoints", "books/deep/.Trash-1000/files"}) {
    std::filesystem::create_directories(corpus.folder / hidden);
    write_file(corpus.folder / hidden + "/draft.txt", "No.\n");
  }
  write_file(corpus.folder / "books/LOUD.TXT", "Yes.\n");
  EXPECT_THAT(names_of(text_files(corpus.folder / "books", "corpus")), ElementsAre("LOUD.TXT", "b.txt", "deep/a.txt"));
}

TEST(TextFiles, OfLinkedFoldersAreReadOnce) {
  const SmallCorpus corpus;
  std::filesystem::create_directories(corpus.folder / "shelf");
  write_file(corpus.folder / "shelf/c.txt", "Yes.\n");
  std::filesystem::create_directory_symlink(corpus.folder / "shelf", corpus.folder / "books/more");
  std::filesystem::create_directory_symlink(corpus.folder / "shelf", corpus.folder / "books/twice");
  std::filesystem::create_directory_symlink("..", corpus.folder / "books/deep/up");
  std::filesystem::create_directory_symlink(corpus.folder.path(), corpus.folder / "shelf/above");
  EXPECT_THAT(names_of(text_files(corpus.folder / "books", "corpus")), ElementsAre("b.txt", "deep/a.txt", "more/c.txt"));
}

TEST(TextFolders, AreThoseThatAreLookedInto) {
  const SmallCorpus corpus;
  const std::string books = corpus.folder / "books";
  std::filesystem::create_directories(corpus.folder / "shelf/inner");  // without a book yet
  std::filesystem::create_directories(books + "/.hidden");
  std::filesystem::create_directory_symlink(corpus.folder / "shelf", books + "/more");
  std::filesystem::create_directory_symlink("..", books + "/deep/up");
  EXPECT_THAT(text_folders(books), ElementsAre(books, books + "/deep", books + "/more", books + "/more/inner"));
  EXPECT_THAT(text_folders(books + "/b.txt"), ElementsAre(books + "/b.txt"));
  EXPECT_THAT(text_folders("nowhere"), ElementsAre("nowhere"));
}

std::vector<int32_t> sentence_of(const SentenceStore& store, int64_t index) {
  const auto words = store.sentence(index);
  return {words.begin(), words.end()};
}

void expect_the_small_corpus(const SentenceStore& store) {
  ASSERT_EQ(store.books(), 2);
  ASSERT_EQ(store.sentences(), 4);
  EXPECT_EQ(store.first_of(1), 3);
  EXPECT_EQ(store.end_of(1), 4);
  EXPECT_THAT(sentence_of(store, 0), ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(sentence_of(store, 1), ElementsAre(1, 4, 0, 0));  // cut
  EXPECT_THAT(sentence_of(store, 2), ElementsAre(5, 0, 0, 2));
  EXPECT_THAT(sentence_of(store, 3), ElementsAre(6, 0, 2));
  EXPECT_EQ(store.tokens(), 15);
}

TEST(SentenceStore, NumbersTheSentencesOfBooks) {
  const SmallCorpus corpus;
  const SentenceStore store = SentenceStore::make(corpus.recipe, corpus.words);
  expect_the_small_corpus(store);
  EXPECT_FALSE(store.is_mapped());
}

TEST(SentenceStore, IsMappedFromItsCache) {
  const SmallCorpus corpus;
  const std::string cache = corpus.folder / "cache";
  for (int i = 0; i < 2; ++i) {
    const SentenceStore store = SentenceStore::make(corpus.recipe, corpus.words, cache);
    expect_the_small_corpus(store);
    EXPECT_TRUE(store.is_mapped());
  }
  EXPECT_TRUE(SentenceStore::open(cache, store_key(corpus.recipe, corpus.words), 2).has_value());
}

std::vector<char> bytes_of(const std::string& path) {
  std::vector<char> bytes(std::filesystem::file_size(path));
  std::ifstream(path, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

void write_bytes(const std::string& path, const std::vector<char>& bytes) { write_file(path, std::string(bytes.begin(), bytes.end())); }

TEST(SentenceStore, OfAnEarlierFormIsMadeAnew) {
  const SmallCorpus corpus;
  const std::string cache = corpus.folder / "cache";
  SentenceStore::make(corpus.recipe, corpus.words, cache);
  const std::vector<char> whole = bytes_of(cache);
  std::vector<char> earlier = whole;
  earlier.back() = '1';
  write_bytes(cache, earlier);
  expect_the_small_corpus(SentenceStore::make(corpus.recipe, corpus.words, cache));
  EXPECT_EQ(bytes_of(cache), whole);
}

TEST(SentenceStore, ReadsAnewWhatHasChanged) {
  SmallCorpus corpus;
  const std::string cache = corpus.folder / "cache";
  SentenceStore::make(corpus.recipe, corpus.words, cache);
  corpus.recipe.max_tokens = 2;
  const SentenceStore shorter = SentenceStore::make(corpus.recipe, corpus.words, cache);
  EXPECT_THAT(sentence_of(shorter, 3), ElementsAre(6, 0));
  write_file(corpus.folder / "books/deep/a.txt", "The cat.\n");
  EXPECT_THAT(sentence_of(SentenceStore::make(corpus.recipe, corpus.words, cache), 3), ElementsAre(1, 3));
}

TEST(SentenceStore, IsMadeAnewByOtherRulesOfCutting) {
  const SmallCorpus corpus;
  EXPECT_EQ(store_key(corpus.recipe, corpus.words), store_key(corpus.recipe, corpus.words, kTextRules));
  EXPECT_NE(store_key(corpus.recipe, corpus.words), store_key(corpus.recipe, corpus.words, kTextRules + 1));
}

TEST(SentenceStore, RefusesADamagedCache) {
  const SmallCorpus corpus;
  const std::string cache = corpus.folder / "cache";
  SentenceStore::make(corpus.recipe, corpus.words, cache);
  const auto make = [&] { SentenceStore::make(corpus.recipe, corpus.words, cache); };
  const std::vector<char> whole = bytes_of(cache);
  write_bytes(cache, {whole.begin() + 8, whole.end()});
  EXPECT_THAT(data_error_of(make), HasSubstr("a damaged store of sentences"));
  write_bytes(cache, {whole.end() - 20, whole.end()});
  EXPECT_THAT(data_error_of(make), HasSubstr("a damaged store of sentences"));
  for (const auto& [at, byte] : {std::pair{16 * 4 + 8, 99}, std::pair{0, 3}}) {  // where the second sentence begins; the first word
    std::vector<char> changed = whole;
    changed[static_cast<size_t>(at)] = static_cast<char>(byte);
    write_bytes(cache, changed);
    EXPECT_THAT(data_error_of(make), HasSubstr("a damaged store of sentences")) << at;
  }
  write_file(cache, "some other file of mine");
  EXPECT_THAT(data_error_of(make), HasSubstr("no store of sentences"));
}

TEST(SentenceStore, RefusesACorpusWithoutAKnownWordOrSentence) {
  SmallCorpus corpus;
  const Vocabulary others({"<unk>", "Zebra"});
  EXPECT_THAT(data_error_of([&] { SentenceStore::make(corpus.recipe, others); }),
              HasSubstr("not one word of the corpus is in the vocabulary"));
  write_file(corpus.folder / "books/b.txt", "\n\n* * *\n");
  EXPECT_THAT(data_error_of([&] { SentenceStore::make(corpus.recipe, corpus.words); }), HasSubstr("b.txt: it has no sentence"));
  EXPECT_THAT(data_error_of([&] { text_files(corpus.folder / "nowhere", "corpus"); }), HasSubstr("nowhere: corpus: "));
  std::filesystem::create_symlink("gone.txt", corpus.folder / "books/link.txt");
  EXPECT_THAT(data_error_of([&] { text_files(corpus.folder / "books", "corpus"); }), HasSubstr("books/link.txt: corpus: "));
}

}  // namespace text_files_test
}  // namespace debias

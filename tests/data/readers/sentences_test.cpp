#include "debias/data/readers/sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "debias/data/dataset_registry.h"
#include "debias/data/fingerprint.h"
#include "tests/support/refusals.h"
#include "tests/support/small_corpus.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace sentences_test {

using testing::HasSubstr;

struct Corpus {
  Corpus() { write_small_corpus(folder.path()); }
  Config section(const std::string& words = "") const {
    std::string text = small_corpus_section(folder.path());
    text.insert(text.size() - 1, words);
    return parse_yaml(text, "r.yaml");
  }
  std::shared_ptr<const Sentences> open(const std::string& words = "") const {
    return std::dynamic_pointer_cast<const Sentences>(std::shared_ptr<const SampleTable>(read_data(section(words)).make()));
  }
  TemporaryFolder folder;
};

TEST(Sentences, AreThoseOfTheBooksInOrder) {
  const Corpus corpus;
  const auto sentences = corpus.open();
  EXPECT_EQ(sentences->size(), kSmallBooks * kSmallSentences);
  EXPECT_EQ(sentences->info().words, 32);
  EXPECT_EQ(sentences->info().inputs(), 32);
  EXPECT_EQ(sentences->source(41), "1.txt sentence 1");
  const auto words = sentences->words(0);  // "W0 w3 w0."
  EXPECT_THAT(std::vector<int32_t>(words.begin(), words.end()), testing::ElementsAre(2, 5, 2, 1));
  EXPECT_EQ(corpus.open(", max_tokens: 2")->words(0).size(), 2u);
}

TEST(Sentences, HoldWholeBooksOut) {
  const Corpus corpus;
  const auto kept = corpus.open(", hold_out: 1"), out = corpus.open(", hold_out: 1, split: held_out");
  EXPECT_EQ(kept->size(), 2 * kSmallSentences);
  EXPECT_EQ(out->size(), kSmallSentences);
  std::set<int64_t> ids;
  for (const auto& part : {kept, out}) {
    for (int64_t i = 0; i < part->size(); ++i) ids.insert(part->id(i));
  }
  EXPECT_EQ(ids.size(), static_cast<size_t>(3 * kSmallSentences));
  EXPECT_EQ(kept->files().size(), 2u);
}

TEST(Sentences, RefuseWhatCannotBeRead) {
  const Corpus corpus;
  const auto open = [&](const std::string& words) { return [&corpus, words] { corpus.open(words); }; };
  EXPECT_THAT(usage_error_of(open(", hold_out: 3")), HasSubstr("hold_out: 3 of 3 books"));
  EXPECT_THAT(usage_error_of(open(", split: held_out")), HasSubstr("give hold_out"));
  EXPECT_THAT(usage_error_of(open(", max_tokenz: 3")), HasSubstr("did you mean 'max_tokens'"));
  EXPECT_THAT(usage_error_of(open(", cache: " + corpus.folder.path() + "/books/numbers")),
              HasSubstr("books'; nothing is written there: choose another cache"));
  const std::string shelf = corpus.folder / "shelf";
  std::filesystem::create_directories(shelf);
  std::filesystem::create_directory_symlink(shelf, corpus.folder / "books/more");
  EXPECT_THAT(usage_error_of(open(", cache: " + shelf + "/numbers")),
              HasSubstr("books/more'; nothing is written there: choose another cache"));
  EXPECT_THAT(usage_error_of([] { read_data(parse_yaml("{name: sentences, root: x}", "r")).make(); }), HasSubstr("no vocabulary is given"));
  EXPECT_THAT(usage_error_of([&] { read_data(corpus.section()).make_images(); }), HasSubstr("data set 'sentences' has no images"));
  std::ofstream(corpus.folder / "vocab.txt") << "w1\n";
  EXPECT_THAT(data_error_of(open("")), HasSubstr("vocab.txt: line 1: the first word of a vocabulary is <unk>"));
}

std::vector<std::string> changes(const Corpus& corpus, const DataFingerprint& then) {
  const auto now = corpus.open();
  return differences(then, fingerprint(*now, read_data(corpus.section()), Verify::kContents));
}

TEST(Sentences, AreKnownAgainByTheirFilesAndVocabulary) {
  const Corpus corpus;
  const DataFingerprint then = fingerprint(*corpus.open(), read_data(corpus.section()), Verify::kContents);
  EXPECT_THAT(changes(corpus, then), testing::IsEmpty());
  std::ofstream(corpus.folder / "vocab.txt", std::ios::app) << "more\n";
  EXPECT_THAT(changes(corpus, then), testing::ElementsAre(HasSubstr("the vocabulary has other words")));
  write_small_corpus(corpus.folder.path());
  std::ofstream(corpus.folder / "books/1.txt", std::ios::app) << "w3.\n";
  EXPECT_THAT(changes(corpus, then), testing::Contains(HasSubstr("1.txt")));
}

}  // namespace sentences_test
}  // namespace debias

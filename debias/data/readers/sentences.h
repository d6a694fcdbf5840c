// Sentences of books in their order: what Quick-Thoughts is trained on.
//
// The root is a text file, or a folder whose .txt files are a book each; the vocabulary numbers the words (debias text vocabulary). Books
// may be held out: `hold_out: N` removes N of them, `split: held_out` is exactly those; the choice depends on the seed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/data/sample_table.h"
#include "debias/text/sentence_store.h"

namespace debias {

enum class BookSplit { kTrain, kHeldOut };
constexpr auto enum_words(BookSplit) { return named("train", "held_out"); }

struct SentencesOptions {
  std::string root = "";
  std::string vocabulary = "";
  TextOptions text = {};
  BookSplit split = BookSplit::kTrain;
  int64_t hold_out = 0;
  int64_t seed = 0;
  int64_t max_tokens = 50;
  std::string cache = "";
  void describe(OptionVisitor& o) {
    o("root", root, "a text file, or a folder of .txt files with one book each");
    o("vocabulary", vocabulary, "vocabulary file, written by debias text vocabulary");
    text.describe(o);
    o("split", split, "split to read");
    o("hold_out", hold_out, Range::at_least(0), "number of books held out; split: held_out has those");
    o("seed", seed, Range::at_least(0), "seed of the choice of the held-out books");
    o("max_tokens", max_tokens, Range::closed(1, 1 << 16), "maximum number of tokens per sentence; longer sentences are truncated");
    o("cache", cache, "file for the tokenised sentences; it is memory-mapped, so a corpus may exceed the memory");
  }
};

// Which of so many books, in the order of their names, are of the split. A usage error where too few are left.
std::vector<int64_t> chosen_books(const SentencesOptions& options, int64_t books);

class Sentences final : public SampleTable {
 public:
  // FileErrors of text_files, TextLines, Vocabulary::read and SentenceStore; usage errors if no vocabulary is given, books are held out
  // that are not there, or the cache is among the books.
  explicit Sentences(const SentencesOptions& options);

  const DatasetInfo& info() const override { return info_; }
  std::string what() const override { return "sentences"; }
  const Sentences* sentences() const override { return this; }
  int64_t size() const override { return size_; }
  int64_t id(int64_t index) const override;
  std::string source(int64_t index) const override;
  std::vector<std::string> files() const override;

  struct Book {
    int64_t first = 0, end = 0;  // sentences of this set
    int64_t number = 0;          // in the store
  };
  const std::vector<Book>& books() const { return books_; }
  const TextFile& file_of(const Book& book) const { return files_[static_cast<size_t>(book.number)]; }
  std::span<const int32_t> words(int64_t index) const;
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const SentencesOptions& options() const { return options_; }

 private:
  const Book& book_of(int64_t index) const;

  SentencesOptions options_;
  Vocabulary vocabulary_;
  std::vector<TextFile> files_;
  SentenceStore store_;
  std::vector<Book> books_;
  int64_t size_ = 0;
  DatasetInfo info_;
};

}  // namespace debias

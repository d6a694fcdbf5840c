// A corpus as numbers: the words of every sentence, sentence after sentence, book after book.
//
// In memory, or in a file that is mapped: it is read once whenever it is opened, also by who has just written it, for its checksum, and
// then where batches touch it, so that a corpus may be larger than the memory. The file, little endian: words int32[T]; begins
// uint64[S + 1], where each sentence begins among the words; ends uint64[K], the sentences up to and with each book; then T, S, K as
// uint64, the key, the SHA-256 of all before T (64 characters each), and the mark. The key says of which files, options and vocabulary the
// store was made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "debias/text/corpus_text.h"
#include "debias/text/vocabulary.h"

namespace debias {

class SentenceStore {
 public:
  struct Recipe {
    std::vector<TextFile> files;  // a book each
    TextOptions text;
    int64_t max_tokens = 50;  // of a sentence, which is cut there
  };

  // Reads the files; if `cache` is not empty, a store of that path that was made of the same is taken instead, and one is written
  // if there is none. FileErrors: another kind of file is there; another process writes another store there at the same time.
  static SentenceStore make(const Recipe& recipe, const Vocabulary& vocabulary, const std::string& cache = "");
  // A mapped one; nullopt where it was made of something else, or is of an earlier form. FileErrors: no store, or a damaged one.
  static std::optional<SentenceStore> open(const std::string& path, const std::string& key, int64_t books);

  SentenceStore(SentenceStore&&) noexcept;
  SentenceStore& operator=(SentenceStore&&) noexcept;
  ~SentenceStore();

  int64_t books() const { return static_cast<int64_t>(ends_.size()); }
  int64_t sentences() const { return static_cast<int64_t>(begins_.size()) - 1; }
  int64_t tokens() const { return static_cast<int64_t>(words_.size()); }
  int64_t first_of(int64_t book) const { return book == 0 ? 0 : static_cast<int64_t>(ends_[static_cast<size_t>(book - 1)]); }
  int64_t end_of(int64_t book) const { return static_cast<int64_t>(ends_[static_cast<size_t>(book)]); }
  std::span<const int32_t> sentence(int64_t index) const;  // at least one word
  bool is_mapped() const;

 private:
  struct Memory;
  SentenceStore();

  std::unique_ptr<Memory> memory_;  // what the spans show
  std::span<const int32_t> words_;
  std::span<const uint64_t> begins_, ends_;
};

// SHA-256 over what a store is made of: names, sizes and times of the files, options, the words, and the rules of cutting text.
std::string store_key(const SentenceStore::Recipe& recipe, const Vocabulary& vocabulary, int text_rules = kTextRules);

}  // namespace debias

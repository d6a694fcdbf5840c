// A corpus as numbers: the words of every sentence, sentence after sentence, book after book.
//
// In memory, or in a file that is mapped: it is read once whenever it is opened, also by who has just written it, for its checksum, and
// then where batches touch it, so that a corpus may be larger than the memory. The file, little endian: words int32[T]; begins
// uint64[S + 1], where each sentence begins among the words; ends uint64[K], the sentences up to and with each book; then T, S, K as
// uint64, the key, the SHA-256 of all before T (64 characters each), and the mark. The key says of which files, options and vocabulary the
// store was made.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "debias/core/options.h"
#include "debias/text/characters.h"
#include "debias/text/vocabulary.h"

namespace debias {

// Sentences of text files, and their words: what a vocabulary is counted on and a corpus is made of.
enum class TextFormat { kText, kLines };
constexpr auto enum_words(TextFormat) { return named("text", "lines"); }

// Reading of files. kText: paragraphs (tokeniser.h); kLines: a sentence a line. Blank lines give none either way.
struct TextOptions {
  TextFormat format = TextFormat::kText;
  Encoding encoding = Encoding::kUtf8;
  bool lowercase = false;
  void describe(OptionVisitor& o) {
    o("format", format, "text: paragraphs of wrapped lines; lines: one sentence per line");
    o("encoding", encoding, "character encoding of the files; latin1 is read as Windows-1252");
    o("lowercase", lowercase, "convert words to lower case, as in the published test sets");
  }
};

struct TextFile {
  std::string name;  // below the root: "novels/tess.txt"; of a root that is a file, the file's name
  std::string path;
};

// Version of the rules that split sentences and words. Raise it when their result changes: numbered corpora are then made anew.
constexpr int kTextRules = 1;

// `root` itself where it is a file, else every .txt file below it (.TXT too), in order of the names. Files and folders whose names begin
// with a dot are ignored; linked folders are entered, each once. FileErrors: there is none; one that cannot be looked at, such as a link
// to a file that is gone.
std::vector<TextFile> text_files(const std::string& root, const std::string& what);

// The root and every folder below it that text_files looks into, those to which links lead among them: what were written into one could be
// read as a book. One that cannot be listed ends nothing.
std::vector<std::string> text_folders(const std::string& root);

// Each sentence's words, of sentences that have any. FileErrors of TextLines, and of a file without a sentence.
void for_each_sentence(const TextFile& file, const TextOptions& options, const std::function<void(const std::vector<std::string>&)>& take);

// The words of a text of its own (a line of a file): the sentences' in it, one after the other.
std::vector<std::string> words_of(std::string_view text, bool lowercase);

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

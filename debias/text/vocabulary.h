// The vocabulary of a network: one word per line, whose number is that of the line from 0. Line 0 is <unk>, which replaces all
// others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace debias {

constexpr std::string_view kUnknownWord = "<unk>";

class Vocabulary {
 public:
  // FileErrors with the line: a first line other than <unk>, an empty line, a repeated word, no word but <unk>, and those of
  // TextLines.
  static Vocabulary read(const std::string& path);
  explicit Vocabulary(std::vector<std::string> words);  // words[0] is kUnknownWord, each is unique
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  const std::string& word(int64_t number) const { return words_.at(static_cast<size_t>(number)); }
  const std::vector<std::string>& words() const { return words_; }
  int32_t number(std::string_view word) const;  // 0 where it is not known
  std::string text() const;                     // of the file

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string_view, int32_t> numbers_;  // of views into words_, whose strings stay where they are
};

// Counts words, and makes the vocabulary of the commonest: by falling frequency, among equals by their bytes.
class WordCounter {
 public:
  void add(const std::vector<std::string>& tokens);
  int64_t tokens() const { return tokens_; }
  int64_t distinct() const { return static_cast<int64_t>(counts_.size()); }

  // At most `size` lines with <unk>; no word with fewer than `least` occurrences.
  Vocabulary vocabulary(int64_t size, int64_t least = 1) const;
  int64_t occurrences(const Vocabulary& vocabulary) const;  // of its words, but <unk>

 private:
  std::unordered_map<std::string, int64_t> counts_;
  int64_t tokens_ = 0;
};

// Files of word vectors as text: on every line a word and its numbers, one space between (GloVe, and word2vec's text format, whose first line
// says how many there are and how long). Such files are large: only lines of requested words are read as numbers. Words with spaces,
// of which GloVe's largest file has a few (". . ."), are ignored.
using WantsWord = std::function<bool(std::string_view word)>;
using TakeVector = std::function<void(std::string_view word, const std::vector<float>& numbers)>;

// The vectors of wanted words in the order of the file; a repeated word is given twice. Returns how many numbers a vector has.
// FileErrors with the line: another count of numbers than on the lines before (of any word); something else than a finite number behind a
// wanted word. And a file without a vector, and those of TextLines.
size_t for_each_word_vector(const std::string& path, const WantsWord& is_wanted, const TakeVector& take);

}  // namespace debias

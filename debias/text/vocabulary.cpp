#include "debias/text/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "debias/core/config.h"
#include "debias/core/error.h"
#include "debias/text/characters.h"

namespace debias {

Vocabulary Vocabulary::read(const std::string& path) {
  TextLines lines(path);
  std::vector<std::string> words;
  std::unordered_map<std::string, int64_t> seen;
  for (std::string_view line; lines.next(line);) {
    if (line.empty()) lines.refuse("no word; a vocabulary has one on every line");
    if (words.empty() && line != kUnknownWord)
      lines.refuse("the first word of a vocabulary is <unk>; make one with debias text vocabulary");
    const auto [before, is_new] = seen.emplace(line, lines.number());
    if (!is_new) lines.refuse(fmt::format("word {} is on line {} already", printable(line), before->second));
    words.emplace_back(line);
    if (words.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) lines.refuse("too many words");
  }
  if (words.size() < 2) throw FileError(path, "no word beside <unk>");
  return Vocabulary(std::move(words));
}

Vocabulary::Vocabulary(std::vector<std::string> words) : words_(std::move(words)) {
  numbers_.reserve(words_.size());
  for (size_t i = 0; i < words_.size(); ++i) numbers_.emplace(words_[i], static_cast<int32_t>(i));
}

int32_t Vocabulary::number(std::string_view word) const {
  const auto found = numbers_.find(word);
  return found == numbers_.end() ? 0 : found->second;
}

std::string Vocabulary::text() const {
  std::string all;
  for (const auto& word : words_) all += word + "\n";
  return all;
}

void WordCounter::add(const std::vector<std::string>& tokens) {
  for (const auto& token : tokens) ++counts_[token];
  tokens_ += static_cast<int64_t>(tokens.size());
}

Vocabulary WordCounter::vocabulary(int64_t size, int64_t least) const {
  std::vector<std::pair<int64_t, std::string>> ranked;
  for (const auto& [word, count] : counts_) {
    if (count >= least && word != kUnknownWord) ranked.emplace_back(-count, word);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> words = {std::string(kUnknownWord)};
  for (const auto& [count, word] : ranked) {
    if (static_cast<int64_t>(words.size()) >= size) break;
    words.push_back(word);
  }
  return Vocabulary(std::move(words));
}

int64_t WordCounter::occurrences(const Vocabulary& vocabulary) const {
  int64_t found = 0;
  for (const auto& word : vocabulary.words()) {
    const auto count = counts_.find(word);
    if (count != counts_.end() && word != kUnknownWord) found += count->second;
  }
  return found;
}

namespace {

float number_of(const TextLines& lines, std::string_view text) {
  double value = 0;
  if (!parse_number(text, &value)) lines.refuse(fmt::format("{} is not a number", printable(text)));
  if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max()))
    lines.refuse(fmt::format("{} is not finite in single precision", printable(text)));
  return static_cast<float>(value);
}

// Of " 0.1 -0.2 ...".
std::vector<float> numbers_behind(const TextLines& lines, std::string_view rest, size_t count) {
  std::vector<float> numbers;
  numbers.reserve(count);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const size_t end = std::min(rest.find(' '), rest.size());
    numbers.push_back(number_of(lines, rest.substr(0, end)));
    rest.remove_prefix(end);
  }
  return numbers;
}

// Of a line with more parts than a word and its numbers: whether those before the numbers are a word, and no further number.
bool has_spaced_word(std::string_view line, size_t dimensions) {
  for (size_t i = 0; i < dimensions; ++i) line.remove_suffix(line.size() - line.rfind(' '));
  const std::string_view last = line.substr(line.rfind(' ') + 1);
  double number = 0;
  return !last.empty() && !parse_number(last, &number);
}

}  // namespace

size_t for_each_word_vector(const std::string& path, const WantsWord& is_wanted, const TakeVector& take) {
  TextLines lines(path);
  size_t dimensions = 0;
  for (std::string_view line; lines.next(line);) {
    while (line.ends_with(' ')) line.remove_suffix(1);  // word2vec ends its lines with one
    const auto count = static_cast<size_t>(std::count(line.begin(), line.end(), ' '));
    if (lines.number() == 1 && count == 1) continue;  // how many, and how long
    if (dimensions == 0) dimensions = count;
    if (count > dimensions && has_spaced_word(line, dimensions)) continue;
    if (count == 0)
      lines.refuse("no numbers behind the word; every line of a file of word vectors is a word and its numbers, one space between");
    if (count != dimensions) {
      lines.refuse(fmt::format("{} numbers behind a word, {} on the lines before", count, dimensions));
    }
    const std::string_view word = line.substr(0, line.find(' '));
    if (is_wanted(word)) take(word, numbers_behind(lines, line.substr(word.size()), count));
  }
  if (dimensions == 0) throw FileError(path, "not one vector in it; expected a word and its numbers on every line");
  return dimensions;
}

}  // namespace debias

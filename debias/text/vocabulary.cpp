#include "debias/text/vocabulary.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "debias/core/file_error.h"
#include "debias/text/text_lines.h"

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

}  // namespace debias

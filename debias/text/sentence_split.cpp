#include "debias/text/sentence_split.h"

#include <algorithm>
#include <array>

#include "debias/text/characters.h"

namespace debias {
namespace {

using Text = std::u32string;
using View = std::u32string_view;

constexpr size_t kLongestHeading = 80;         // characters
constexpr size_t kLongestParagraph = 1 << 20;  // bytes; a text without a blank line is given in parts

// After these a period ends no sentence.
constexpr std::array<View, 36> kAbbreviations = {U"mr",  U"mrs",  U"ms",   U"messrs", U"mme",  U"mlle",  U"dr",  U"st",  U"esq",
                                                 U"rev", U"hon",  U"capt", U"col",    U"gen",  U"lieut", U"lt",  U"maj", U"sergt",
                                                 U"sgt", U"prof", U"jr",   U"sr",     U"vs",   U"viz",   U"cf",  U"vol", U"co",
                                                 U"ltd", U"i.e",  U"e.g",  U"bart",   U"supt", U"adm",   U"gov", U"pp",  U"messieurs"};

bool closes(char32_t c) { return View(U"\"'”’»)]}").find(c) != View::npos; }
bool opens(char32_t c) { return View(U"\"'“‘«([{`").find(c) != View::npos; }
bool ends(char32_t c) { return c == U'.' || c == U'!' || c == U'?' || c == U'…'; }

// One space between words, none at the ends, no emphasis marks.
Text tidied(std::string_view paragraph) {
  Text text;
  for (const char32_t c : characters(paragraph)) {
    if (c == U'_' || c == 0xfeff) continue;
    const bool space = is_space(c);
    if (space && (text.empty() || text.back() == U' ')) continue;
    text += space ? U' ' : c;
  }
  if (!text.empty() && text.back() == U' ') text.pop_back();
  return text;
}

bool has_letter(const Text& text) {
  return std::any_of(text.begin(), text.end(), [](char32_t c) { return is_word(c) && !(c >= U'0' && c <= U'9'); });
}

bool is_heading(const Text& text) {
  if (!has_letter(text)) return true;
  if (text.size() > kLongestHeading) return false;
  Text low = text;
  std::transform(low.begin(), low.end(), low.begin(), lower);
  if (low.starts_with(U"chapter ")) return true;
  const bool quoted = std::any_of(text.begin(), text.end(), [](char32_t c) { return opens(c) && c != U'(' && c != U'['; });
  return !quoted &&
         std::none_of(text.begin(), text.end(), [](char32_t c) { return is_word(c) && lower(c) == c && !(c >= U'0' && c <= U'9'); });
}

// True if the period at `at` belongs to the word before it.
bool is_abbreviation(const Text& text, size_t at) {
  size_t begin = at;
  while (begin > 0 && (is_word(text[begin - 1]) || text[begin - 1] == U'.')) --begin;
  Text word = text.substr(begin, at - begin);
  if (word.size() == 1 && is_upper(word[0]) && word[0] != U'I') return true;  // an initial; "so do I." ends a sentence
  std::transform(word.begin(), word.end(), word.begin(), lower);
  return std::find(kAbbreviations.begin(), kAbbreviations.end(), View(word)) != kAbbreviations.end();
}

// Behind the signs that begin at `at`: those that end a sentence, with quotes and brackets that close.
size_t signs_end(const Text& text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && (ends(text[end]) || closes(text[end]))) ++end;
  return end;
}

// True if the signs from `at` to `end` end a sentence.
bool ends_sentence(const Text& text, size_t at, size_t end) {
  if (end >= text.size() || text[end] != U' ') return false;
  size_t next = end + 1;
  const bool quoted = next < text.size() && opens(text[next]);
  while (next < text.size() && (opens(text[next]) || text[next] == U' ')) ++next;
  const bool begins = quoted || (next < text.size() && is_upper(text[next]));
  return begins && !(text[at] == U'.' && end == at + 1 && is_abbreviation(text, at));
}

}  // namespace

std::vector<std::string> split_sentences(std::string_view paragraph) {
  const Text text = tidied(paragraph);
  std::vector<std::string> sentences;
  if (is_heading(text)) return sentences;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!ends(text[i])) continue;
    const size_t end = signs_end(text, i);
    if (!ends_sentence(text, i, end)) {
      i = end - 1;  // what holds of the first of several signs holds of all: a text of signs alone is read once
      continue;
    }
    sentences.push_back(utf8(View(text).substr(begin, end - begin)));
    begin = i = end + 1;
  }
  if (begin < text.size()) sentences.push_back(utf8(View(text).substr(begin)));
  return sentences;
}

void SentenceSplitter::line(std::string_view text) {
  const bool blank = std::all_of(text.begin(), text.end(), [](char c) { return is_space(static_cast<unsigned char>(c)); });
  if (blank || paragraph_.size() > kLongestParagraph) end();
  if (blank) return;
  paragraph_ += paragraph_.empty() ? "" : " ";
  paragraph_ += text;
}

void SentenceSplitter::end() {
  for (const auto& sentence : split_sentences(paragraph_)) take_(sentence);
  paragraph_.clear();
}

}  // namespace debias

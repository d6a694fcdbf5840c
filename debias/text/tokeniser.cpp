#include "debias/text/tokeniser.h"

#include <algorithm>
#include <array>

#include "debias/text/characters.h"

namespace debias {
namespace {

using Text = std::u32string;
using View = std::u32string_view;

bool is_in(char32_t c, View set) { return set.find(c) != View::npos; }

// Spaces on both sides of every character of `set`.
void pad_each(Text& text, View set) {
  if (text.find_first_of(set) == Text::npos) return;
  Text out;
  out.reserve(text.size() + 8);
  for (const char32_t c : text) {
    if (!is_in(c, set)) {
      out += c;
      continue;
    }
    out += U' ';
    out += c;
    out += U' ';
  }
  text = std::move(out);
}

// Matches every run of at least `least` of a character.
void pad_runs(Text& text, char32_t of, size_t least) {
  if (text.find(Text(least, of)) == Text::npos) return;
  Text out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && text[end] == of) ++end;
    const bool pads = end - i >= least;
    if (pads) out += U' ';
    out.append(text, i, std::max<size_t>(end - i, 1));
    if (pads) out += U' ';
    i = std::max(end, i + 1);
  }
  text = std::move(out);
}

// From the left, none overlapping another.
void replace_all(Text& text, View what, View with) {
  size_t at = text.find(what);
  if (at == Text::npos) return;
  Text out;
  size_t done = 0;
  for (; at != Text::npos; at = text.find(what, done)) {
    out.append(text, done, at - done).append(with);
    done = at + what.size();
  }
  out.append(text, done);
  text = std::move(out);
}

// \b of Python's re before position `at`.
bool is_boundary(const Text& text, size_t at) {
  const bool before = at > 0 && is_word(text[at - 1]), after = at < text.size() && is_word(text[at]);
  return before != after;
}

bool matches_without_case(const Text& text, size_t at, View word) {
  if (at + word.size() > text.size()) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    if (lower(text[at + i]) != word[i]) return false;
  }
  return true;
}

// A quotation mark after a space or an opening bracket.
void open_quotes(Text& text) {
  if (text.find_first_of(U"\"'") == Text::npos) return;
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (!is_in(text[i], U" ([{<") || i + 1 == text.size()) continue;
    const size_t size = text[i + 1] == U'"' ? 1 : text.compare(i + 1, 2, U"''") == 0 ? 2 : 0;
    if (size == 0) continue;
    out += U" `` ";
    i += size;
  }
  text = std::move(out);
}

// An apostrophe before a word of one letter that is not a clitic opens a quotation: "'a" -> "' a". Longer words keep theirs.
void part_opening_apostrophes(Text& text) {
  for (size_t at = text.find(U'\''); at != Text::npos; at = text.find(U'\'', at + 1)) {
    const bool one_letter = at + 1 < text.size() && is_word(text[at + 1]) && is_boundary(text, at + 2);
    if (one_letter && !is_in(lower(text[at + 1]), U"mtsdn")) text.insert(at + 1, 1, U' ');
  }
}

// The period that ends the text, though quotes, brackets and spaces follow.
void part_final_period(Text& text) {
  const size_t at = text.rfind(U'.');
  if (at == Text::npos || at == 0 || text[at - 1] == U'.') return;
  size_t end = at + 1;
  while (end < text.size() && is_in(text[end], U"])}>\"'»”’ ")) ++end;
  if (!std::all_of(text.begin() + static_cast<std::ptrdiff_t>(end), text.end(), is_space)) return;
  text = text.substr(0, at) + U" . " + text.substr(at + 1, end - at - 1) + U" ";
}

bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }

// Colons and commas, but those between a character and a digit: 3,36 and 10:30 stay. The one after a padded one is its neighbour, which
// stays as it is.
void part_commas(Text& text) {
  if (text.find_first_of(U":,") == Text::npos) return;
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool ends = i + 1 == text.size();
    if (!is_in(text[i], U":,") || (!ends && is_digit(text[i + 1]))) {
      out += text[i];
      continue;
    }
    out += U' ';
    out += text[i];
    out += U' ';
    if (!ends) out += text[++i];
  }
  if (!out.empty() && is_in(out.back(), U":,")) {
    out.insert(out.size() - 1, 1, U' ');
    out += U' ';
  }
  text = std::move(out);
}

// "dogs' " -> "dogs ' ".
void part_closing_apostrophes(Text& text) {
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] != U'\'' || text[i + 1] != U' ' || text[i - 1] == U'\'') continue;
    text.insert(i, 1, U' ');
    i += 2;
  }
}

void join_spaces(Text& text) {
  size_t end = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool space = is_space(text[i]);
    if (space && end > 0 && text[end - 1] == U' ') continue;
    text[end++] = space ? U' ' : text[i];
  }
  text.resize(end);
}

// Puts a space before each `suffix` that has a character other than an apostrophe or a space before it, and a space behind.
template <size_t N>
void part_suffixes(Text& text, const std::array<View, N>& suffixes) {
  if (text.find(U'\'') == Text::npos) return;
  for (size_t i = 1; i < text.size(); ++i) {
    if (is_in(text[i - 1], U"' ")) continue;
    for (const View suffix : suffixes) {
      if (text.compare(i, suffix.size(), suffix) != 0 || i + suffix.size() >= text.size() || text[i + suffix.size()] != U' ') continue;
      text.insert(i, 1, U' ');
      i += suffix.size() + 1;  // at the space behind, which the rule has taken
      break;
    }
  }
}

// "cannot" -> " can not "; `first` begins at a boundary, `second` ends at one.
void part_halves(Text& text, View first, View second, bool before_space = false) {
  for (size_t i = 0; i + first.size() + second.size() <= text.size(); ++i) {
    const size_t end = i + first.size() + second.size();
    if (!matches_without_case(text, i, first) || !matches_without_case(text, i + first.size(), second)) continue;
    if (!is_boundary(text, i) || !(before_space ? end < text.size() && is_space(text[end]) : is_boundary(text, end))) continue;
    text.insert(end, 1, U' ');
    text.insert(i + first.size(), 1, U' ');
    text.insert(i, 1, U' ');
    i = end + 2;
  }
}

// " 'tis" -> " 't is".
void part_elision(Text& text, View rest) {
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end = i + 3 + rest.size();
    if (!matches_without_case(text, i, U" 't") || !matches_without_case(text, i + 3, rest) || !is_boundary(text, end)) continue;
    text.insert(end, 1, U' ');
    text.insert(i + 3, 1, U' ');
    i = end + 1;
  }
}

void part_contractions(Text& text) {
  static constexpr std::array<View, 7> kOne = {U"'s", U"'S", U"'m", U"'M", U"'d", U"'D", U"'"};
  static constexpr std::array<View, 8> kTwo = {U"'ll", U"'LL", U"'re", U"'RE", U"'ve", U"'VE", U"n't", U"N'T"};
  part_suffixes(text, kOne);
  part_suffixes(text, kTwo);
  part_halves(text, U"can", U"not");
  part_halves(text, U"d", U"'ye");
  part_halves(text, U"gim", U"me");
  part_halves(text, U"gon", U"na");
  part_halves(text, U"got", U"ta");
  part_halves(text, U"lem", U"me");
  part_halves(text, U"more", U"'n");
  part_halves(text, U"wan", U"na", /*before_space=*/true);
  part_elision(text, U"is");
  part_elision(text, U"was");
}

std::vector<std::string> words_between_spaces(const Text& text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && !is_space(text[end])) ++end;
    if (end > i) words.push_back(utf8(View(text).substr(i, end - i)));
    i = end + 1;
  }
  return words;
}

}  // namespace

std::vector<std::string> tokenise(const std::u32string& sentence) {
  Text text = sentence;
  pad_each(text, U"«“‘„");
  pad_runs(text, U'`', 1);
  if (!text.empty() && text[0] == U'"') text.replace(0, 1, U"``");
  replace_all(text, U"``", U" `` ");
  open_quotes(text);
  part_opening_apostrophes(text);
  part_final_period(text);
  part_commas(text);
  pad_runs(text, U'.', 2);
  pad_each(text, U";@#$%&");
  pad_each(text, U"\u2012\u2013\u2014\u2015");
  pad_each(text, U"?!");
  part_closing_apostrophes(text);
  pad_each(text, U"*");
  pad_each(text, U"[](){}<>");
  replace_all(text, U"--", U" -- ");
  text = U" " + text + U" ";
  pad_each(text, U"»”’");
  replace_all(text, U"''", U" '' ");
  replace_all(text, U"\"", U" '' ");
  join_spaces(text);
  part_contractions(text);
  return words_between_spaces(text);
}

std::vector<std::string> tokenise(std::string_view sentence) { return tokenise(characters(sentence)); }

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

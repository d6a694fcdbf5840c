#include "debias/core/normal_form.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "debias/core/printable.h"

namespace debias {
namespace {

#include "debias/core/unicode_tables.inc"

// Syllables of Hangul are composed by arithmetic (Unicode Standard 3.12).
constexpr uint32_t kSyllables = 0xac00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11a7;
constexpr uint32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28, kSyllableCount = kLeadCount * kVowelCount * kTailCount;

constexpr uint32_t kByte = 0x110000;  // and above: bytes that are not UTF-8

struct UnicodeTables {
  std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>> parts;  // of a character; the second is 0 where it has one
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> composed;
  std::unordered_map<uint32_t, uint32_t> mark_class, lower_case;

  UnicodeTables() {
    for (size_t i = 0; i < std::size(kComposed); i += 3) {
      parts[kComposed[i]] = {kComposed[i + 1], kComposed[i + 2]};
      composed[{kComposed[i + 1], kComposed[i + 2]}] = kComposed[i];
    }
    for (size_t i = 0; i < std::size(kTakenApart); i += 3) parts[kTakenApart[i]] = {kTakenApart[i + 1], kTakenApart[i + 2]};
    for (size_t i = 0; i < std::size(kReplaced); i += 2) parts[kReplaced[i]] = {kReplaced[i + 1], 0};
    for (size_t i = 0; i < std::size(kMarks); i += 3) {
      for (uint32_t code = kMarks[i]; code <= kMarks[i + 1]; ++code) mark_class[code] = kMarks[i + 2];
    }
    for (size_t i = 0; i < std::size(kLowerCase); i += 4) {
      for (int32_t code = kLowerCase[i]; code <= kLowerCase[i + 1]; code += kLowerCase[i + 2]) {
        lower_case[static_cast<uint32_t>(code)] = static_cast<uint32_t>(code + kLowerCase[i + 3]);
      }
    }
  }
};

const UnicodeTables& unicode_tables() {
  static const UnicodeTables tables;
  return tables;
}

bool all_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::vector<uint32_t> characters(std::string_view text) {
  std::vector<uint32_t> codes;
  while (!text.empty()) {
    const Utf8Character found = first_utf8_character(text);
    codes.push_back(found.size == 0 ? kByte + static_cast<unsigned char>(text[0]) : found.code);
    text.remove_prefix(std::max<size_t>(found.size, 1));
  }
  return codes;
}

void append(uint32_t code, std::string& text) {
  if (code >= kByte) {
    text += static_cast<char>(code - kByte);
  } else {
    append_utf8(code, text);
  }
}

std::string text_of(const std::vector<uint32_t>& codes) {
  std::string text;
  for (const uint32_t code : codes) append(code, text);
  return text;
}

void take_apart(uint32_t code, std::vector<uint32_t>& parts) {
  if (code - kSyllables < kSyllableCount) {
    const uint32_t place = code - kSyllables, tail = place % kTailCount;
    parts.push_back(kLeads + place / (kVowelCount * kTailCount));
    parts.push_back(kVowels + place / kTailCount % kVowelCount);
    if (tail > 0) parts.push_back(kTails + tail);
    return;
  }
  const auto found = unicode_tables().parts.find(code);
  if (found == unicode_tables().parts.end()) {
    parts.push_back(code);
    return;
  }
  take_apart(found->second.first, parts);
  if (found->second.second != 0) parts.push_back(found->second.second);
}

uint32_t mark_class(uint32_t code) {
  const auto found = unicode_tables().mark_class.find(code);
  return found == unicode_tables().mark_class.end() ? 0 : found->second;
}

// 0 where the two are not parts of one character.
uint32_t composed_of(uint32_t first, uint32_t second) {
  if (first - kLeads < kLeadCount && second - kVowels < kVowelCount) {
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTailCount;
  }
  const bool has_no_tail = first - kSyllables < kSyllableCount && (first - kSyllables) % kTailCount == 0;
  if (has_no_tail && second > kTails && second < kTails + kTailCount) return first + (second - kTails);
  const auto found = unicode_tables().composed.find({first, second});
  return found == unicode_tables().composed.end() ? 0 : found->second;
}

std::vector<uint32_t> normal_characters(std::string_view text) {
  std::vector<uint32_t> codes;
  for (const uint32_t code : characters(text)) take_apart(code, codes);
  for (size_t begin = 0; begin < codes.size();) {  // marks in the order of their classes
    size_t end = begin;
    while (end < codes.size() && mark_class(codes[end]) != 0) ++end;
    std::stable_sort(codes.begin() + static_cast<std::ptrdiff_t>(begin), codes.begin() + static_cast<std::ptrdiff_t>(end),
                     [](uint32_t a, uint32_t b) { return mark_class(a) < mark_class(b); });
    begin = end + 1;
  }
  constexpr size_t kNone = SIZE_MAX;
  std::vector<uint32_t> result;
  size_t starter = kNone;
  uint32_t last = 0;  // class of the mark before
  for (const uint32_t code : codes) {
    const uint32_t own = mark_class(code);
    const bool adjacent = starter != kNone && starter + 1 == result.size();
    if (starter != kNone && (adjacent || last < own)) {
      if (const uint32_t whole = composed_of(result[starter], code); whole != 0) {
        result[starter] = whole;
        continue;
      }
    }
    if (own == 0) starter = result.size();
    last = own;
    result.push_back(code);
  }
  return result;
}

bool has_no_width(uint32_t code) { return code == 0x200b || code == 0x2060 || code == 0xfeff; }

bool is_blank(uint32_t code) {
  return (code >= 9 && code <= 13) || code == ' ' || code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
         code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

}  // namespace

void append_utf8(uint32_t code, std::string& text) {
  const auto more = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6), more(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12), more(6), more(0);
  } else {
    text += static_cast<char>(0xf0 | code >> 18), more(12), more(6), more(0);
  }
}

std::string normal_form(std::string_view text) { return all_ascii(text) ? std::string(text) : text_of(normal_characters(text)); }

std::string without_case(std::string_view text) {
  if (all_ascii(text)) {
    std::string lower(text);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return lower;
  }
  std::vector<uint32_t> codes = normal_characters(text);
  for (uint32_t& code : codes) {
    if (code >= 'A' && code <= 'Z') code = code - 'A' + 'a';
    const auto found = unicode_tables().lower_case.find(code);
    if (found != unicode_tables().lower_case.end()) code = found->second;
  }
  return text_of(codes);
}

std::string_view without_blanks(std::string_view text) {
  const auto is_outer = [](std::string_view rest) {
    const uint32_t code = first_utf8_character(rest).code;
    return first_utf8_character(rest).size > 0 && (is_blank(code) || has_no_width(code));
  };
  while (!text.empty() && is_outer(text)) text.remove_prefix(first_utf8_character(text).size);
  while (!text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && text.size() - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
    if (!is_outer(text.substr(begin))) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

std::string plain_text(std::string_view text) {
  text = without_blanks(text);
  const bool is_plain =
      all_ascii(text) && text.find("  ") == std::string_view::npos && text.find_first_of("\t\n\v\f\r") == std::string_view::npos;
  if (is_plain) return std::string(text);
  std::string plain;
  bool blank = false;
  for (const uint32_t code : normal_characters(text)) {
    if (has_no_width(code)) continue;
    if (!is_blank(code)) append(code, plain);
    if (is_blank(code) && !blank) plain += ' ';
    blank = is_blank(code);
  }
  return plain;
}

}  // namespace debias

#include "debias/audit/common_words.h"

#include <algorithm>
#include <functional>
#include <map>

#include "debias/audit/categories.h"

namespace debias {
namespace {

enum class CharacterKind { kLetter, kDigit, kOther };

CharacterKind kind_of(char c) {
  if (c >= '0' && c <= '9') return CharacterKind::kDigit;
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  return is_letter ? CharacterKind::kLetter : CharacterKind::kOther;
}

// The letters, or the digits, at the beginning.
std::string first_run(const std::string& text) {
  std::string run;
  for (const char c : text) {
    if (kind_of(c) == CharacterKind::kOther || (!run.empty() && kind_of(c) != kind_of(run[0]))) break;
    run += c;
  }
  return run;
}

// Between blanks and punctuation.
std::vector<std::string> fields_of(const std::string& text) {
  std::vector<std::string> fields;
  bool in_field = false;
  for (const char c : text) {
    const bool belongs = kind_of(c) != CharacterKind::kOther;
    if (belongs && !in_field) fields.emplace_back();
    if (belongs) fields.back() += c;
    in_field = belongs;
  }
  return fields;
}

// Adds the parts that are common, if nine of ten texts have one of them.
void add_part(const std::vector<std::string>& parts, int64_t known, std::vector<std::string>& common) {
  constexpr int64_t kOneOf = 20, kTexts = 10, kCovered = 9;
  const int64_t least = std::max(kLeastRows, known / kOneOf);
  std::map<std::string_view, int64_t> rows;
  for (const std::string& part : parts) rows[part] += part.empty() ? 0 : 1;
  int64_t covered = 0;
  for (const auto& [part, count] : rows) covered += count >= least ? count : 0;
  if (kTexts * covered < kCovered * known) return;
  for (size_t i = 0; i < parts.size(); ++i) common[i] += (rows.at(parts[i]) >= least ? parts[i] : "") + "/";
}

}  // namespace

std::vector<std::string> common_words(const std::vector<std::string>& texts) {
  constexpr size_t kFields = 8;
  std::vector<std::vector<std::string>> fields;
  for (const std::string& text : texts) fields.push_back(fields_of(text));
  const auto known = std::ranges::count_if(texts, [](const std::string& text) { return !text.empty(); });
  std::vector<std::string> common(texts.size()), parts(texts.size());
  const auto add = [&](const std::function<std::string(size_t)>& part_of_text) {
    for (size_t i = 0; i < texts.size(); ++i) parts[i] = part_of_text(i);
    add_part(parts, known, common);
  };
  add([&](size_t i) { return first_run(texts[i]); });
  add([&](size_t i) {
    const std::string run = first_run(std::string(texts[i].rbegin(), texts[i].rend()));
    return std::string(run.rbegin(), run.rend());
  });
  for (size_t place = 0; place < kFields; ++place) add([&](size_t i) { return place < fields[i].size() ? fields[i][place] : ""; });
  add([&](size_t i) { return fields[i].empty() ? "" : fields[i].back(); });
  return common;
}

}  // namespace debias

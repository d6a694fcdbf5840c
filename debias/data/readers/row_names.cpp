#include "debias/data/readers/row_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

#include "debias/core/normal_form.h"
#include "debias/core/printable.h"
#include "debias/data/readers/csv_table.h"
#include "debias/data/sample_table.h"

namespace debias {
namespace {

constexpr std::array kNameChanges = {NameChange::kForm,  NameChange::kCase, NameChange::kFolder, NameChange::kEnding,
                                     NameChange::kSigns, NameChange::kKind, NameChange::kTail};
constexpr std::array<std::string_view, 12> kInnerEndings = {".jpg",  ".jpeg", ".png",  ".bmp", ".gif", ".tif",
                                                            ".tiff", ".webp", ".heic", ".dcm", ".nii", ".npy"};  // before another one
constexpr size_t kLongestEnding = 5;                                                                             // .jpeg, without the point

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// With its point; empty without one. Numbers are none: "scan.12".
std::string_view ending(std::string_view path) {
  const std::string_view part = last_part(path);
  const size_t point = part.rfind('.');
  if (point == std::string_view::npos || point == 0) return {};
  const std::string_view end = part.substr(point + 1);
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_sign = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  const bool found =
      !end.empty() && end.size() <= kLongestEnding && std::ranges::all_of(end, is_sign) && std::ranges::any_of(end, is_letter);
  return found ? part.substr(point) : std::string_view();
}

// "a b" of "a%20b".
std::string without_percent_signs(const std::string& name) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    unsigned value = 0;
    const char* digits = name.data() + i + 1;
    const bool is_code =
        name[i] == '%' && i + 2 < name.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2 && value >= ' ';
    text += is_code ? static_cast<char>(value) : name[i];
    i += is_code ? 2 : 0;
  }
  return text;
}

bool is_by_part(NameChange change) { return change >= NameChange::kFolder; }

std::string changed_name(const std::string& name, NameChange change) {
  std::string text = plain_text(change == NameChange::kSigns ? without_percent_signs(name) : name);
  std::ranges::replace(text, '\\', '/');
  text = normal_path(text);
  if (change == NameChange::kForm) return text;
  text = without_case(text);
  if (change == NameChange::kSigns) text.resize(std::min(text.size(), text.find('?')));  // the query of an address
  if (change == NameChange::kEnding || change >= NameChange::kKind) text.resize(text.size() - ending(text).size());
  if (change >= NameChange::kKind && std::ranges::find(kInnerEndings, ending(text)) != kInnerEndings.end())
    text.resize(text.size() - ending(text).size());
  return text;
}

bool ends_with_part(std::string_view whole, std::string_view end) {
  return whole == end || (whole.size() > end.size() && whole.ends_with(end) && whole[whole.size() - end.size() - 1] == '/');
}

// The number of their last parts that are the same.
int64_t common_parts(std::string_view a, std::string_view b) {
  int64_t parts = 0;
  while (!a.empty() && last_part(a) == last_part(b)) {
    ++parts;
    const size_t of_a = a.rfind('/'), of_b = b.rfind('/');
    if (of_a == std::string_view::npos || of_b == std::string_view::npos) break;
    a = a.substr(0, of_a), b = b.substr(0, of_b);
  }
  return parts;
}

// "/home/a/1.png", "C:\\a\\1.png", "file:///a/1.png".
bool is_whole_path(std::string_view name) {
  const size_t colon = name.find(':');
  return name.starts_with('/') || name.starts_with('\\') || name.starts_with('~') ||
         (colon != std::string_view::npos && colon + 1 < name.size() && (name[colon + 1] == '/' || name[colon + 1] == '\\'));
}

const char* name_change(NameChange change) {
  switch (change) {
    case NameChange::kForm:
      return "Unicode form, blanks or slashes";
    case NameChange::kCase:
      return "case";
    case NameChange::kFolder:
    case NameChange::kTail:
      return "folder";
    case NameChange::kSigns:
      return "percent signs";
    case NameChange::kEnding:
    case NameChange::kKind:
      break;
  }
  return "ending";
}

struct ChangedNames {
  int64_t rows = 0;
  std::string first, sample;
};

std::string note_on(const ChangedNames& changed, NameChange change) {
  const bool one = changed.rows == 1;
  return fmt::format("{} of {} in {} from what {}, such as '{}' for '{}'; {} joined",
                     one ? "1 name" : fmt::format("{} names", changed.rows), one ? "a row differs" : "rows differ", name_change(change),
                     one ? "it names" : "they name", changed.first, changed.sample, one ? "it is" : "they are");
}

}  // namespace

void refuse_two(const std::string& csv, const RowName& row, const std::string& first, const std::string& second) {
  refuse_line(csv, row.line, fmt::format("{} may be {} or {}; write the name with its folder", row.name, in_utf8(first), in_utf8(second)));
}

std::string normal_path(const std::string& path) { return std::filesystem::path(path).lexically_normal().generic_string(); }

SampleNames::SampleNames(std::vector<std::string> names) : names_(std::move(names)) {
  for (size_t i = 0; i < names_.size(); ++i) places_.emplace(names_[i], static_cast<int64_t>(i));
}

std::optional<int64_t> SampleNames::find(const std::string& name) const {
  auto found = places_.find(name);
  if (found == places_.end()) found = places_.find(name_of_utf8(name));
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

const SampleNames::Places& SampleNames::places_by(NameChange change) const {
  std::optional<Places>& places = changed_[static_cast<size_t>(change)];
  if (places) return *places;
  places.emplace();
  const bool by_part = is_by_part(change);
  for (size_t i = 0; i < names_.size(); ++i) {
    const std::string name = changed_name(names_[i], change);
    (*places)[by_part ? std::string(last_part(name)) : name].push_back(static_cast<int64_t>(i));
  }
  return *places;
}

std::vector<int64_t> SampleNames::find_changed(const std::string& name, NameChange change) const {
  const bool by_part = is_by_part(change);
  const std::string own = changed_name(name, change);
  const Places& places = places_by(change);
  const auto candidates = places.find(by_part ? std::string(last_part(own)) : own);
  if (candidates == places.end() || last_part(own).empty()) return {};
  std::vector<int64_t> found;
  int64_t most = is_whole_path(name) ? 1 : 2;  // parts that fit
  for (const int64_t place : candidates->second) {
    const std::string& sample = names_[static_cast<size_t>(place)];
    if (change == NameChange::kTail) {
      const int64_t parts = common_parts(own, changed_name(sample, change));
      if (parts > most) found.clear();
      if (parts >= most && found.size() < 2) found.push_back(place);
      most = std::max(most, parts);
      continue;
    }
    if (by_part) {
      const std::string other = changed_name(sample, change);
      if (!ends_with_part(own, other) && !ends_with_part(other, own)) continue;
    }
    if (change == NameChange::kEnding && !ending(name).empty() && !ending(sample).empty()) continue;
    found.push_back(place);
    if (found.size() == 2) break;
  }
  return found;
}

std::vector<std::string> split_fields(const CsvTable& table) {
  const auto split = table.find("split");
  return split ? table.fields(*split).values : std::vector<std::string>();
}

std::vector<int64_t> repeated_rows(const CsvTable& table, const std::string& title, const std::vector<std::string>& names,
                                   const std::vector<std::string>& splits) {
  std::map<std::pair<std::string_view, std::string_view>, size_t> first;
  std::vector<int64_t> repeated;
  for (size_t r = 0; r < names.size(); ++r) {
    const CsvRecord& row = table.rows()[r];
    if (names[r].empty()) refuse_line(table.path(), row.line, fmt::format("no {} is given", title));
    const auto [found, is_new] = first.emplace(std::pair<std::string_view, std::string_view>(names[r], splits.empty() ? "" : splits[r]), r);
    if (is_new) continue;
    const CsvRecord& other = table.rows()[found->second];
    if (row.fields != other.fields)
      refuse_line(table.path(), row.line, fmt::format("'{}' is given twice, first in line {}", names[r], other.line));
    repeated.push_back(static_cast<int64_t>(r));
  }
  return repeated;
}

std::string note_on_repeated(const CsvTable& table, const std::vector<int64_t>& repeated) {
  const bool one = repeated.size() == 1;
  return fmt::format("{} left out, {} in line {}",
                     one ? "1 row repeats an earlier one and is" : fmt::format("{} rows repeat earlier ones and are", repeated.size()),
                     one ? "it is" : "the first", table.rows()[static_cast<size_t>(repeated.front())].line);
}

std::optional<size_t> naming_column(const CsvTable& table, const SampleNames& samples, const std::vector<size_t>& taken) {
  const auto exact = [&](const std::string& name) {
    const auto found = samples.find(normal_path(name));
    return found ? std::vector<int64_t>{*found} : std::vector<int64_t>();
  };
  for (int level = -1; level < static_cast<int>(kNameChanges.size()); ++level) {
    std::optional<size_t> best;
    int64_t most = 0;
    for (size_t c = 0; c < table.titles().size(); ++c) {
      if (std::ranges::find(taken, c) != taken.end()) continue;
      std::vector<bool> seen(static_cast<size_t>(samples.size()));
      int64_t named = 0;
      for (const CsvRecord& row : table.rows()) {
        const std::string& name = row.fields[c];
        const auto found = level < 0 ? exact(name) : samples.find_changed(name, kNameChanges[static_cast<size_t>(level)]);
        if (found.size() != 1 || seen[static_cast<size_t>(found[0])]) continue;
        seen[static_cast<size_t>(found[0])] = true;
        ++named;
      }
      if (named > most) best = c, most = named;
    }
    if (best && (2 * most >= samples.size() || 2 * most >= std::ssize(table.rows()))) return best;
  }
  return std::nullopt;
}

JoinedRows join_rows(const std::string& csv, const std::vector<RowName>& rows, const SampleNames& samples,
                     const std::function<std::optional<int64_t>(const RowName&)>& exact) {
  JoinedRows joined{std::vector<int64_t>(static_cast<size_t>(samples.size()), kUnknown), {}, {}};
  std::vector<bool> is_changed(joined.of_sample.size());
  const auto take = [&](int64_t sample, int64_t r) {
    int64_t& own = joined.of_sample[static_cast<size_t>(sample)];
    if (own != kUnknown) {
      const RowName &row = rows[static_cast<size_t>(r)], &first = rows[static_cast<size_t>(own)];
      refuse_line(csv, row.line, fmt::format("{} is the same image as {} of line {}", row.name, first.name, first.line));
    }
    own = r;
  };
  std::vector<int64_t> rest;
  for (int64_t r = 0; r < std::ssize(rows); ++r) {
    const std::optional<int64_t> sample = exact(rows[static_cast<size_t>(r)]);
    if (!sample) {
      rest.push_back(r);
    } else if (*sample == kUnknown) {
      joined.strays.push_back(r);
    } else {
      take(*sample, r);
    }
  }
  for (const NameChange change : kNameChanges) {
    ChangedNames changed;
    std::vector<int64_t> unnamed;
    if (change >= NameChange::kKind) is_changed.assign(is_changed.size(), false);  // a weak likeness does not dispute a stronger one
    for (const int64_t r : rest) {
      const RowName& row = rows[static_cast<size_t>(r)];
      const std::vector<int64_t> found = samples.find_changed(row.name, change);
      if (found.size() == 2 && change < NameChange::kKind) refuse_two(csv, row, samples.name(found[0]), samples.name(found[1]));
      const size_t sample = found.empty() ? 0 : static_cast<size_t>(found[0]);
      if (found.size() != 1 || (joined.of_sample[sample] != kUnknown && !is_changed[sample])) {
        unnamed.push_back(r);
        continue;
      }
      take(found[0], r);
      is_changed[sample] = true;
      if (changed.rows++ == 0) changed = {1, row.name, in_utf8(samples.name(found[0]))};
    }
    rest = std::move(unnamed);
    if (changed.rows > 0) joined.notes.push_back(note_on(changed, change));
  }
  joined.strays.insert(joined.strays.end(), rest.begin(), rest.end());
  std::ranges::sort(joined.strays);
  return joined;
}

}  // namespace debias

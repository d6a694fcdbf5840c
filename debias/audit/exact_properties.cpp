#include "debias/audit/exact_properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "debias/core/config.h"
#include "debias/data/readers/table_column.h"

namespace debias {
namespace {

constexpr int64_t kLeastOfValue = 4;  // rows; rarer values are one
constexpr size_t kMostNames = 12;     // numbers with at most so many distinct values number sites or devices

bool all_numbers(const std::vector<std::string>& values) {
  double number = 0;
  return std::ranges::all_of(values, [&](const std::string& value) { return value.empty() || parse_number(value, &number); });
}

// Whether red, green and blue are one, as in scans and in images of grey palettes: photographs in colour never are.
std::string grey_or_colour(const Picture& picture) {
  constexpr int kRounding = 2;
  const std::vector<uint8_t>& rgb = picture.thumbnail;
  for (size_t i = 0; i + 2 < rgb.size(); i += 3) {
    if (std::abs(rgb[i] - rgb[i + 1]) > kRounding || std::abs(rgb[i + 2] - rgb[i + 1]) > kRounding) return "colour";
  }
  return "grey";
}

}  // namespace

std::vector<MeasuredProperty> file_properties(const PictureRows& rows) {
  std::vector<MeasuredProperty> found;
  for (size_t f = 0; f < kFileFacts; ++f) {
    std::vector<std::string> texts;
    for (const Picture& picture : rows.pictures) texts.push_back(picture.facts.facts[f]);
    if (std::set<std::string_view>(texts.begin(), texts.end()).size() < 2) continue;
    found.push_back({text_property(std::string(name_of(static_cast<FileFact>(f))), PropertyKind::kFile, texts, kLeastOfValue),
                     [f](const Picture& picture) { return picture.facts.facts[f]; }});
  }
  std::vector<std::string> colours;
  for (const Picture& picture : rows.pictures) colours.push_back(grey_or_colour(picture));
  found.push_back({text_property("grey or colour", PropertyKind::kFile, colours, kLeastOfValue), grey_or_colour});
  for (size_t m = 0; m < kFileMeasures; ++m) {
    std::vector<double> numbers;
    for (const Picture& picture : rows.pictures) numbers.push_back(picture.facts.measures[m]);
    if (std::set<double>(numbers.begin(), numbers.end()).size() < 2) continue;
    const auto measure = static_cast<FileMeasure>(m);
    Property property = number_property(std::string(name_of(measure)), PropertyKind::kFile, numbers);
    if (measure == FileMeasure::kBytesPerPixel) {  // depends on what the image shows
      property.may_be_shortcut = false;
      property.exact = false;
    }
    found.push_back({std::move(property), {}});
  }
  return found;
}

Property column_property(const AuditColumn& column) {
  std::vector<std::string> texts = column.values;
  for (std::string& text : texts) {
    if (is_missing_value(text)) text.clear();
  }
  const std::set<std::string_view> distinct(texts.begin(), texts.end());
  if (distinct.size() <= kMostNames + 1 || !all_numbers(texts))
    return text_property(column.name, PropertyKind::kColumn, texts, kLeastOfValue);
  std::vector<double> numbers;
  for (const std::string& text : texts) {
    double number = std::numeric_limits<double>::quiet_NaN();
    if (!text.empty()) parse_number(text, &number);
    numbers.push_back(number);
  }
  return number_property(column.name, PropertyKind::kColumn, numbers);
}

std::string constant_column(const std::vector<std::string>& values) {
  const std::set<std::string_view> distinct(values.begin(), values.end());
  return distinct.size() < 2 ? fmt::format("has a single value ('{}')", distinct.empty() ? "" : *distinct.begin()) : "";
}

std::string unusable_column(const std::vector<std::string>& values) {
  const std::set<std::string_view> distinct(values.begin(), values.end());
  if (2 * distinct.size() > values.size() && !all_numbers(values)) return "has another value in nearly every row, as an identifier has";
  return "";
}

}  // namespace debias

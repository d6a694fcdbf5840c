#include "debias/audit/name_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "debias/audit/common_words.h"
#include "debias/audit/running_numbers.h"
#include "debias/core/config.h"

namespace debias {
namespace {

constexpr size_t kNumberPlaces = 4;

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

std::vector<std::string> digit_runs(const std::string& stem) {
  std::vector<std::string> runs;
  for (size_t i = 0; i < stem.size(); ++i) {
    if (!is_decimal(stem[i])) continue;
    if (i == 0 || !is_decimal(stem[i - 1])) runs.emplace_back();
    runs.back() += stem[i];
  }
  return runs;
}

std::string case_of(const std::string& stem) {
  const bool upper = std::ranges::any_of(stem, [](char c) { return c >= 'A' && c <= 'Z'; });
  const bool lower = std::ranges::any_of(stem, [](char c) { return c >= 'a' && c <= 'z'; });
  return upper && lower ? "mixed" : upper ? "upper" : lower ? "lower" : "none";
}

double number_of(const std::string& digits) {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (!digits.empty()) parse_number(digits, &number);
  return number;
}

std::string without_zeros(const std::string& digits) {
  const size_t first = digits.find_first_not_of('0');
  return digits.empty() ? "" : first == std::string::npos ? "0" : digits.substr(first);
}

bool has_leading_zero(const std::string& digits) { return digits.size() > 1 && digits[0] == '0'; }

// The digits of one place in all names; empty: the name has fewer numbers.
class NumberColumn {
 public:
  NumberColumn(std::string name, std::vector<std::string> digits, std::span<const int32_t> labels)
      : name_(std::move(name)), digits_(std::move(digits)), labels_(labels) {
    for (const std::string& own : digits_) numbers_.push_back(number_of(own));
    const auto audited = std::span(digits_).first(labels.size());
    padded_ = std::ranges::any_of(audited, has_leading_zero);
  }

  bool padded() const { return padded_; }

  void add(std::vector<FileColumn>& columns) const {
    if (padded_) columns.push_back(column(" digits", [](const std::string& own) { return std::to_string(own.size()); }));
    const std::span<const double> audited = std::span(numbers_).first(labels_.size());
    const bool counted = counts_by_class(audited, labels_);
    if (const std::vector<double> blocks = class_blocks(audited, labels_); !blocks.empty()) {
      columns.push_back(block_column(blocks));
      return;
    }
    if (!counted) columns.push_back(column("", without_zeros));
    columns.push_back(column(" last digit", [](const std::string& own) { return own.substr(own.size() - 1); }));
  }

 private:
  template <class Value>
  FileColumn column(const std::string& what, Value value) const {
    FileColumn column{name_ + what, FileColumnKind::kName, {}};
    for (const std::string& own : digits_) column.values.push_back(own.empty() ? "" : value(own));
    return column;
  }

  FileColumn block_column(const std::vector<double>& starts) const {
    FileColumn column{name_, FileColumnKind::kName, {}};
    for (const double number : numbers_) {
      column.values.push_back(fmt::format("block {}", std::ranges::upper_bound(starts, number) - starts.begin()));
    }
    return column;
  }

  std::string name_;
  std::vector<std::string> digits_;
  std::span<const int32_t> labels_;
  std::vector<double> numbers_;
  bool padded_ = false;
};

}  // namespace

std::vector<FileColumn> name_columns(const std::vector<std::string>& names, std::span<const int32_t> labels) {
  std::vector<std::string> stems;
  std::vector<std::vector<std::string>> runs;
  for (const std::string& name : names) {
    stems.push_back(std::filesystem::path(name).stem().string());
    runs.push_back(digit_runs(stems.back()));
  }
  std::vector<FileColumn> columns;
  std::vector<int64_t> lengths;
  for (const std::string& stem : stems) lengths.push_back(std::ssize(stem));
  for (size_t place = 0; place <= kNumberPlaces; ++place) {  // at last the last number
    std::vector<std::string> digits;
    for (const auto& own : runs) {
      const size_t at = place < kNumberPlaces ? place : own.size() - 1;
      digits.push_back(at < own.size() ? own[at] : "");
    }
    const NumberColumn column(place < kNumberPlaces ? fmt::format("name number {}", place + 1) : "name last number", digits, labels);
    column.add(columns);
    if (place == kNumberPlaces || column.padded()) continue;
    for (size_t i = 0; i < lengths.size(); ++i) lengths[i] -= std::ssize(digits[i]);
  }
  FileColumn length{"name length", FileColumnKind::kName, {}}, letters{"name case", FileColumnKind::kName, {}};
  for (const int64_t own : lengths) length.values.push_back(std::to_string(own));
  for (const std::string& stem : stems) letters.values.push_back(case_of(stem));
  columns.push_back(std::move(length));
  columns.push_back(std::move(letters));
  columns.push_back({"name words", FileColumnKind::kName, common_words(stems)});
  return columns;
}

}  // namespace debias

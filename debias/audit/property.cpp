#include "debias/audit/property.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace debias {
namespace {

constexpr size_t kMostDistinct = 12;
constexpr int64_t kBins = 16;

std::string number_text(double number) { return fmt::format("{:.4g}", number); }

}  // namespace

Property text_property(std::string name, PropertyKind kind, const std::vector<std::string>& texts, int64_t least) {
  std::map<std::string_view, int64_t> rows;
  for (const std::string& text : texts) ++rows[text];
  Property property{.name = std::move(name), .kind = kind, .exact = true};
  std::map<std::string_view, int32_t> number;
  const auto value_of = [&](std::string_view text, bool absent) {
    const auto [found, is_new] = number.try_emplace(text, property.count());
    if (is_new) {
      property.value_names.emplace_back(text);
      property.absent.push_back(absent);
    }
    return found->second;
  };
  for (const std::string& text : texts) {
    const bool rare = rows[text] < least;
    property.values.push_back(text.empty() ? value_of("no value", true) : rare ? value_of("other values", true) : value_of(text, false));
  }
  return property;
}

Property number_property(std::string name, PropertyKind kind, const std::vector<double>& numbers) {
  std::vector<double> sorted;
  for (const double number : numbers) {
    if (!std::isnan(number)) sorted.push_back(number);
  }
  std::ranges::sort(sorted);
  std::set<double> edges;  // first numbers of the bins but the first
  const std::set<double> distinct(sorted.begin(), sorted.end());
  if (distinct.size() <= kMostDistinct) {
    edges = distinct;
    if (!edges.empty()) edges.erase(edges.begin());
  } else {
    for (int64_t b = 1; b < kBins; ++b) edges.insert(sorted[static_cast<size_t>(std::ssize(sorted) * b / kBins)]);
    edges.erase(sorted.front());
  }
  const std::vector<double> begin(edges.begin(), edges.end());
  Property property{.name = std::move(name), .kind = kind, .ordered = true, .exact = true};
  for (const double edge : begin) property.value_names.push_back(number_text(edge));
  property.value_names.push_back("inf");
  property.absent.assign(property.value_names.size(), false);
  const bool has_unknown = sorted.size() < numbers.size();
  if (has_unknown) {  // below all numbers
    property.value_names.insert(property.value_names.begin(), sorted.empty() ? "inf" : number_text(sorted.front()));
    property.absent.insert(property.absent.begin(), true);
  }
  for (const double number : numbers) {
    const auto bin = static_cast<int32_t>(std::ranges::upper_bound(begin, number) - begin.begin()) + (has_unknown ? 1 : 0);
    property.values.push_back(std::isnan(number) ? 0 : bin);
  }
  return property;
}

Property presence_property(std::string name, PropertyKind kind, const std::vector<bool>& present) {
  Property property{.name = std::move(name), .kind = kind, .value_names = {"present", "absent"}, .absent = {false, true}};
  for (const bool is : present) property.values.push_back(is ? 0 : 1);
  return property;
}

}  // namespace debias

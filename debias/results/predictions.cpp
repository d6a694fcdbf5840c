#include "debias/results/predictions.h"

#include <cctype>
#include <cmath>
#include <limits>
#include <map>

#include "debias/core/error.h"

namespace debias {
namespace {

// The values under a key in the order of `names`; NaN where one is absent.
std::vector<double> by_name(const Json& json, const char* key, const std::vector<std::string>& names) {
  std::vector<double> values;
  const auto found = json.find(key);
  for (const auto& name : names) values.push_back(number_or_nan(found == json.end() ? Json() : found->value(name, Json())));
  return values;
}

template <class Rows>
bool has_shape(const Rows& rows, size_t height, size_t width) {
  return rows.size() == height && std::ranges::all_of(rows, [&](const auto& row) { return row.size() == width; });
}

std::vector<std::vector<double>> numbers_2d(const Json& rows) {
  std::vector<std::vector<double>> out;
  for (const auto& row : rows) {
    out.emplace_back();
    for (const auto& value : row) out.back().push_back(number_or_nan(value));
  }
  return out;
}

Json by_class(const std::vector<std::string>& classes, const std::vector<double>& values) {
  Json json;
  for (size_t c = 0; c < classes.size(); ++c) json[classes[c]] = number_or_null(values[c]);
  return json;
}

void add_class_table(const ClassTable& table, Json& json) {
  for (const auto& row : table.confusion) json["confusion"].push_back(row);
  for (size_t c = 0; c < table.classes.size(); ++c) {
    json["per_class"][table.classes[c]] = {
        {"count", table.count[c]}, {"predicted", table.predicted[c]}, {"accuracy", number_or_null(table.accuracy[c])}};
  }
}

}  // namespace

Json class_table_json(const ClassTable& table) {
  Json json;
  add_class_table(table, json);
  return json;
}

Json group_table_json(const GroupTable& groups, const ClassTable& classes) {
  Json json = {{"labels", groups.labels}, {"biases", groups.biases}};
  for (size_t y = 0; y < groups.labels.size(); ++y) {
    json["count"].push_back(groups.count[y]);
    json["accuracy"].push_back(numbers_or_null(groups.accuracy[y]));
  }
  add_class_table(classes, json);
  for (const auto& rates : groups.rates) {
    json["by_bias"][rates.bias] = {{"count", rates.count},
                                   {"accuracy", number_or_null(rates.accuracy)},
                                   {"error_rate", number_or_null(rates.error_rate)},
                                   {"selection_rate", by_class(groups.labels, rates.selection_rate)},
                                   {"true_positive_rate", by_class(groups.labels, rates.true_positive_rate)},
                                   {"false_positive_rate", by_class(groups.labels, rates.false_positive_rate)},
                                   {"false_negative_rate", by_class(groups.labels, rates.false_negative_rate)}};
  }
  return json;
}

GroupTable read_group_table(const Json& json, const std::string& path) {
  GroupTable table{json.at("labels"), json.at("biases"), count_rows(json.at("count")), numbers_2d(json.at("accuracy")), {}};
  const size_t labels = table.labels.size(), biases = table.biases.size();
  if (!has_shape(table.count, labels, biases) || !has_shape(table.accuracy, labels, biases)) {
    throw data_error("reading '{}': the group tables are not of one row a label and one column a bias label", path);
  }
  const auto rates = json.find("by_bias");
  if (rates == json.end() || rates->is_null()) return table;
  for (const auto& [bias, of_bias] : rates->get_ref<const Json::object_t&>()) {
    table.rates.push_back({bias, count_number(of_bias.at("count")), number_or_nan(of_bias.value("accuracy", Json())),
                           number_or_nan(of_bias.value("error_rate", Json())), by_name(of_bias, "selection_rate", table.labels),
                           by_name(of_bias, "true_positive_rate", table.labels), by_name(of_bias, "false_positive_rate", table.labels),
                           by_name(of_bias, "false_negative_rate", table.labels)});
  }
  return table;
}

ClassTable read_class_table(const Json& json, const std::string& path) {
  ClassTable table;
  const auto classes = json.find("per_class");
  if (classes == json.end() || classes->is_null()) return table;
  for (const auto& [name, of_class] : classes->get_ref<const Json::object_t&>()) {
    table.classes.push_back(name);
    table.count.push_back(count_number(of_class.at("count")));
    table.predicted.push_back(count_number(value_or(of_class, "predicted", Json(0))));
    table.accuracy.push_back(number_or_nan(of_class.value("accuracy", Json())));
  }
  if (const auto found = json.find("confusion"); found != json.end() && !found->is_null()) table.confusion = count_rows(*found);
  if (!table.confusion.empty() && !has_shape(table.confusion, table.classes.size(), table.classes.size())) {
    throw data_error("reading '{}': the confusion table is not of one row and one column a class", path);
  }
  return table;
}

namespace {

constexpr const char* kLetters = "AaCcRr.";

bool is_right(char mark) { return std::isupper(static_cast<unsigned char>(mark)) != 0; }

char side_of(char mark) { return static_cast<char>(std::toupper(static_cast<unsigned char>(mark))); }

bool is_among(char mark, MarkedImages images) {
  switch (images) {
    case MarkedImages::kAligned:
      return side_of(mark) == 'A';
    case MarkedImages::kConflicting:
      return side_of(mark) == 'C';
    case MarkedImages::kAll:
      break;
  }
  return mark != '.';
}

double share(double right, double images) { return images == 0 ? std::numeric_limits<double>::quiet_NaN() : right / images; }

}  // namespace

double PairedCounts::first() const { return share(both + only_first, images()); }
double PairedCounts::second() const { return share(both + only_second, images()); }

PairedCounts PairedCounts::divided(double design_effect) const {
  return {both / design_effect, only_first / design_effect, only_second / design_effect, neither / design_effect};
}

void require_marks(const std::string& marks, const std::string& path) {
  if (const size_t at = marks.find_first_not_of(kLetters); at != std::string::npos)
    throw data_error("reading '{}': letter {} of `marks` must be one of {}; debias eval writes the file again", path, at + 1, kLetters);
}

bool are_of_one_set(const std::string& a, const std::string& b) { return std::ranges::equal(a, b, {}, side_of, side_of); }

PairedCounts paired_counts(const std::string& a, const std::string& b, MarkedImages images) {
  PairedCounts counts;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!is_among(a[i], images)) continue;
    double& cell = is_right(a[i])   ? (is_right(b[i]) ? counts.both : counts.only_first)
                   : is_right(b[i]) ? counts.only_second
                                    : counts.neither;
    ++cell;
  }
  return counts;
}

double design_effect(const std::string& a, const std::string* b, MarkedImages images, const std::vector<int64_t>& group_of) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < a.size(); ++i) {
    if (is_among(a[i], images)) chosen.push_back(i);
  }
  if (chosen.empty()) return 1;
  const auto value = [&](size_t i) { return (is_right(a[i]) ? 1.0 : 0.0) - (b != nullptr && is_right((*b)[i]) ? 1.0 : 0.0); };
  double mean = 0, of_images = 0, of_groups = 0;
  for (const size_t i : chosen) mean += value(i) / static_cast<double>(chosen.size());
  std::map<int64_t, double> sums;
  for (const size_t i : chosen) {
    sums[group_of[i] < 0 ? -1 - static_cast<int64_t>(i) : group_of[i]] += value(i) - mean;
    of_images += (value(i) - mean) * (value(i) - mean);
  }
  const auto n = static_cast<double>(chosen.size()), groups = static_cast<double>(sums.size());
  if (groups == n) return 1;
  for (const auto& [group, sum] : sums) of_groups += sum * sum * groups / (groups - 1);
  const double effect = groups > 1 && of_images > 1e-9 * n ? of_groups / of_images : n / groups;
  return std::clamp(effect, 1.0, n);
}

}  // namespace debias

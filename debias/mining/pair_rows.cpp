#include "debias/mining/pair_rows.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "debias/data/csv_text.h"
#include "debias/data/name_table.h"
#include "debias/data/sample_table.h"
#include "debias/evaluate/protocols/knn.h"

namespace debias {

std::string NamedRows::name(int64_t row) const { return names.empty() ? fmt::format("{}", row) : names[static_cast<size_t>(row)]; }

std::string NamedRows::class_of(int64_t row) const {
  const int64_t label = labels[static_cast<size_t>(row)];
  return label == kUnknown ? "" : value_name(classes, label);
}

std::vector<PairRow> pair_rows(const std::vector<MinedPair>& pairs, const NamedRows& first, const NamedRows& second) {
  std::vector<PairRow> rows;
  for (const MinedPair& pair : pairs) {
    const NamedRows& of_b = pair.kind == PairKind::kLeak ? second : first;
    PairRow row{first.name(pair.a), of_b.name(pair.b), pair, std::nullopt};
    const int64_t a = first.labels[static_cast<size_t>(pair.a)], b = of_b.labels[static_cast<size_t>(pair.b)];
    if (a != kUnknown && b != kUnknown) row.same_label = a == b;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string pairs_csv(const std::vector<PairRow>& rows) {
  std::string csv = "a,b,similarity,false_negative,gradient,same_label,kind\n";
  for (const PairRow& row : rows) {
    csv += csv_line({row.a, row.b, fmt::format("{:.6f}", row.pair.cosine), fmt::format("{:.6f}", row.pair.false_negative),
                     std::isnan(row.pair.gradient) ? "" : fmt::format("{:.6g}", row.pair.gradient),
                     row.same_label ? std::string(*row.same_label ? "1" : "0") : "", std::string(enum_name(row.pair.kind))});
  }
  return csv;
}

nlohmann::ordered_json to_json(const PairRow& row) {
  nlohmann::ordered_json json = {{"a", row.a}, {"b", row.b}, {"similarity", row.pair.cosine}, {"false_negative", row.pair.false_negative}};
  json["gradient"] = std::isnan(row.pair.gradient) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(row.pair.gradient);
  json["same_label"] = row.same_label ? nlohmann::ordered_json(*row.same_label) : nlohmann::ordered_json(nullptr);
  json["kind"] = enum_name(row.pair.kind);
  return json;
}

std::optional<double> same_label_share(const std::vector<PairRow>& rows, PairKind kind) {
  double known = 0, same = 0;
  for (const PairRow& row : rows) {
    if (row.pair.kind != kind || !row.same_label) continue;
    ++known;
    same += *row.same_label ? 1 : 0;
  }
  return known == 0 ? std::nullopt : std::optional(same / known);
}

namespace {

struct Votes {
  double right = 0, rows = 0;
  std::optional<double> accuracy() const { return rows == 0 ? std::nullopt : std::optional(right / rows); }
};

// Unknown of rows of zeros, which are near nothing.
std::vector<int64_t> labels_with_direction(const at::Tensor& values, std::vector<int64_t> labels) {
  const at::Tensor norms = values.square().sum(1).contiguous();
  for (size_t row = 0; row < labels.size(); ++row) {
    if (norms.const_data_ptr<float>()[row] == 0) labels[row] = kUnknown;
  }
  return labels;
}

}  // namespace

SplitLeaks split_leaks(const std::vector<MinedPair>& leaks, const at::Tensor& first_values, const NamedRows& first,
                       const at::Tensor& second_values, const NamedRows& second, double temperature) {
  std::set<int64_t> leaked;
  for (const MinedPair& pair : leaks) leaked.insert(pair.b);
  SplitLeaks found;
  found.leaked = std::ssize(leaked);
  found.rows = second_values.size(0);
  std::map<std::string, LeakedClass> classes;
  for (int64_t row = 0; row < found.rows; ++row) {
    const std::string name = second.class_of(row).empty() ? "unknown" : second.class_of(row);
    LeakedClass& of = classes[name];
    of.name = name;
    ++of.rows;
    of.leaked += leaked.contains(row) ? 1 : 0;
  }
  for (auto& [name, of] : classes) found.classes.push_back(std::move(of));
  const std::vector<int64_t> first_labels = labels_with_direction(first_values, first.labels);
  const std::vector<int64_t> second_labels = labels_with_direction(second_values, second.labels);
  const auto labelled = std::ranges::count_if(first_labels, [](int64_t label) { return label != kUnknown; });
  const bool any = std::ranges::any_of(second_labels, [](int64_t label) { return label != kUnknown; });
  if (labelled == 0 || !any) return found;
  const int64_t labels = std::max(*std::ranges::max_element(first_labels), *std::ranges::max_element(second_labels)) + 1;
  const KnnGallery gallery{first_values, first_labels, labels};
  const KnnResult result = knn(gallery, second_values, second_labels, resolve_k(KnnOptions(), labelled), temperature);
  Votes all, without;
  for (int64_t row = 0; row < found.rows; ++row) {
    const int64_t label = second_labels[static_cast<size_t>(row)];
    if (label == kUnknown) continue;
    const double right = result.predictions[static_cast<size_t>(row)] == label ? 1 : 0;
    ++all.rows;
    all.right += right;
    if (leaked.contains(row)) continue;
    ++without.rows;
    without.right += right;
  }
  found.accuracy = all.accuracy();
  found.accuracy_without = without.accuracy();
  return found;
}

}  // namespace debias

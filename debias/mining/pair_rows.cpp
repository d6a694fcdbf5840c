#include "debias/mining/pair_rows.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "debias/data/csv_text.h"
#include "debias/data/sample_table.h"
#include "debias/data/value_name.h"

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

}  // namespace debias

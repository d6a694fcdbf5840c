// Found pairs with the names and labels of their rows, as files and pages show them.
//
// pairs.csv: `a,b,similarity,false_negative,gradient,same_label,kind`. a and b are names of rows, or their numbers from 0 if rows have
// no names; same_label is 1, 0 or empty (a label is unknown); the gradient of a leak is empty.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/mining/mined_pairs.h"

namespace debias {

// The rows of one split. Names may be empty; labels have one entry per row, kUnknown if unknown.
struct NamedRows {
  std::string split;
  std::vector<std::string> names;
  std::vector<int64_t> labels;
  std::vector<std::string> classes;

  std::string name(int64_t row) const;
  std::string class_of(int64_t row) const;  // empty if unknown
};

struct PairRow {
  std::string a, b;
  MinedPair pair;
  std::optional<bool> same_label;
};

// The b of a leak is in `second`; all other rows are in `first`.
std::vector<PairRow> pair_rows(const std::vector<MinedPair>& pairs, const NamedRows& first, const NamedRows& second);

std::string pairs_csv(const std::vector<PairRow>& rows);
nlohmann::ordered_json to_json(const PairRow& row);

// The share of pairs of one class among rows of a kind with known labels; nullopt without any.
std::optional<double> same_label_share(const std::vector<PairRow>& rows, PairKind kind);

}  // namespace debias

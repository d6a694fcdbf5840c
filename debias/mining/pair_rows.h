// Found pairs with the names and labels of their rows, as files and pages show them.
//
// pairs.csv: `a,b,similarity,false_negative,gradient,same_label,kind`. a and b are names of rows, or their numbers from 0 if rows have
// no names; same_label is 1, 0 or empty (a label is unknown); the gradient of a leak is empty.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
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

// The effect of images in two splits on an accuracy: kNN of the second split among the first, over all of its rows and over those without a
// leak.
struct LeakedClass {
  std::string name;  // class of the rows of the second split; "unknown" without a label
  int64_t leaked = 0, rows = 0;
};

struct SplitLeaks {
  int64_t leaked = 0, rows = 0;  // of the second split: rows that leak, and all
  int64_t copies = 0;            // of those that leak, copies of a row of the first split; the others share a group with one
  int64_t shared_groups = 0;     // groups of those others
  std::vector<LeakedClass> classes;
  std::optional<double> accuracy, accuracy_without;  // absent without labelled rows in both splits, or if no rows remain
};

// `leaks` are pairs with a in the first split and b in the second. Vectors are float32 [n, D] of any norm. Votes are those of
// `debias eval knn` with k = min(200, n) at `temperature`, without rows of zeros.
SplitLeaks split_leaks(const std::vector<MinedPair>& leaks, const at::Tensor& first_values, const NamedRows& first,
                       const at::Tensor& second_values, const NamedRows& second, double temperature);

}  // namespace debias

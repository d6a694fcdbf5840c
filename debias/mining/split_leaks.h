// The effect of images in two splits on an accuracy: kNN of the second split among the first, over all of its rows and over those without a
// copy in the first.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/mining/pair_rows.h"

namespace debias {

struct LeakedClass {
  std::string name;  // of the row of the second split; "unknown" where it has no label
  int64_t leaked = 0, rows = 0;
};

struct SplitLeaks {
  int64_t leaked = 0, rows = 0;  // of the second split: with a copy in the first; all
  std::vector<LeakedClass> classes;
  std::optional<double> accuracy, accuracy_without;  // absent without labelled rows in both splits, or without rows that are left
};

// `leaks`: pairs with a in the first split and b in the second. Vectors float32 [n, D] of any norm; votes as of `debias eval knn` with
// k = min(200, n) at `temperature`.
SplitLeaks split_leaks(const std::vector<MinedPair>& leaks, const at::Tensor& first_values, const NamedRows& first,
                       const at::Tensor& second_values, const NamedRows& second, double temperature);

}  // namespace debias

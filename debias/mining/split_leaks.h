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
  std::string name;  // class of the rows of the second split; "unknown" without a label
  int64_t leaked = 0, rows = 0;
};

struct SplitLeaks {
  int64_t leaked = 0, rows = 0;  // of the second split: rows with a copy in the first, and all
  std::vector<LeakedClass> classes;
  std::optional<double> accuracy, accuracy_without;  // absent without labelled rows in both splits, or if no rows remain
};

// `leaks` are pairs with a in the first split and b in the second. Vectors are float32 [n, D] of any norm. Votes are those of
// `debias eval knn` with k = min(200, n) at `temperature`.
SplitLeaks split_leaks(const std::vector<MinedPair>& leaks, const at::Tensor& first_values, const NamedRows& first,
                       const at::Tensor& second_values, const NamedRows& second, double temperature);

}  // namespace debias

// Rows joined in pairs: disjoint sets whose root is their first row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace debias {

class DisjointRows {
 public:
  explicit DisjointRows(int64_t rows) : parent_(static_cast<size_t>(rows)) { std::iota(parent_.begin(), parent_.end(), int64_t{0}); }

  int64_t size() const { return std::ssize(parent_); }
  int64_t root(int64_t row) {
    while (parent(row) != row) row = parent(row) = parent(parent(row));
    return row;
  }
  // Whether they were apart.
  bool join(int64_t a, int64_t b) {
    const auto [first, second] = std::minmax({root(a), root(b)});
    parent(second) = first;
    return first != second;
  }

 private:
  int64_t& parent(int64_t row) { return parent_[static_cast<size_t>(row)]; }
  std::vector<int64_t> parent_;
};

}  // namespace debias

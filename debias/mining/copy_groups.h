// Groups rows that show one image, however many they are.
//
// Rows with the same features are compared first. Of every other row the 4 nearest images are compared with it: among its 32 nearest rows,
// those of one image count once, and images without detail not at all. Where fewer than 4 are left, the search is repeated among one row
// of each image, until nothing more is joined. Copies in number therefore neither hide one another nor what is near them. No cosine is a
// threshold: where many pairs of rows are copies, one from the cosines of random pairs would lie inside the copies.
//
// Pairs are compared by pixels (copied_images.h). Where no image can be opened, rows of equal features and pairs at a cosine of
// kUnconfirmedCopy are copies; if even half of random pairs are near that, only rows of equal features. Memory: 0.4 KB a row, and what ImageComparison keeps.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/mining/copied_images.h"

namespace debias {

// Rows joined in pairs: disjoint sets whose root is their first row.
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

constexpr float kUnconfirmedCopy = 0.995f;

struct CopyGroups {
  std::vector<int64_t> image_of_row;  // the first row that shows the same image; the row itself if it has no copy
  std::vector<int64_t> zeros;         // rows of zeros: they have no direction and are left out
  std::vector<int64_t> flat;          // compared rows whose image has no detail
  std::vector<int64_t> unreadable;    // compared rows whose image cannot be read
  std::string first_unreadable;       // error of one of them
  bool all_alike = false;             // without images: only equal features counted
  int64_t look_alike = 0;             // pairs that look alike and do not count as copies
};

// `unit` is float32 [n, D], contiguous, with norms 1 or 0. `read` may be empty. The same for any number of threads.
CopyGroups group_copies(const at::Tensor& unit, const ReadRowImage& read, Progress& progress);

}  // namespace debias

// A data set as arrays on disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/data/dataset.h"

namespace debias {

struct ArrayFiles {
  std::string pixels;          // uint8 [N, H, W, C]
  std::string labels, biases;  // int64 [N]; empty: not written
};

// Writes the first `limit` images, or all, in the data set's order, and returns the shape of the pixels. Usage errors: a limit below 1,
// labels or biases that the data set does not have; a data error for images of several sizes, a resource error for too many.
std::vector<int64_t> write_arrays(const Dataset& dataset, const ArrayFiles& files, std::optional<int64_t> limit, Progress& progress);

}  // namespace debias

// Rows and columns of a tile of scores: two of them and the rows they come from fit a core's second cache.
#pragma once

#include <cstdint>

namespace debias::kernels::cpu {

constexpr int64_t kTile = 256;

}  // namespace debias::kernels::cpu

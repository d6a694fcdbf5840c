// Small feature tables made in a temporary folder.
#pragma once

#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "debias/core/npy.h"
#include "debias/features/feature_table.h"
#include "tests/support/temporary_folder.h"

namespace debias {

inline void write_text(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// [rows, 2]: row i is (i, i + 0.5).
inline std::vector<float> ramp_vectors(int64_t rows) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows; ++i) values.insert(values.end(), {static_cast<float>(i), static_cast<float>(i) + 0.5f});
  return values;
}
inline void write_ramp(const std::string& path, int64_t rows) { write_npy(path, DType::kFloat32, {rows, 2}, ramp_vectors(rows).data()); }

}  // namespace debias

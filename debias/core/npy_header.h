// The header of an `.npy` file: a Python dictionary in text form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "debias/core/dtype.h"

namespace debias {

struct NpyHeader {
  DType dtype = DType::kFloat32;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } and nothing else: each of the three keys once, in any order, no
// other values than such. Data errors name `path` and the fault.
NpyHeader parse_npy_header(std::string_view text, const std::string& path);

// The same text as NumPy writes it, without padding; a usage error for bfloat16, which NumPy does not have.
std::string npy_header_text(DType dtype, const std::vector<int64_t>& shape, const std::string& path);

}  // namespace debias

// Files that are given where a run, weights or a recipe is read, told by their first bytes.
#pragma once

#include <string>

#include "debias/core/input_file.h"

namespace debias {

struct ForeignFile {
  std::string what;    // "a NumPy array"; empty: none of those known (.npy, what torch.save writes, ONNX, text)
  std::string advice;  // "convert it in Python: ..."
  bool is_text = false;
};

ForeignFile foreign_file(const InputFile& file);

}  // namespace debias

// Recognises files of other kinds, given where a run, weights or a recipe is read, by their first bytes.
#pragma once

#include <string>

#include "debias/core/input_file.h"

namespace debias {

struct ForeignFile {
  std::string what;    // "a NumPy array"; empty: an unknown kind (known: .npy, what torch.save writes, ONNX, text)
  std::string advice;  // "convert it in Python: ..."
  bool is_text = false;
};

ForeignFile foreign_file(const InputFile& file);

}  // namespace debias

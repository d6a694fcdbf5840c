// Distance between the tensors of two files.
#pragma once

#include <string>

#include "debias/core/safetensors.h"

namespace debias {

std::string bytes_of(const SafetensorsFile& file, const TensorEntry& entry);

// The maximum of |x - y| / (1 + |x|) over two float32 tensors; infinite if a value is NaN.
double tensor_distance(const std::string& a, const std::string& b);

// The same over all float32 tensors in two files; infinite if the files have different tensors.
double farthest_tensors(const std::string& a, const std::string& b);

// The Euclidean distance of all float32 tensors together; infinite if the files have different tensors.
double euclidean_distance(const std::string& a, const std::string& b);

}  // namespace debias

// Distance between the tensors of two files.
#pragma once

#include <string>

#include "debias/core/safetensors.h"

namespace debias {

std::string bytes_of(const SafetensorsFile& file, const TensorEntry& entry);

// The largest |x - y| / (1 + |x|) of two tensors of float32; infinite where one is not a number.
double tensor_distance(const std::string& a, const std::string& b);

// The same of all tensors of float32 in two files; infinite where they have other tensors.
double farthest_tensors(const std::string& a, const std::string& b);

// The Euclidean distance of all tensors of float32 together; infinite where the files have other tensors.
double euclidean_distance(const std::string& a, const std::string& b);

}  // namespace debias

#include "debias/runs/tensor_distance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace debias {

std::string bytes_of(const SafetensorsFile& file, const TensorEntry& entry) {
  std::string bytes(entry.end - entry.begin, 0);
  file.read(entry, bytes.data());
  return bytes;
}

double tensor_distance(const std::string& a, const std::string& b) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return kFar;
  double farthest = 0;
  for (size_t at = 0; at + sizeof(float) <= a.size(); at += sizeof(float)) {
    float x = 0, y = 0;
    std::memcpy(&x, a.data() + at, sizeof x);
    std::memcpy(&y, b.data() + at, sizeof y);
    const double apart = std::abs(static_cast<double>(x) - y) / (1 + std::abs(x));
    farthest = std::max(farthest, apart == apart ? apart : kFar);
  }
  return farthest;
}

double farthest_tensors(const std::string& a, const std::string& b) {
  const auto in_a = SafetensorsFile::open(a), in_b = SafetensorsFile::open(b);
  double farthest = in_a.tensors().size() == in_b.tensors().size() ? 0 : std::numeric_limits<double>::infinity();
  for (const auto& entry : in_a.tensors()) {
    if (entry.dtype != DType::kFloat32) continue;
    const TensorEntry* other = in_b.find(entry.name);
    farthest = std::max(farthest, tensor_distance(bytes_of(in_a, entry), other == nullptr ? "" : bytes_of(in_b, *other)));
  }
  return farthest;
}

}  // namespace debias

#include "debias/runs/certificate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace debias {

bool Certificate::all_hold() const { return std::ranges::all_of(claims, &Claim::holds); }

std::string bytes_of(const SafetensorsFile& file, const TensorEntry& entry) {
  std::string bytes(entry.end - entry.begin, 0);
  file.read(entry, bytes.data());
  return bytes;
}

namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();

// call(x, y) of each pair of numbers; false where the tensors have other sizes.
template <class Call>
bool each_pair(const std::string& a, const std::string& b, const Call& call) {
  if (a.size() != b.size()) return false;
  for (size_t at = 0; at + sizeof(float) <= a.size(); at += sizeof(float)) {
    float x = 0, y = 0;
    std::memcpy(&x, a.data() + at, sizeof x);
    std::memcpy(&y, b.data() + at, sizeof y);
    call(static_cast<double>(x), static_cast<double>(y));
  }
  return true;
}

// call(tensor of a, tensor of b) of float32, "" where b has none; false where the files have other numbers of tensors.
template <class Call>
bool each_tensor(const std::string& a, const std::string& b, const Call& call) {
  const auto in_a = SafetensorsFile::open(a), in_b = SafetensorsFile::open(b);
  for (const auto& entry : in_a.tensors()) {
    if (entry.dtype != DType::kFloat32) continue;
    const TensorEntry* other = in_b.find(entry.name);
    call(bytes_of(in_a, entry), other == nullptr ? "" : bytes_of(in_b, *other));
  }
  return in_a.tensors().size() == in_b.tensors().size();
}

}  // namespace

double tensor_distance(const std::string& a, const std::string& b) {
  double farthest = 0;
  const bool same_size = each_pair(a, b, [&](double x, double y) {
    const double apart = std::abs(x - y) / (1 + std::abs(x));
    farthest = std::max(farthest, apart == apart ? apart : kFar);
  });
  return same_size ? farthest : kFar;
}

double farthest_tensors(const std::string& a, const std::string& b) {
  double farthest = 0;
  const bool same_tensors =
      each_tensor(a, b, [&](const std::string& x, const std::string& y) { farthest = std::max(farthest, tensor_distance(x, y)); });
  return same_tensors ? farthest : kFar;
}

double euclidean_distance(const std::string& a, const std::string& b) {
  double squares = 0;
  const bool same_tensors = each_tensor(a, b, [&](const std::string& x, const std::string& y) {
    if (!each_pair(x, y, [&](double p, double q) { squares += (p - q) * (p - q); })) squares = kFar;
  });
  return same_tensors && squares == squares ? std::sqrt(squares) : kFar;
}

}  // namespace debias

// Files of weights whose values are a formula of their keys, as tests/golden/make_backbones.py gives them to networks of other projects.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/safetensors.h"
#include "debias/encoders/state.h"
#include "tests/support/golden_folder.h"

namespace debias {

// In [-1, 1).
inline std::vector<double> hashed(const std::string& key, int64_t count) {
  uint32_t start = 2166136261U;
  for (const char byte : key) start = (start ^ static_cast<unsigned char>(byte)) * 16777619U;
  std::vector<double> values;
  values.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    uint32_t h = static_cast<uint32_t>(i) * 2654435761U + start;
    h ^= h >> 16;
    h *= 0x85EBCA6BU;
    h ^= h >> 13;
    h *= 0xC2B2AE35U;
    h ^= h >> 16;
    values.push_back(h / 2147483648.0 - 1);
  }
  return values;
}

inline at::Tensor golden_weight(const std::string& key, const std::vector<int64_t>& shape) {
  if (key.ends_with("num_batches_tracked")) return at::full(shape, 7, at::kLong);
  const int64_t count = c10::multiply_integers(shape);
  at::Tensor u = at::tensor(hashed(key, count), at::kDouble).reshape(shape);
  if (key.ends_with("running_var")) {
    u = u * 0.5 + 1;
  } else if (shape.size() == 1) {
    u = u * 0.2 + (key.ends_with("weight") ? 1 : 0);
  } else if (shape.size() == 2 || shape.size() == 4) {
    u = u * std::sqrt(6.0 / static_cast<double>(count / shape[0]));
  } else {
    u = u * 0.5;
  }
  return u.to(at::kFloat);
}

using NamedWeights = std::vector<std::pair<std::string, at::Tensor>>;

inline void write_weights_file(const std::string& path, const NamedWeights& weights) {
  std::vector<TensorBytes> tensors;
  for (const auto& [key, tensor] : weights) tensors.push_back(bytes_of(key, tensor));
  write_safetensors(path, tensors, {{"format", "pt"}});
}

struct GoldenBackbone {
  explicit GoldenBackbone(const std::string& name) {
    static const auto all = nlohmann::ordered_json::parse(std::ifstream(golden_folder(".") + "/backbones.json"));
    json = all.at(name);
    for (const auto& [key, shape] : json.at("keys").items()) {
      weights.emplace_back(key, golden_weight(key, shape.get<std::vector<int64_t>>()));
    }
  }

  std::string section() const { return json.at("section").get<std::string>(); }
  at::Tensor images() const {
    const int64_t side = json.at("side").get<int64_t>();
    return at::tensor(hashed("images", 2 * 3 * side * side), at::kDouble).reshape({2, 3, side, side}).to(at::kFloat);
  }
  at::Tensor features() const {  // every fourth
    const auto rows = json.at("features").get<std::vector<std::vector<double>>>();
    return at::stack({at::tensor(rows[0], at::kDouble), at::tensor(rows[1], at::kDouble)});
  }

  nlohmann::ordered_json json;
  NamedWeights weights;
};

}  // namespace debias

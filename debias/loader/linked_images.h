// Images that are views of one sample: the second view of an image may be made of another of its group.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "debias/core/philox.h"

namespace debias {

class LinkedImages {
 public:
  // [images]: the group of each, or kUnknown of an image of none.
  explicit LinkedImages(std::vector<int64_t> groups);
  // An image of the group of `index`, each equally likely, itself included; itself where it has no group.
  int64_t draw(int64_t index, Random& random) const;

 private:
  std::vector<int64_t> groups_;
  std::unordered_map<int64_t, std::vector<int64_t>> members_;
};

}  // namespace debias

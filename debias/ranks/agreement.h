// Checks that all ranks train the same, before the first tensor crosses: tensors of two shapes in one exchange end a process without
// a word.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "debias/ranks/ranks.h"

namespace debias {

struct Fact {
  std::string name;   // "the recipe"
  std::string value;  // of this process
  // Message for two values that differ; empty: the difference does not matter. Left out: the values themselves.
  std::function<std::string(const std::string& leaders, const std::string& other)> difference{};
};

// Throws a usage error on every rank where one has another value than rank 0: naming the rank, the fact and the difference.
void require_same(const std::vector<Fact>& facts, const Ranks& ranks);

}  // namespace debias

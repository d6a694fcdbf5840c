// Whether all ranks train the same, compared before the first tensor crosses: tensors of two shapes in one exchange end a process without
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
  // What to say of two values that differ; empty: that they are of no matter. Left out: the values themselves.
  std::function<std::string(const std::string& leaders, const std::string& other)> difference{};
};

// Throws a usage error on every rank where one has another value than rank 0: naming the rank, the fact and the difference.
void require_same(const std::vector<Fact>& facts, const Ranks& ranks);

}  // namespace debias

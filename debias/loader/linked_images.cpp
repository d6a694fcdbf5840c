#include "debias/loader/linked_images.h"

#include <utility>

#include "debias/data/sample_table.h"

namespace debias {

LinkedImages::LinkedImages(std::vector<int64_t> groups) : groups_(std::move(groups)) {
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i] != kUnknown) members_[groups_[i]].push_back(static_cast<int64_t>(i));
  }
}

int64_t LinkedImages::draw(int64_t index, Random& random) const {
  const int64_t group = groups_[static_cast<size_t>(index)];
  if (group == kUnknown) return index;
  const std::vector<int64_t>& members = members_.at(group);
  return members[static_cast<size_t>(random.below(std::ssize(members)))];
}

}  // namespace debias

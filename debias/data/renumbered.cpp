#include "debias/data/renumbered.h"

#include <utility>

namespace debias {

Renumbered::Renumbered(std::shared_ptr<const Dataset> source, const std::vector<std::string>& class_names,
                       const std::vector<std::string>& bias_names, std::vector<int64_t> labels, std::vector<int64_t> biases)
    : source_(std::move(source)), info_(source_->info()), labels_(std::move(labels)), biases_(std::move(biases)) {
  if (!class_names.empty()) info_.class_names = class_names;
  if (!bias_names.empty()) info_.bias_names = bias_names;
}

void Renumbered::take_groups(std::vector<std::string> names, std::vector<int64_t> groups, std::string from) {
  info_.group_names = std::move(names);
  info_.groups_from = std::move(from);
  groups_ = std::move(groups);
}

Sample Renumbered::get(int64_t index) const {
  Sample sample = source_->get(index);
  sample.label = label(index);
  sample.bias = bias(index);
  return sample;
}

int64_t Renumbered::of(const std::vector<int64_t>& numbers, int64_t index) const {
  require_index(*this, index);
  return numbers[static_cast<size_t>(index)];
}

}  // namespace debias

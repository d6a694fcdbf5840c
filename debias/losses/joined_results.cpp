#include "debias/losses/joined_results.h"

#include <ATen/ATen.h>

namespace debias {

ObjectiveResult joined(const std::vector<ObjectiveResult>& parts, double share) {
  ObjectiveResult all = parts.front();
  all.clampable = all.clamped_of();
  std::vector<at::Tensor> per_anchor = {all.per_anchor};
  for (size_t i = 1; i < parts.size(); ++i) {
    const ObjectiveResult& part = parts[i];
    all.value = all.value + part.value;
    per_anchor.push_back(part.per_anchor);
    all.anchors += part.anchors;
    all.anchors_used += part.anchors_used;
    all.clamped += part.clamped;
    all.clampable += part.clamped_of();
    keep_smallest(all.min_estimate, part.min_estimate);
    if (part.effective_sample_size) *all.effective_sample_size += *part.effective_sample_size;
  }
  all.value = all.value * share;
  all.per_anchor = at::cat(per_anchor);
  if (all.effective_sample_size) all.effective_sample_size = all.effective_sample_size->over(static_cast<double>(parts.size()));
  return all;
}

}  // namespace debias

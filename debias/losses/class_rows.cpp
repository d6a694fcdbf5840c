#include "debias/losses/class_rows.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/losses/keyed_input.h"

namespace debias {

ClassRows class_rows(const ObjectiveInput& given, double temperature, const char* objective) {
  const at::Tensor& z = given.z;
  if (!z.defined() || z.dim() != 3 || !z.is_floating_point() || z.numel() == 0) {
    throw data_error("{}: expected non-empty floating-point embeddings [samples, views, dimensions], found {}", objective,
                     z.defined() ? fmt::format("{} of shape {}", c10::toString(z.scalar_type()), c10::str(z.sizes())) : "none");
  }
  ObjectiveInput input = given;
  if (z.scalar_type() != at::kDouble) input.z = z.to(at::kFloat);
  check_keyed(input, objective);
  if (input.keys.defined() && input.labels.defined() && !input.key_labels.defined()) {
    throw usage_error("{}: keys: the anchors have labels, the keys none; give labels of the keys too (-1 = unknown)", objective);
  }
  input = with_positives_as_keys(input);
  ClassRows rows;
  rows.keys = pair_keys(input, input.z.size(1), objective);
  rows.pairs = {.anchors = input.z,
                .group = rows.keys.label.defined() ? class_groups(rows.keys.label, rows.keys.sample) : rows.keys.sample,
                .temperature = temperature,
                .within_unit = input.vouched,
                .engine = input.engine,
                .memory_budget = input.memory_budget,
                .bfloat16_products = input.bfloat16_products || z.scalar_type() == at::kBFloat16,
                .share = input.row_share,
                .engines = std::make_shared<EngineRecord>(input.engine)};
  if (input.keys.defined()) set_keys(rows.pairs, input, input.labels.defined(), objective);
  rows.positives = set_sizes(rows.pairs, PairSet::kEqual);
  rows.negatives = set_sizes(rows.pairs, PairSet::kUnequal);
  rows.is_attracted = rows.positives.gt(0);
  if (input.keys.defined() && !rows.is_attracted.any().item<bool>()) {
    throw data_error(
        "{}: keys: none is of the sample or the class of any anchor, so nothing has a positive; give positives, or keys with "
        "their samples or labels",
        objective);
  }
  return rows;
}

}  // namespace debias

#include "debias/losses/eps_infonce.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/losses/anchor_losses.h"
#include "debias/losses/class_rows.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/pair_keys.h"
#include "debias/losses/pair_rows.h"
#include "debias/losses/temperature_options.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr char kEpsInfonceName[] = "eps_infonce";

}  // namespace

const OptionTable<EpsInfoNceOptions>& EpsInfoNceOptions::table() {
  static const auto table =
      table_with_temperatures<EpsInfoNceOptions>()
          .add("epsilon", &EpsInfoNceOptions::epsilon_, Range::at_least_or_inf(0), "margin between scaled similarities")
          .with_variants()
          .variant("authors", "base_temperature", "0.07");
  return table;
}

ObjectiveResult eps_infonce(const ObjectiveInput& given, const EpsInfoNceOptions& options) {
  EpsInfoNceOptions::table().verify(options, kEpsInfonceName);
  const ObjectiveInput input = checked_views(given, kEpsInfonceName);
  const int64_t samples = input.z.size(0);
  const at::Tensor group = pair_keys(input, 2, kEpsInfonceName).sample;
  ObjectiveResult result = mean_over_view_pairs(input, loss_scale(options), [&](int64_t first, int64_t second) -> AnchorLosses {
    const PairRows rows = {.z = at::cat({input.z.select(1, first), input.z.select(1, second)}),
                           .group = group,
                           .temperature = options.temperature(),
                           .engine = input.engine,
                           .memory_budget = input.memory_budget,
                           .bfloat16_products = input.bfloat16_products};
    const at::Tensor positive = (rows.z * rows.z.roll(samples, 0)).sum(1) / options.temperature();
    if (samples == 1 && std::isinf(options.epsilon())) return no_negatives(positive);
    const at::Tensor x = log_sums(rows, {{.set = PairSet::kUnequal}})[0] - positive;
    return {.loss = log_add(x, options.epsilon()), .used = {}, .clamped = 0, .min_estimate = {}};
  });
  result.fused = takes_fused(input.engine, input.z);
  return result;
}

ObjectiveResult eps_infonce(const at::Tensor& z, const EpsInfoNceOptions& options) { return eps_infonce(ObjectiveInput{.z = z}, options); }

ObjectiveEntry eps_infonce_entry() {
  ObjectiveEntry entry;
  entry.name = kEpsInfonceName;
  entry.summary = "InfoNCE with a margin epsilon; inf is InfoL1O (Barbano et al. 2023 eq. 2)";
  entry.min_views = 2;
  entry.fused = true;
  return with_options<EpsInfoNceOptions>(std::move(entry), eps_infonce);
}

}  // namespace debias

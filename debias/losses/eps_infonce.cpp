#include "debias/losses/eps_infonce.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/losses/anchor_losses.h"
#include "debias/losses/keyed_input.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/temperature_options.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr char kEpsInfonceName[] = "eps_infonce";

at::Tensor numerators(const ViewPair& pair, const Rows& rows) {
  if (!rows.square()) return positives_of(pair, rows).numerator;
  const at::Tensor z = rows.flat();
  return (z * z.roll(rows.size() / 2, 0)).sum(1) / rows.temperature;
}

}  // namespace

const OptionTable<EpsInfoNceOptions>& EpsInfoNceOptions::table() {
  static const auto table =
      table_with_temperatures<EpsInfoNceOptions>()
          .add("epsilon", &EpsInfoNceOptions::epsilon_, Range::at_least_or_inf(0), "margin between scaled similarities")
          .with_variants()
          .variant("authors", "base_temperature", "0.07");
  return table;
}

namespace {

ObjectiveResult computed(const ObjectiveInput& given, const EpsInfoNceOptions& options) {
  const ObjectiveInput input = checked_views(given, kEpsInfonceName);
  require_one_positive(input, kEpsInfonceName);
  return mean_over_view_pairs(input, loss_scale(options), kEpsInfonceName, [&](const ViewPair& pair) -> AnchorLosses {
    Rows rows = rows_of(pair, options.temperature(), false, kEpsInfonceName);
    if (rows.square()) rows.anchors = rows.flat();  // the gradients of sums and positives meet there
    const at::Tensor positive = numerators(pair, rows);
    if (std::isinf(options.epsilon()) && pair.negatives == 0) return no_negatives(positive);
    const at::Tensor x = log_sums(rows, {{.set = PairSet::kUnequal}})[0] - positive;
    return {.loss = log_add(x, options.epsilon()), .used = {}, .clamped = 0, .min_estimate = {}};
  });
}

}  // namespace

ObjectiveResult eps_infonce(const ObjectiveInput& input, const EpsInfoNceOptions& options) {
  return computed(input, verified(options, kEpsInfonceName));
}

ObjectiveResult eps_infonce(const at::Tensor& z, const EpsInfoNceOptions& options) { return eps_infonce(ObjectiveInput{.z = z}, options); }

ObjectiveEntry eps_infonce_entry() {
  ObjectiveEntry entry;
  entry.name = kEpsInfonceName;
  entry.summary = "InfoNCE with a margin epsilon; epsilon = inf gives InfoL1O (Barbano et al. 2023 eq. 2)";
  entry.min_views = 2;
  entry.takes_keys = true;
  return with_options<EpsInfoNceOptions>(std::move(entry), computed);
}

}  // namespace debias

#include "debias/losses/infonce.h"

#include "debias/losses/anchor_losses.h"
#include "debias/losses/keyed_input.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/scores/draws.h"
#include "debias/losses/scores/neighbours.h"
#include "debias/losses/temperature_options.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr char kInfonceName[] = "infonce";

}  // namespace

const OptionTable<InfoNceOptions>& InfoNceOptions::table() {
  static const auto table = table_with_temperatures<InfoNceOptions>()
                                .add("drop_false_negatives", &InfoNceOptions::drop_false_negatives_,
                                     "negatives of the anchor's class count as zero (needs labels)")
                                .with_variants();
  return table;
}

namespace {

ObjectiveResult computed(const ObjectiveInput& given, const InfoNceOptions& options) {
  const ObjectiveInput input = checked_views(given, kInfonceName);
  require_one_positive(input, kInfonceName);
  if (options.drop_false_negatives()) require_labels(input, kInfonceName, "drop_false_negatives");
  return mean_over_view_pairs(input, loss_scale(options), kInfonceName, [&](const ViewPair& pair) -> AnchorLosses {
    const auto sums =
        two_view_sums(pair, {.temperature = options.temperature(), .drop_false_negatives = options.drop_false_negatives()}, kInfonceName);
    if (sums.negatives == 0) return no_negatives(sums.positive);
    return losses_against(sums.log_kept, sums.positive);
  });
}

ObjectiveResult on_scores(const Scores& scores, const InfoNceOptions& options) {
  if (const auto* draws = std::get_if<std::vector<BankDraws>>(&scores.of)) {
    return sum_over_banks(*draws, options.temperature(), loss_scale(options), softmax_losses);
  }
  return mean_over_neighbours(std::get<NeighbourScores>(scores.of), NeighbourNegatives::kOfficial, options.temperature(),
                              loss_scale(options), biased_losses);
}

std::string unfit_for(ScoreForm form, const InfoNceOptions& options) {
  if (form != ScoreForm::kNeighbours) return unfit_for_draws(options.temperature(), options.drop_false_negatives());
  return options.drop_false_negatives() ? kDropsWithoutLabels : "";
}

}  // namespace

ObjectiveResult infonce(const ObjectiveInput& input, const InfoNceOptions& options) {
  return computed(input, verified(options, kInfonceName));
}

ObjectiveResult infonce(const at::Tensor& z, const InfoNceOptions& options, const at::Tensor& labels) {
  return infonce(ObjectiveInput{.z = z, .labels = labels}, options);
}

ObjectiveEntry infonce_entry() {
  ObjectiveEntry entry;
  entry.name = kInfonceName;
  entry.aliases = {"simclr", "ntxent"};
  entry.summary = "pulls the views of a sample together and pushes other samples away (van den Oord et al. 2018 eq. 4; SimCLR eq. 1)";
  entry.min_views = 2;
  entry.takes_keys = true;
  return with_options<InfoNceOptions>(std::move(entry), computed,
                                      {{ScoreForm::kDraws, ScoreForm::kNceDraws, ScoreForm::kNeighbours}, on_scores, unfit_for});
}

}  // namespace debias

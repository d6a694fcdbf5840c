#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "debias/losses/bias_pairs.h"
#include "debias/losses/debiased.h"
#include "debias/losses/end.h"
#include "debias/losses/fairkl.h"
#include "debias/losses/label_free.h"
#include "debias/losses/logits.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/over_classes.h"
#include "debias/losses/weighted.h"

namespace debias {

const std::vector<ObjectiveEntry>& objective_registry() {
  static const std::vector<ObjectiveEntry> registry = {
      with_options<InfoNceOptions>(
          {.aliases = {"simclr", "ntxent"},
           .summary = "pulls the views of a sample together and pushes other samples away (van den Oord et al. 2018 eq. 4; SimCLR eq. 1)",
           .min_views = 2,
           .takes_keys = true}),
      with_options<UnbiasedOptions>({.summary = "InfoNCE with negatives of other classes only, chosen by label (Chuang et al. 2020 eq. 2)",
                                     .min_views = 2,
                                     .needs_labels = true,
                                     .takes_keys = true}),
      with_options<DebiasedNegativesOptions>(
          {.aliases = {"debiased"},
           .summary = "InfoNCE with the negatives' sum corrected for same-class samples by tau_plus (Chuang et al. 2020 eq. 8)",
           .min_views = 2,
           .takes_keys = true}),
      with_options<DebiasedPositivesOptions>(
          {.summary = "InfoNCE with the positive term corrected by tau_plus and the mean over negatives (Mitigating Biases in Contrastive "
                      "Learning eq. 12)",
           .min_views = 2,
           .takes_keys = true}),
      with_options<CombinedDebiasedOptions>(
          {.summary = "a mixture of debiased_negatives and debiased_positives (released code of Mitigating Biases in Contrastive Learning)",
           .min_views = 2,
           .takes_keys = true}),
      with_options<HardNegativesOptions>(
          {.aliases = {"hcl"},
           .summary = "debiased negatives, each weighted by e^{beta s}: hard ones count for more (Robinson et al. 2021)",
           .min_views = 2,
           .takes_keys = true}),
      with_options<BayesianOptions>({.aliases = {"bcl"},
                                     .summary = "InfoNCE with negatives weighted by hardness and by their probability of being true "
                                                "negatives (Liu and Wang 2023 eq. 1)",
                                     .min_views = 2,
                                     .takes_keys = true}),
      with_options<SupConOptions>(
          {.summary = "pulls embeddings of one class together and pushes those of other classes away (Khosla et al. 2020 eqs. 2 and 3)",
           .takes_keys = true,
           .joins_positives = true}),
      with_options<EpsInfoNceOptions>({.summary = "InfoNCE with a margin epsilon; epsilon = inf gives InfoL1O (Barbano et al. 2023 eq. 2)",
                                       .min_views = 2,
                                       .takes_keys = true}),
      with_options<EpsSupInfoNceOptions>({.summary = "contrasts each positive of the anchor's class with the negatives only, with a margin "
                                                     "(Barbano et al. 2023 eq. 4)",
                                          .needs_labels = true,
                                          .takes_keys = true,
                                          .joins_positives = true}),
      with_options<EpsSupConOptions>({.summary = "SupCon with a margin between positives and negatives (Barbano et al. 2023 eq. 5)",
                                      .needs_labels = true,
                                      .takes_keys = true,
                                      .joins_positives = true}),
      with_options<BiasConOptions>(
          {.summary = "SupCon whose only positives are the bias-conflicting samples of the anchor's class (Hong and Yang 2021)",
           .needs_labels = true,
           .needs_bias = true}),
      with_options<SoftConOptions>({.summary = "SupCon with positives weighted by the dissimilarity of their bias features (Hong and Yang "
                                               "2021); takes weights [B, F]",
                                    .needs_labels = true,
                                    .takes_bias_features = true,
                                    .needs_bias_features = true}),
      with_options<FairKlOptions>(
          {.summary = "regulariser that equalises distances within and across bias labels (Barbano et al. 2023 eq. 10)",
           .kind = InputKind::kRegulariser,
           .needs_labels = true,
           .takes_bias_features = true}),
      with_options<EndOptions>({.summary = "regulariser that spreads embeddings of one bias label and gathers those of one class across "
                                           "bias labels (Tartaglione et al. 2021)",
                                .kind = InputKind::kRegulariser,
                                .needs_labels = true,
                                .needs_bias = true}),
      with_options<CrossEntropyOptions>({.aliases = {"ce"},
                                         .summary = "negative log-likelihood of the label, on logits",
                                         .kind = InputKind::kLogits,
                                         .needs_labels = true}),
      with_options<BiasBalancedOptions>(
          {.summary = "cross-entropy on logits + ln P(label | bias), so that the network gains nothing from the bias (Hong & Yang 2021)",
           .kind = InputKind::kLogits,
           .needs_labels = true,
           .needs_bias = true,
           .takes_prior = true}),
      with_options<GeneralizedCrossEntropyOptions>(
          {.aliases = {"gce"},
           .summary = "cross-entropy that gives confident samples more weight, (1 - p^q) / q (Zhang & Sabuncu 2018)",
           .kind = InputKind::kLogits,
           .needs_labels = true}),
      with_options<LargeMarginSoftmaxOptions>(
          {.aliases = {"max_margin"},
           .summary = "cross-entropy that multiplies the angle to the label's weight by a margin (Liu et al. 2016)",
           .kind = InputKind::kLogits,
           .needs_labels = true,
           .takes_norms = true}),
  };
  return registry;
}

ScoreForm Scores::form() const {
  const auto* draws = std::get_if<std::vector<BankDraws>>(&of);
  if (draws == nullptr) return ScoreForm::kNeighbours;
  const bool estimates = std::ranges::any_of(*draws, [](const BankDraws& each) { return each.nce != nullptr; });
  return estimates ? ScoreForm::kNceDraws : ScoreForm::kDraws;
}

std::vector<std::string> objectives_on(ScoreForm form) {
  std::vector<std::string> names;
  for (const auto& entry : objective_registry()) {
    if (std::ranges::find(entry.takes_scores, form) != entry.takes_scores.end()) names.push_back(entry.name);
  }
  return names;
}

std::string no_such_scores(const std::string& objective, ScoreForm form) {
  static constexpr std::array<const char*, 3> kForms = {"draws of each anchor from a bank", "noise-contrastive estimation",
                                                        "scores of neighbours"};
  return fmt::format("{} does not take {}; choose {}", objective, kForms.at(static_cast<size_t>(form)),
                     fmt::join(objectives_on(form), ", "));
}

void set_product_defaults(Config& term, const ObjectiveEntry& entry) {
  for (const auto& [option, value] : {std::pair{"temperature", Config::number(1)}, std::pair{"clamp", Config::string("positive")}}) {
    const bool has = std::ranges::any_of(entry.options, [name = option](const OptionSpec& spec) { return spec.name == name; });
    if (has && term.find(option) == nullptr) term.set(option, value);
  }
}

bool has_fused_engine(const ObjectiveEntry& entry) {
  if (entry.kind == InputKind::kLogits) return false;
  ObjectiveInput input = {.z = at::eye(4, at::kFloat).repeat({2, 1}).view({2, 4, 4}).transpose(0, 1),
                          .labels = at::tensor({0, 0, 1, 1}, at::kLong),
                          .bias = at::tensor({0, 1, 0, 1}, at::kLong)};
  if (entry.needs_bias_features) input.weights = at::eye(4, at::kDouble);
  return (*entry.make(Config::map(), {}))(input).fused();
}

}  // namespace debias

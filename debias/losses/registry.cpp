#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "debias/losses/bayesian.h"
#include "debias/losses/bias_balanced.h"
#include "debias/losses/biascon.h"
#include "debias/losses/combined_debiased.h"
#include "debias/losses/cross_entropy.h"
#include "debias/losses/debiased_negatives.h"
#include "debias/losses/debiased_positives.h"
#include "debias/losses/end.h"
#include "debias/losses/eps_infonce.h"
#include "debias/losses/eps_supcon.h"
#include "debias/losses/eps_supinfonce.h"
#include "debias/losses/fairkl.h"
#include "debias/losses/generalized_cross_entropy.h"
#include "debias/losses/hard_negatives.h"
#include "debias/losses/infonce.h"
#include "debias/losses/large_margin_softmax.h"
#include "debias/losses/objective.h"
#include "debias/losses/softcon.h"
#include "debias/losses/supcon.h"
#include "debias/losses/unbiased.h"

namespace debias {

const std::vector<ObjectiveEntry>& objective_registry() {
  static const std::vector<ObjectiveEntry> registry = {
      infonce_entry(),
      unbiased_entry(),
      debiased_negatives_entry(),
      debiased_positives_entry(),
      combined_debiased_entry(),
      hard_negatives_entry(),
      bayesian_entry(),
      supcon_entry(),
      eps_infonce_entry(),
      eps_supinfonce_entry(),
      eps_supcon_entry(),
      biascon_entry(),
      softcon_entry(),
      fairkl_entry(),
      end_entry(),
      cross_entropy_entry(),
      bias_balanced_entry(),
      generalized_cross_entropy_entry(),
      large_margin_softmax_entry(),
  };
  return registry;
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

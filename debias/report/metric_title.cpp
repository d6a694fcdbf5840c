#include "debias/report/metric_title.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "debias/report/axis.h"

namespace debias {
namespace {

std::vector<Metric> training_metrics() {
  const auto metric = [](const char* name, const char* title, Unit unit = Unit::kNumber) {
    return Metric{name, title, unit, Better::kNeither, Standing::kTraining};
  };
  return {metric("train_loss", "training loss"),
          metric("training_seconds", "training time in seconds"),
          metric("minutes_per_epoch", "minutes of training an epoch"),
          metric("images_per_second", "images a second"),
          metric("sentences_per_second", "sentences a second"),
          metric("agent_steps_per_second", "steps of the agent a second"),
          metric("classifier_loss", "classifier loss"),
          metric("grad_norm", "gradient norm"),
          metric("learning_rate", "learning rate"),
          metric("clamped_share", "clamp share", Unit::kShare),
          metric("min_estimate", "least estimate before the clamp"),
          metric("effective_sample_size", "effective sample size"),
          metric("next_acc", "next sentence found", Unit::kShare),
          metric("previous_acc", "previous sentence found", Unit::kShare),
          Metric{"return_mean", "return of judged episodes", Unit::kNumber, Better::kHigher, Standing::kAccuracy},
          metric("return_std", "standard deviation of judged episodes"),
          metric("episode_return", "return of training episodes"),
          metric("critic_loss", "critic's loss"),
          metric("actor_loss", "actor's loss"),
          metric("contrastive_loss", "contrastive loss"),
          metric("entropy", "entropy of the policy in nats"),
          metric("temperature", "worth of a nat of entropy"),
          metric("control_steps", "control steps"),
          metric("diverged", "episodes without a finite end")};
}

// Of runs on sentences, whose judges are no protocols of images.
std::vector<Metric> sentence_metrics() {
  const auto metric = [](const char* name, const char* title) {
    return Metric{name, title, Unit::kShare, Better::kHigher, Standing::kProtocol};
  };
  return {metric("neighbour_acc", "neighbours found"), metric("mr_acc", "MR accuracy"),     metric("cr_acc", "CR accuracy"),
          metric("subj_acc", "SUBJ accuracy"),         metric("mpqa_acc", "MPQA accuracy"), metric("trec_acc", "TREC accuracy"),
          metric("msrp_acc", "MSRP accuracy"),         metric("msrp_f1", "MSRP F1")};
}

Unit unit_by_name(const std::string& name) {
  if (name.find("learning_rate") != std::string::npos) return Unit::kNumber;
  const bool share = std::ranges::any_of(std::array<std::string_view, 5>{"acc", "_auc", "_rate", "_difference", "_share"},
                                         [&](std::string_view part) { return name.find(part) != std::string::npos; });
  return share ? Unit::kShare : Unit::kNumber;
}

}  // namespace

SplitName split_of(const std::string& metric) {
  const size_t dot = metric.find('.');
  const std::string head = metric.substr(0, dot);
  if (dot == std::string::npos || (head != "train" && head != "valid" && head != "test")) return {"", metric};
  return {head, metric.substr(dot + 1)};
}

std::vector<std::string> metric_names(const std::string& list) {
  std::vector<std::string> names(1);
  for (const char c : list) {
    if (c == ',') names.emplace_back();
    if (c != ',' && c != ' ') names.back().push_back(c);
  }
  std::erase(names, "");
  return names;
}

MetricTitles::MetricTitles(const std::vector<Metric>& of_protocols) {
  std::vector<Metric> all = of_protocols;
  for (auto& metric : sentence_metrics()) all.push_back(std::move(metric));
  for (auto& metric : training_metrics()) all.push_back(std::move(metric));
  for (auto& metric : all) {
    if (std::ranges::find(known_, metric.name, &Metric::name) == known_.end()) known_.push_back(std::move(metric));
  }
  std::ranges::stable_sort(known_, {}, &Metric::standing);
}

MetricTitle MetricTitles::of(const std::string& metric) const {
  const std::string name = split_of(metric).name;
  const auto found = std::ranges::find(known_, name, &Metric::name);
  const auto place = static_cast<int>(found - known_.begin());
  if (found == known_.end()) return {name, Better::kNeither, unit_by_name(name), place};
  return {found->title, found->better, found->unit, place};
}

bool MetricTitles::lower_is_better(const std::string& metric) const {
  return of(metric).better == Better::kLower || split_of(metric).name.ends_with("loss");
}

std::string metric_number(Unit unit, double value) { return unit == Unit::kShare ? percent_text(value, 2) : short_number(value); }

}  // namespace debias

// What the terms of an objective, and the classifier, say about themselves: of one step, or summed over the steps of an epoch.
//
// Metrics, in this order, for the only term as they stand, for several prefixed with the term's label ("fairkl.clamped_share"):
//   loss                     several terms only: the mean of the term's value, before its weight
//   clamped_share            clamped / clampable: how often a clamp, floor or fall-back acted, of the anchors (of each pair of views, where
//                            these are averaged) or sets of pairs where it can; near 1, the objective is another one
//   min_estimate             the least estimate before it acted; absent where the objective has none
//   effective_sample_size    the mean over steps of that of the importance weights; absent where there are none
// and of the classifier: acc1, the share of labelled rows (all views) whose largest logit is that of the label; classifier_loss, the mean
// cross-entropy, where that trains it. Of methods with keys, where labels are known: false_negative_share. Of quick_thoughts: next_acc and previous_acc, the shares of sentences
// whose largest score is that of the next and of the previous one: at most about a half, since both are neighbours.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace debias {

using Metrics = std::vector<std::pair<std::string, double>>;

struct TermEvidence {
  int64_t steps = 0;
  double loss_sum = 0;
  int64_t anchors = 0, clamped = 0, clampable = 0;
  std::optional<double> min_estimate;
  int64_t sample_size_steps = 0;
  double sample_size_sum = 0;

  void add(const TermEvidence& more);
};

struct ClassifierEvidence {
  int64_t rows = 0, correct = 0;  // labelled rows
  int64_t loss_steps = 0;
  double loss_sum = 0;

  void add(const ClassifierEvidence& more);
};

struct Evidence {
  std::vector<TermEvidence> terms;
  ClassifierEvidence classifier;
  // Of methods with keys: pairs of an anchor and a key of another image whose labels are both known, and those of one class among them.
  int64_t labelled_negatives = 0, false_negatives = 0;

  // Of quick_thoughts: pairs of a sentence and the next of its batch, and how often either was told from all others of the batch.
  int64_t neighbour_pairs = 0, next_hits = 0, previous_hits = 0;

  void add(const Evidence& more);  // an empty one takes the terms of `more`
  Metrics metrics(const std::vector<std::string>& labels) const;

  nlohmann::ordered_json to_json() const;
  static Evidence from_json(const nlohmann::ordered_json& json);
};

// "" for the only term, else "LABEL.".
std::string term_prefix(const std::vector<std::string>& labels, size_t term);

}  // namespace debias

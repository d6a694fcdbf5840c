// Description of a metric, given by its maker: a protocol, a method, the objective's terms, the training loop. All others, such as
// tables and reports, take unit, direction, title and chance level from here.
#pragma once

#include <string>
#include <vector>

namespace debias {

enum class Unit { kNumber, kShare };  // a share of one is shown in percent

enum class Better {
  kHigher,
  kLower,
  kLowerOfOneObjective,  // of losses: less is better among runs of one objective alone, so that a report calls none of them best
  kNeither
};

// Place of a metric in a table, first to last; within one of these in the order of the registries.
enum class Standing { kAccuracy, kProtocol, kGroups, kFairness, kFeatures, kDetail, kTraining };

struct Metric {
  std::string name;   // without its split: "knn_acc1"
  std::string title;  // as a person reads it: "kNN accuracy"
  Unit unit = Unit::kNumber;
  Better better = Better::kNeither;
  Standing standing = Standing::kProtocol;
  std::vector<std::string> chance = {};  // metrics of the same split that say what guessing reaches; the largest counts
  bool of_predictions = false;           // it evaluates predictions, and its name does not say whose (predictions.h)
  bool of_term = false;                  // one term of several has its label in front: "fairkl.clamped_share"
  bool of_batch = false;                 // train.batch_size decides how much there is to mistake for what is sought
  // One setting of several has its text behind, and in the title in the place of {}: "low_shot_acc1_5_per_class".
  bool of_setting = false;
  std::string last_of = {};  // of the last epoch, as the metric of this name is of the best
};

// True if the metric of this name, without its split, is the one described.
inline bool describes(const Metric& metric, const std::string& name) {
  return name == metric.name || (metric.of_setting && name.size() > metric.name.size() + 1 && name.starts_with(metric.name + "_"));
}

}  // namespace debias

// What a number says: a protocol's entry describes each of its metrics, for everyone who shows one.
#pragma once

#include <string>

namespace debias {

enum class Unit { kNumber, kShare };  // a share of one is shown in percent
enum class Better { kHigher, kLower, kNeither };

// Where a metric stands in a table, first to last; within one of these by protocol, in the order of the registry.
enum class Standing { kAccuracy, kProtocol, kGroups, kFairness, kFeatures, kDetail, kTraining };

struct Metric {
  std::string name;   // without its split: "knn_acc1"
  std::string title;  // as a person reads it: "kNN accuracy"
  Unit unit = Unit::kNumber;
  Better better = Better::kNeither;
  Standing standing = Standing::kProtocol;
};

}  // namespace debias

// Samples counted by class and bias label: the one account of groups.
//
// A group is the samples of one class y and one bias label b; its number is y * biases + b. A sample of unknown class or bias label is in no
// group. A class's majority is its most frequent bias label. Its usual bias labels are that one and others that speak for the class as well:
// a species may be common at several sites.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/data/sample_table.h"

namespace debias {

struct GroupAccuracies {
  double worst, mean;  // with equal weights; NaN without groups
  int64_t groups = 0;
};

struct GroupCounts {
  int64_t classes = 0, biases = 0;
  std::vector<int64_t> count;    // [classes * biases]: samples
  std::vector<int64_t> correct;  // of them, those that are predicted right

  GroupCounts() = default;
  GroupCounts(int64_t class_count, int64_t bias_count);
  explicit GroupCounts(const std::vector<std::vector<int64_t>>& table);  // samples by class and bias label

  int64_t group(int64_t label, int64_t bias) const { return label == kUnknown || bias == kUnknown ? kUnknown : label * biases + bias; }
  void add(int64_t group, bool right = false);  // nothing for kUnknown

  std::vector<int64_t> of_classes() const;  // samples
  std::vector<int64_t> of_biases() const;
  std::vector<int64_t> majorities() const;  // [classes]; the lowest of equally frequent ones, kUnknown without samples
  int64_t conflicting() const;              // samples of another bias label than the majority

  // [classes]: the majority and, where the class is more frequent among samples of it than among all, every other bias label of which that
  // is true beyond three standard deviations of a count; ascending. Empty without samples.
  std::vector<std::vector<int64_t>> usual() const;

  double accuracy(int64_t group) const;                                // NaN without samples
  GroupAccuracies accuracies(const std::vector<bool>& counted) const;  // over the groups that are counted and have samples

  // Groups with fewer than `least` samples as one: for each group the number of what it is scored with, from 0 in the order of groups;
  // kUnknown without samples.
  std::vector<int64_t> pools(int64_t least) const;
};

}  // namespace debias

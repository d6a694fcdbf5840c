// One permutation test for all properties of an audit.
//
// Every group of rows weighs 1 (a group with rows of several classes 1 for each). With P(v | k) the share of value v in class k, and
// P(v | rest) that in all other classes,
//   J_k = 1/2 sum_v |P(v | k) - P(v | rest)|                      of names
//   J_k = max_v |F_k(v) - F_rest(v)|,  F the cumulative shares    of ordered values (Kolmogorov and Smirnov)
// Labels are permuted among the groups of one class, and within groups of several (restricted permutations). With mu and sigma the mean and
// deviation of J_k over the permutations,
//   effect J* = (J - mu) / (1 - mu)
//   p         = share of the permutations in which the maximum of (J - mu) / sigma over all properties and classes is at least as large
//               (Westfall and Young, 1993: adjusted for all properties)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "debias/audit/property.h"
#include "debias/data/row_groups.h"

namespace debias {

// How often one class has a value, and the others.
struct ClassContrast {
  int32_t label = 0;
  int32_t value = 0;                   // of an ordered property, the bin at whose lower end it divides
  bool above = false;                  // of an ordered property: values from there on are those of the class, else those below
  double in_class = 0, elsewhere = 0;  // shares of groups
  double groups_with = 0;              // groups of the class that have it, in groups' worth
};

// The contrast is that of the class that has a value more often than elsewhere by the largest share.
struct TestedProperty : ClassContrast {
  double p_adjusted = 1;  // of the class with the largest (J - mu) / sigma
  double effect = 0;      // J*, the largest of the classes
  ClassContrast largest;  // of a class that has a value more often or less often: what all classes but one have marks that one
};

class LabelTest {
 public:
  static constexpr int kPermutations = 499;

  // `labels` are 0 to classes - 1. Rows with different `strata` (empty: none) are not exchanged;
  // a group's rows of one stratum are then a group.
  LabelTest(std::span<const int32_t> labels, int32_t classes, const RowGroups& whole, uint64_t seed, std::span<const int32_t> strata = {},
            int permutations = kPermutations);

  std::vector<TestedProperty> test(const std::vector<const Property*>& properties) const;

  // (J - mu) / sigma that the maximum of the last test() reaches in a share `level` of the permutations.
  double critical(double level) const;
  // The least share of the smallest class's groups at which a mark that no other class has reaches this effect and (J - mu) / sigma.
  double least_share(double effect, double critical) const;

 private:
  struct Labelling {
    std::vector<int32_t> labels;
    std::vector<float> weights;
  };
  std::vector<double> statistics(const Property& property, const Labelling& labelling, std::vector<double>* table) const;

  size_t rows_;
  size_t classes_;
  std::vector<double> class_weight_;   // number of groups, by class
  std::vector<Labelling> labellings_;  // the first is the real one
  mutable std::vector<double> maxima_;
};

}  // namespace debias

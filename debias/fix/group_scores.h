// Scores of a head on the groups of class and bias label, from predictions of held-out rows.
#pragma once

#include <cstdint>
#include <vector>

namespace debias {

// The number of successes in independent trials of unequal probabilities (the Poisson binomial distribution).

// P(X <= successes) for the sum X of Bernoulli variables with these probabilities, each in [0, 1]. The distribution is convolved trial by
// trial from terms that are all positive, so the relative error is about 1e-15 times the number of trials, also far in the tail. Tails
// below 1e-300 are 0. Takes trials * successes additions.
double poisson_binomial_tail(const std::vector<double>& probabilities, int64_t successes);

constexpr int64_t kLeastGroup = 10;  // rows; smaller groups are scored together

struct GroupScores {
  double worst = 0;        // accuracy of the worst group; groups below kLeastGroup count as one
  double mean = 0;         // over all groups; each small group has the accuracy of all small ones together
  double conflicting = 0;  // accuracy over all rows whose bias label is not their class's most frequent one; NaN without any
};

// Scores rows by group. Rows without a group (kUnknown) are not scored.
class GroupScorer {
 public:
  // groups[i] is the group of row i, or kUnknown; conflicting[g] says whether group g is bias-conflicting.
  // units[i] says what row i is of, such as a patient: rows of one unit are not independent, and tests count units. Empty: rows are
  // independent.
  GroupScorer(const std::vector<int64_t>& groups, const std::vector<bool>& conflicting, std::vector<int32_t> units = {});

  GroupScores scores(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions) const;
  int64_t conflicting_rows() const { return static_cast<int64_t>(conflicting_.size()); }

  // The p-value of a one-sided paired test that `better` is right more often than `worse` on conflicting rows. Among the rows where only
  // one is right, it tests the number where that is `better` against probability 1/2 (McNemar's test, mid-p: Fagerland et al. 2013,
  // https://doi.org/10.1186/1471-2288-13-91). With units, it tests the sum over units of rows won less rows lost against random signs of
  // the units (signs_mid_p). It is 1 without such rows.
  double paired_p(const std::vector<int64_t>& labels, const std::vector<int64_t>& better, const std::vector<int64_t>& worse) const;

  // The p-value of a one-sided test that predictions are right less often on conflicting rows than on the other rows of the same classes.
  // It is the probability that at most as many conflicting rows are right, if rows are independent and each is right with the accuracy of
  // its class on the others, (right + 1) / (rows + 2): the exact tail. It is 1 without conflicting rows. With units,
  // it is that of as many fewer rows as their variance is larger than that of independent rows (design effect: Kish 1965).
  double shortfall_p(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions) const;

 private:
  std::vector<int64_t> scored_;       // one per row: index of its scored group, or kUnknown
  std::vector<int64_t> conflicting_;  // rows
  std::vector<int64_t> others_;       // rows of the other groups
  std::vector<int32_t> units_;        // [rows] or empty
  std::vector<double> pooled_;        // number of groups of class and bias label in each scored group
};

// P(X > successes) + P(X = successes) / 2 of X ~ Binomial(trials, 1/2); 1 without trials.
double mid_p_of_coins(int64_t successes, int64_t trials);

// P(S > s) + P(S = s) / 2 for s = sum of `differences` and S the same sum with independent random signs; 1 where all are 0.
double signs_mid_p(const std::vector<int64_t>& differences);

// How many times larger the variance of a sum over rows is than if rows were independent: residuals are summed within units. At least 1, and
// the mean size of a unit, weighted by size, where no residual differs from 0, or where there is one unit, which shows no variance.
double design_effect(const std::vector<double>& residuals, const std::vector<int32_t>& units);

}  // namespace debias

// The sums over pairs of rows that every pairwise objective is made of; what remains of an objective is a few operations per row.
//
//   log_sums         log of the sum over keys j in the set of e^{k s_aj}
//   ranked_log_sums  log of the sum over unequal j of w(rank of s_aj among them) e^{k s_aj}
//   log_add_sums     sum over j in the set of log( e^{-epsilon} + e^{c_a + sign s_aj} )
//   equal_means      mean of s_aj over equal j (needs no pairs: linear in n + m)
//
// All results are [n], in the order of rows and the dtype of the anchors, and part of the graph (anchors, keys, and c where there is one).
// Three engines compute them (pair_engines.h): the dense one is the definition, the others agree with it. Which one did is
// noted in Rows::engines.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/pairs/rows.h"

namespace debias {

struct PairSum {
  PairSet set = PairSet::kUnequal;
  double multiplier = 1;  // k
  bool constant = false;  // no gradient goes through it
};

// One [n] for each request; kLogOfNothing where a set is empty.
std::vector<at::Tensor> log_sums(const Rows& rows, const std::vector<PairSum>& requests);

struct RankedSum {
  at::Tensor log_weight;  // double [N]: log w of ranks 1..N, -inf where w = 0; N at least the number of unequal keys of every anchor
  double multiplier = 1;  // k
  bool constant = false;  // no gradient goes through it
};

// Rank 1 is the smallest s_aj; ties share the largest rank. Weights and ranks carry no gradient.
std::vector<at::Tensor> ranked_log_sums(const Rows& rows, const std::vector<RankedSum>& requests);

struct LogAdd {
  PairSet set = PairSet::kEqual;
  double sign = -1;    // of s_aj: -1 or 1
  double epsilon = 0;  // >= 0, may be infinite: then the term is c_a + sign s_aj
};

at::Tensor log_add_sums(const Rows& rows, const at::Tensor& c, const LogAdd& term);

at::Tensor equal_means(const Rows& rows);  // 0 where a row has no equal
at::Tensor equal_sums(const Rows& rows);   // the sums of s_aj over equal j

// log(e^{-epsilon} + e^x): max(-epsilon, x), smoothed. x itself for an infinite epsilon.
at::Tensor log_add(const at::Tensor& x, double epsilon);

// [n]: the sum over equal rows i and unequal rows j of log(e^{-epsilon} + e^{s_j - s_i}). No sum per row expresses it: n |P| N terms.
// Engines blocked and auto compute them in panels of at most panel_terms (8 MB in double, of which a panel holds a handful) and again in the
// backward pass, which has no derivative itself (usage error). Engine dense holds all of them and can be differentiated any number of times;
// more than kDenseTerms are a usage error. Engine fused is one. Takes no keys.
inline constexpr int64_t kPanelTerms = int64_t{1} << 20;
inline constexpr int64_t kDenseTerms = int64_t{1} << 27;
at::Tensor log_add_triplet_sums(const Rows& rows, double epsilon, int64_t panel_terms = kPanelTerms);

}  // namespace debias

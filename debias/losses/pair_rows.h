// The sums over pairs of rows that every pairwise objective is made of; what remains of an objective is a few operations per row.
//
// n rows z_i with s_ij = z_i . z_j / t. One integer per row, its group, says what a pair is: rows of one group are equal, rows of different
// groups are unequal, and row i itself is in neither set. With groups of one sample, the unequal rows are the negatives of a label-free
// objective; with groups of one class, the equal rows are the positives of a supervised one.
//
//   log_sums         log of the sum over j in the set of e^{k s_ij}
//   ranked_log_sums  log of the sum over unequal j of w(rank of s_ij among them) e^{k s_ij}
//   log_add_sums     sum over j in the set of log( e^{-epsilon} + e^{c_i + sign s_ij} )
//   equal_means      mean of s_ij over equal j (needs no pairs: linear in n)
//
// All results are [n], in the dtype of z, and part of the graph (z, and c where there is one). The dense engine is the plain composition in
// libtorch, which holds n x n matrices and is the definition; the fused one (fused_pairs.h) holds O(n) beyond the memory budget.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "debias/losses/objective.h"

namespace debias {

struct SortedBatch;

struct PairRows {
  at::Tensor z;            // [n, D] float32 or float64
  at::Tensor group;        // int64 [n]
  double temperature = 1;  // t
  Engine engine = Engine::kAuto;
  int64_t memory_budget = kDefaultMemoryBudget;
  bool bfloat16_products = false;  // as in ObjectiveInput
  int64_t views = 1;               // of rows in turn: log_sums returns its results view by view

  bool fused() const { return takes_fused(engine, z); }
  mutable std::shared_ptr<SortedBatch> sorted{};  // made by the first fused sum, shared by the others
};

enum class PairSet { kOthers, kUnequal, kEqual };  // all j != i; other groups; the own group without i

struct PairSum {
  PairSet set = PairSet::kUnequal;
  double multiplier = 1;  // k
};

// One [n] for each request, in the order of the rows, or view-major (PairRows::views); kLogOfNothing (two_view.h) where a set is empty.
std::vector<at::Tensor> log_sums(const PairRows& rows, const std::vector<PairSum>& requests);

struct RankedSum {
  at::Tensor log_weight;  // double [N]: log w of ranks 1..N, -inf where w = 0; N at least the number of unequal rows of every row
  double multiplier = 1;  // k
  bool constant = false;  // no gradient goes through it
};

// Rank 1 is the smallest s_ij; ties share the largest rank. Weights and ranks carry no gradient.
std::vector<at::Tensor> ranked_log_sums(const PairRows& rows, const std::vector<RankedSum>& requests);

struct LogAdd {
  PairSet set = PairSet::kEqual;
  double sign = -1;    // of s_ij: -1 or 1
  double epsilon = 0;  // >= 0, may be infinite: then the term is c_i + sign s_ij
};

at::Tensor log_add_sums(const PairRows& rows, const at::Tensor& c, const LogAdd& term);

at::Tensor equal_means(const PairRows& rows);  // 0 where a row has no equal
at::Tensor equal_sums(const PairRows& rows);   // the sums of s_ij over equal j

at::Tensor set_sizes(const PairRows& rows, PairSet set);  // how many j, [n] in the dtype of z, no gradient

// Groups by class: rows with one known label, or of one sample; rows of unknown label (-1) are equal to their own sample's other views
// alone.
at::Tensor class_groups(const at::Tensor& label, const at::Tensor& sample);

}  // namespace debias

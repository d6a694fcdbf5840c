// Quick-Thoughts: predict from scores alone which sentences of a batch are adjacent (Logeswaran and Lee 2018; with the debiased sum over
// negatives Chuang et al. 2020, 5.3: M = 2, previous and next).
//
// scores [B, B]: s_ij is the score of f(sentence i) and g(sentence j), with sentences in the order of the text. The positives P(i) are the
// sentences at a distance of at most `context`; M_i = |P(i)| is smaller at the ends of the batch. An anchor is a pair of a row i and a
// positive p. The value is the mean over rows of the mean over their anchors of an objective's loss, computed from s_ip, the mean of e^s
// over P(i), and the negatives:
//
//   negatives   all sentences except i and P(i): N = B - 1 - M_i; an anchor without any has loss 0
//   official    all columns except p, as in the published program's softmax: the other positives, and i itself with score 0; N = B - 1.
//               InfoNCE over it is that program's cross-entropy against equal targets on P(i).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "debias/losses/comparison.h"
#include "debias/losses/debiased.h"
#include "debias/losses/late_number.h"
#include "debias/losses/objective.h"

namespace debias {

// The value for `products` divided by the temperature, times `scale`. Negatives are those of `given`, or `usual`. Anchors of the result are
// pairs, M_i per row; per_anchor has one entry per row. Usage error unless B > context + 1.
ObjectiveResult mean_over_neighbours(const NeighbourScores& given, NeighbourNegatives usual, double temperature, double scale,
                                     const LossOfAnchors& loss);

// Why a clamp is invalid for products of vectors of any norm; empty if it is valid.
std::string unfit_for_products(Clamp clamp);

// Counts over scores [B, B] of sentences in the order of the text.
//
// The number of rows whose largest score is that of the next and of the previous sentence, with the sentence's own score as 0. As in the
// published program, each of the B - 1 pairs of neighbours counts once from either side.
struct NeighbourHits {
  int64_t pairs = 0;
  LateNumber next, previous;
};
NeighbourHits neighbour_hits(const at::Tensor& scores);

// The number of rows whose largest score, without the sentence's own, is that of an adjacent sentence.
int64_t nearest_is_neighbour(const at::Tensor& scores);

}  // namespace debias

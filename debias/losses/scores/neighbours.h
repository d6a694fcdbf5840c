// Quick-Thoughts: which sentences of a batch are next to each other, from their scores alone (Logeswaran and Lee 2018; with the debiased sum
// over negatives Chuang et al. 2020, 5.3: M = 2, previous and next).
//
// scores [B, B]: s_ij of f(sentence i) and g(sentence j), sentences in their order. The positives P(i) are the sentences at a distance of at
// most `context`, M_i = |P(i)|: fewer at the ends of the batch. An anchor is a pair of a row i and a positive p of it. The value is the mean
// over rows of the mean over their anchors of an objective's loss of s_ip, of the mean of e^s over P(i), and of the negatives:
//
//   negatives   all sentences but i and P(i): N = B - 1 - M_i; an anchor without any costs nothing
//   official    all columns but p, as the published program's softmax has them: the other positives, and i itself with a score of 0;
//               N = B - 1. InfoNCE of it is that program's cross-entropy against equal targets on P(i).
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "debias/losses/negatives_estimate.h"
#include "debias/losses/objective.h"
#include "debias/losses/scored_anchors.h"
#include "debias/losses/scores.h"

namespace debias {

// `products` over the temperature; times `scale`. Negatives are those of `given`, or `usual`. Anchors of the result are pairs, M_i a row, and
// per_anchor has the rows. Usage error unless B > context + 1.
ObjectiveResult mean_over_neighbours(const NeighbourScores& given, NeighbourNegatives usual, double temperature, double scale,
                                     const LossOfAnchors& loss);

// Why a clamp has no meaning for products of vectors of any length; empty where it has one.
std::string unfit_for_products(Clamp clamp);

}  // namespace debias

// Quick-Thoughts: which sentences of a batch stand next to each other, told from their scores alone (Logeswaran and Lee 2018), and the same
// with the debiased sum over negatives (Chuang et al. 2020, 5.3: M = 2, previous and next).
//
// scores [B, B]: s_ij of f(sentence i) and g(sentence j), sentences in their order. The positives P(i) are the sentences at a distance of at
// most `context`, M_i = |P(i)|: fewer at the ends of the batch. Each row's loss is the mean over p in P(i) of
//
//   -log[ e^{s_ip} / (e^{s_ip} + N g) ],     g = (1 / (1 - tau_plus)) ( (1/N) sum over the N negatives of e^{s_ij} - tau_plus mean over P(i) of e^{s_ip} )
//
// and the value the mean over rows. Negatives are
//   negatives   all sentences but i and P(i): N = B - 1 - M_i
//   official    all columns but p, as the published program's softmax has them: the other positives, and i itself with a score of 0;
//               N = B - 1. With tau_plus = 0 this is its cross-entropy against equal targets on P(i).
// With tau_plus > 0 the clamp is `positive` (negatives_estimate.h): N g below N 1e-30 e^m is held there, m the larger of the log of the sum
// over negatives and that of the mean over P(i). No gradient passes through it. The pair's loss is then log(1 + N 1e-30 e^{m - s_ip}), next
// to nothing as its gradient is, but where another positive scores some 65 nats more than p.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

enum class NeighbourNegatives { kNegatives, kOfficial };
template <>
struct EnumNames<NeighbourNegatives> {
  static constexpr std::array<std::pair<std::string_view, NeighbourNegatives>, 2> values = {
      {{"negatives", NeighbourNegatives::kNegatives}, {"official", NeighbourNegatives::kOfficial}}};
};

class NeighbourOptions {
 public:
  DEBIAS_OPTION(NeighbourOptions, int64_t, context, 1)
  DEBIAS_OPTION(NeighbourOptions, double, tau_plus, 0)
  DEBIAS_OPTION(NeighbourOptions, NeighbourNegatives, denominator, NeighbourNegatives::kOfficial)
};

// Anchors are pairs of a row and one of its positives, M_i a row; clamped counts them. Usage error unless B > context + 1.
ObjectiveResult neighbour_loss(const at::Tensor& scores, const NeighbourOptions& options);

// Of how many rows the largest score, that of the sentence itself taken as 0, is that of the next and of the previous sentence; as the
// published program counts: each of the B - 1 pairs of neighbours once from either side.
struct NeighbourHits {
  int64_t pairs = 0;
  int64_t next = 0, previous = 0;
};
NeighbourHits neighbour_hits(const at::Tensor& scores);

// Rows whose largest score, that of the sentence itself left out, is that of a sentence next to it.
int64_t nearest_is_neighbour(const at::Tensor& scores);

}  // namespace debias

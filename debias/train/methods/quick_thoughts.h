// Quick-Thoughts (Logeswaran and Lee 2018): two encoders of sentences, f and g, of which a sentence's f must find the g of its neighbours
// among all sentences of a batch, which follow each other in a book. Scores are plain inner products over the term's temperature, which
// the paper's is 1 of. The evaluated encoder is the pair.
//
// Terms: objectives that take scores of neighbours (losses/scores/neighbours.h). Where a recipe says nothing, temperature is 1 and clamp
// positive.
#pragma once

#include "debias/loader/sentence_batches.h"
#include "debias/train/methods/method.h"

namespace debias {

enum class Denominator { kAuto, kOfficial, kNegatives };
template <>
struct EnumNames<Denominator> {
  static constexpr std::array<std::pair<std::string_view, Denominator>, 3> values = {
      {{"auto", Denominator::kAuto}, {"official", Denominator::kOfficial}, {"negatives", Denominator::kNegatives}}};
};

class QuickThoughtsOptions {
 public:
  DEBIAS_OPTION(QuickThoughtsOptions, int64_t, context, 1)
  DEBIAS_OPTION(QuickThoughtsOptions, Denominator, denominator, Denominator::kAuto)
  DEBIAS_OPTION(QuickThoughtsOptions, BatchOrder, order, BatchOrder::kShuffled)
  static const OptionTable<QuickThoughtsOptions>& table();
};

MethodEntry quick_thoughts_entry();

}  // namespace debias

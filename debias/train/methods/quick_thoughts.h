// Quick-Thoughts (Logeswaran and Lee 2018): two encoders of sentences, f and g, of which a sentence's f must find the g of its neighbours
// among all sentences of a batch, which follow each other in a book. Scores are plain inner products over the term's temperature, which
// the paper's is 1 of. The evaluated encoder is the pair.
//
// Terms: objectives that take scores of neighbours (losses/neighbours.h). Where a recipe says nothing, temperature is 1 and clamp
// positive.
#pragma once

#include "debias/loader/sentence_batches.h"
#include "debias/train/methods/method.h"

namespace debias {

enum class Denominator { kAuto, kOfficial, kNegatives };
constexpr auto enum_words(Denominator) { return named("auto", "official", "negatives"); }

struct QuickThoughtsOptions {
  int64_t context = 1;
  Denominator denominator = Denominator::kAuto;
  BatchOrder order = BatchOrder::kShuffled;
  void describe(OptionVisitor& o) {
    o("context", context, Range::closed(1, 64), "number of sentences on each side that are positives");
    o("denominator", denominator,
      "denominator: only the negatives, or the whole row of the softmax as published (official); auto: official for infonce, "
      "negatives for debiased_negatives");
    o("order", order, "order of the batches in an epoch: reshuffled, or as in the corpus");
  }
};

MethodEntry quick_thoughts_entry();

}  // namespace debias

#include "debias/train/methods/quick_thoughts.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/encoders/heads.h"
#include "debias/encoders/sentence_encoders.h"
#include "debias/loader/batch_source.h"
#include "debias/losses/neighbours.h"
#include "debias/losses/objective.h"

namespace debias {
namespace {

constexpr uint64_t kSecondEncoder = 0x9e3779b97f4a7c15;  // keeps the first weights of f and g apart

std::optional<NeighbourNegatives> negatives_of(Denominator denominator) {
  if (denominator == Denominator::kAuto) return std::nullopt;
  return denominator == Denominator::kOfficial ? NeighbourNegatives::kOfficial : NeighbourNegatives::kNegatives;
}

constexpr const char *kNextAccuracy = "next_acc", *kPreviousAccuracy = "previous_acc";

class QuickThoughts final : public Method {
 public:
  QuickThoughts(const QuickThoughtsOptions& options, MethodParts parts) : Method(std::move(parts)), options_(options) {}

 protected:
  Evaluated differentiate(const Batch& batch, int64_t) override {
    const at::Tensor own = model().encoder->forward(batch.input("words")[0]).unsqueeze(1);
    const at::Tensor features = of_all_ranks(own, batch);
    const at::Tensor pair = features.select(1, 0).unflatten(1, {2, -1});  // [B, 2, D]
    const at::Tensor products = pair.select(1, 0).mm(pair.select(1, 1).t());
    const ModelOutput output = {features, features};
    const Scores scores = {NeighbourScores{products, options_.context, negatives_of(options_.denominator)}};
    Evaluated evaluated = evaluate(output, batch, [&](const Term& term, const at::Tensor&) { return term.objective().on_scores(scores); });
    const NeighbourHits hits = neighbour_hits(products);
    evaluated.metrics = {{kNextAccuracy, hits.next, hits.pairs}, {kPreviousAccuracy, hits.previous, hits.pairs}};
    backward(evaluated, output);
    return evaluated;
  }

 private:
  QuickThoughtsOptions options_;
};

void require_sentence_terms(const Recipe& recipe, const SampleTable& samples, const std::string& where) {
  for (const auto& term : make_terms(recipe, samples)) {
    const std::string why = term.objective().refusal(ScoreForm::kNeighbours);
    if (!why.empty()) throw usage_error("{}method 'quick_thoughts' is trained on scores of neighbours: {}", where, why);
  }
  for (const auto& term : recipe.objective) {
    if (!term.sources.empty())
      throw usage_error("{}method 'quick_thoughts' makes no estimates; give '{}' a number", where, term.sources[0].number.name);
  }
}

void check_quick_thoughts(const Recipe& recipe, const SampleTable& samples) {
  const std::string& where = recipe.method.where;
  const auto refuse = [&](bool given, const char* section, const char* why) {
    if (given) throw usage_error("{}method 'quick_thoughts' takes no {}: {}; leave it out", where, section, why);
  };
  if (samples.sentences() == nullptr) {
    throw usage_error(
        "{}method 'quick_thoughts' is trained on sentences, data set '{}' has none; choose data: {{train: {{name: sentences}}}}", where,
        samples.info().name);
  }
  const EncoderEntry& encoder = *recipe.encoder.entry;
  if (!encoder.reads_words) {
    throw usage_error("{}method 'quick_thoughts' needs an encoder of sentences, '{}' is one of images; choose gru or bag_of_words", where,
                      encoder.name);
  }
  const ChosenViews& views = recipe.view_steps;
  const bool has_views = !views.steps.empty() || views.normalize || views.eval != nullptr || recipe.views.noise > 0;
  refuse(has_views, "views", "sentences have none");
  refuse(recipe.head.projects(), "head", "scores are of the encoders' own vectors");
  refuse(recipe.classifier.has_value(), "classifier", "sentences have no labels");
  refuse(recipe.sampler.has_value(), "sampler", "batches are consecutive sentences");
  refuse(recipe.train.precision != Precision::kFp32, "train.precision", "recurrent units are computed in float32");
  require_sentence_terms(recipe, samples, where);
}

std::unique_ptr<BatchSource> batches_of_sentences(const Recipe& recipe, const std::shared_ptr<const SampleTable>& samples,
                                                  const Ranks& ranks) {
  const auto& options = recipe.method.as<QuickThoughtsOptions>();
  const auto least = 2 + options.context;
  const int64_t batch = recipe.train.batch_size;
  if (batch < ranks.size())
    throw usage_error("train: {} ranks share batches of {} sentences; start at most {}", ranks.size(), batch, batch);
  return std::make_unique<SentenceBatches>(sentences_of(samples), SentenceBatchOptions{.batch_size = batch,
                                                                                       .least = std::max(least, ranks.size()),
                                                                                       .drop_last = recipe.train.drop_last,
                                                                                       .order = options.order,
                                                                                       .seed = recipe.seed,
                                                                                       .rank = ranks.rank(),
                                                                                       .ranks = ranks.size()});
}

Model pair_of(const Recipe& recipe, int64_t words) {
  Model model;
  model.encoder = sentence_pair(recipe.encoder.make(words, recipe.seed), recipe.encoder.make(words, recipe.seed ^ kSecondEncoder));
  model.head = make_no_head(model.encoder->feature_dim());
  return model;
}

}  // namespace

MethodEntry quick_thoughts_entry() {
  MethodEntry entry;
  entry.name = "quick_thoughts";
  entry.summary =
      "two sentence encoders: the vector of a sentence by one predicts those of its neighbours by the other (Logeswaran and Lee 2018)";
  take_options<QuickThoughtsOptions>(entry);
  entry.batches = batches_of_sentences;
  entry.check = check_quick_thoughts;
  entry.networks = pair_of;
  entry.scores_products = true;
  entry.micro_batch_advice = ": a sentence's negatives are its batch; leave it out";
  // At most about a half each, since a sentence has two neighbours.
  entry.metrics = {{kNextAccuracy, "next-sentence accuracy", Unit::kShare, Better::kNeither, Standing::kTraining},
                   {kPreviousAccuracy, "previous-sentence accuracy", Unit::kShare, Better::kNeither, Standing::kTraining}};
  entry.make = [](const Recipe& recipe, const SampleTable&, MethodParts parts) -> std::unique_ptr<Method> {
    return std::make_unique<QuickThoughts>(recipe.method.as<QuickThoughtsOptions>(), std::move(parts));
  };
  return entry;
}

}  // namespace debias

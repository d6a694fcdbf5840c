#include "debias/runs/option_estimates.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "debias/core/error.h"
#include "debias/data/name_table.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/protocols/chosen_images.h"
#include "debias/evaluate/protocols/macro_auc.h"
#include "debias/evaluate/protocols/view_pairs.h"
#include "debias/runs/evaluated_data.h"
#include "debias/runs/run_prior.h"

namespace debias {
namespace {

using MetricValue = std::pair<std::string, double>;

MetricValue measured_prior(const OptionSource& source, const EvaluationInput& input, const Recipe& recipe, Progress& progress) {
  if (const auto by_labels = prior_by_labels(*input.train, recipe)) return {source.metric(), by_labels->tau_plus};
  return {source.bound_metric(), prior_by_views(input, kPriorImages, progress).tau_plus};
}

MacroAucOptions macro_auc_options(const Recipe& recipe) { return recipe.protocol_options.of("macro_auc").as<MacroAucOptions>(); }

double macro_auc_now(const EvaluationInput& input, const Recipe& recipe, Progress& progress) {
  EvaluationCache cache(input, progress);
  return training_macro_auc(cache.train(), macro_auc_options(recipe), input.seed).value;
}

// The same with each image for a class of its own: first views are anchors, second views the gallery.
double view_auc_now(const EvaluationInput& input, const Recipe& recipe, Progress& progress) {
  const MacroAucOptions options = macro_auc_options(recipe);
  const uint64_t seed = options.seed() ? static_cast<uint64_t>(*options.seed()) : input.seed;
  const std::vector<int64_t> images = chosen_images(input.train->size(), kPriorImages, seed);
  const at::Tensor views = view_pair_features(input, input.train, "train", images, seed, progress);
  const int64_t anchors = std::min<int64_t>(options.anchors(), views.size(0));
  std::vector<int64_t> own(images.size());
  std::iota(own.begin(), own.end(), 0);
  const AucAnchors first = {views.select(1, 0).narrow(0, 0, anchors),
                            {own.begin(), own.begin() + anchors},
                            std::vector<int64_t>(static_cast<size_t>(anchors), kUnknown)};
  return macro_auc(views.select(1, 1), own, first).value;
}

MetricValue measured(const OptionSource& source, const EvaluationInput& input, const Recipe& recipe, Progress& progress) {
  switch (source.measure) {
    case SourceMeasure::kPrior:
      return measured_prior(source, input, recipe, progress);
    case SourceMeasure::kMarks:  // read with the recipe, never due
      break;
    case SourceMeasure::kMacroAuc:
      return {source.metric(), macro_auc_now(input, recipe, progress)};
    case SourceMeasure::kViewAuc:
      return {source.metric(), view_auc_now(input, recipe, progress)};
  }
  throw std::logic_error("measured: an unknown source");
}

class OptionEstimates : public TrainObserver {
 public:
  OptionEstimates(const Recipe& recipe, EvaluationInput input, Progress& progress, Log& log)
      : recipe_(recipe), input_(std::move(input)), progress_(progress), log_(log) {}

  bool feeds_training() const override { return true; }

  bool is_due(int64_t epoch, int64_t) const override {
    return std::any_of(option_source_registry().begin(), option_source_registry().end(),
                       [&](const OptionSource& source) { return is_due(source, epoch); });
  }

  std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) override {
    input_.encoder = end.model.encoder;
    std::vector<std::pair<std::string, double>> metrics;
    for (const auto& source : option_source_registry()) {
      if (!is_due(source, end.epoch)) continue;
      try {
        metrics.push_back(measured(source, input_, recipe_, progress_));
      } catch (const Error& error) {
        log_.warn(fmt::format("estimate of '{}' after epoch {}: {}", source.name, end.epoch, error.what()));
      }
    }
    return metrics;
  }

 private:
  bool is_due(const OptionSource& source, int64_t epoch) const {
    return std::any_of(recipe_.objective.begin(), recipe_.objective.end(), [&](const TermRecipe& term) {
      return std::any_of(term.sources.begin(), term.sources.end(),
                         [&](const SourcedOption& sourced) { return sourced.source == &source && sourced.due_after(epoch); });
    });
  }

  Recipe recipe_;
  EvaluationInput input_;
  Progress& progress_;
  Log& log_;
};

}  // namespace

std::shared_ptr<TrainObserver> make_option_estimates(const Recipe& recipe, std::shared_ptr<const Dataset> train, Progress& progress,
                                                     Log& log) {
  bool any = false;
  for (const auto& term : recipe.objective) {
    for (const auto& sourced : term.sources) {
      any |= !sourced.marks;
      if (sourced.source->measure == SourceMeasure::kMacroAuc)
        count_classes(*train, fmt::format("objective '{}': alpha: from: macro_auc", term.entry->name));
    }
  }
  if (!any) return nullptr;
  const NameTable names = name_table(*train);
  DataWatch watch(recipe.verify, progress, log);
  return std::make_shared<OptionEstimates>(recipe, evaluation_input(recipe, {recipe.train_data}, names, watch, log, std::move(train)),
                                           progress, log);
}

}  // namespace debias

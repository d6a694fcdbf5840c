#include "debias/evaluate/protocol_registry.h"

#include <fmt/ranges.h>

#include <utility>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/protocols/clusterings.h"
#include "debias/evaluate/protocols/geometry.h"
#include "debias/evaluate/protocols/groups.h"
#include "debias/evaluate/protocols/knn.h"
#include "debias/evaluate/protocols/linear_probe.h"
#include "debias/evaluate/protocols/low_shot.h"
#include "debias/evaluate/protocols/macro_auc.h"
#include "debias/evaluate/protocols/mean_classifier.h"
#include "debias/evaluate/protocols/retrieval.h"
#include "debias/evaluate/protocols/sentence_protocols.h"
#include "debias/evaluate/protocols/tsne.h"

namespace debias {
namespace {

// Requirements of a protocol on the samples.
enum class Needs { kSamples, kLabels, kBiasValues };

void require_labels(const EvaluationInput& input, const std::string& protocol) {
  const int64_t classes = count_classes(*input.train, protocol);
  for (const auto& evaluated : evaluated_splits(input)) debias::require_labels(*evaluated.dataset, classes, protocol);
}

template <class Options>
ProtocolEntry entry(const std::string& name, std::vector<std::string> aliases, const std::string& summary,
                    EvaluationResult (*run)(const EvaluationInput&, EvaluationCache&, const Options&, Progress&),
                    std::vector<Metric> metrics, Needs needs = Needs::kLabels, SampleKind reads = SampleKind::kImages) {
  const auto read = [name](const Config& section) { return std::any(options_from<Options>(section, name)); };
  const auto run_with = [run](const EvaluationInput& input, EvaluationCache& cache, const std::any& options, Progress& progress) {
    return run(input, cache, std::any_cast<const Options&>(options), progress);
  };
  const auto check_data = [name, needs](const EvaluationInput& input, const std::any&) {
    if (needs != Needs::kSamples) require_labels(input, name);
    if (needs == Needs::kBiasValues) require_bias_values(input, name);
  };
  return {name, std::move(aliases), summary, std::move(metrics), option_specs<Options>(), read, run_with, check_data, reads};
}

ProtocolEntry of_own_data(ProtocolEntry of_tasks) {
  of_tasks.is_of_splits = false;
  return of_tasks;
}

ProtocolEntry low_shot_entry() {
  ProtocolEntry of_draws = entry<LowShotOptions>("low_shot", {}, "linear classifier on the frozen features of few labelled training images",
                                                 run_low_shot, low_shot_metrics());
  of_draws.check_data = [](const EvaluationInput& input, const std::any& options) {
    check_low_shot_data(input, std::any_cast<const LowShotOptions&>(options));
  };
  return of_draws;
}

const char* word_for(SampleKind samples) { return samples == SampleKind::kImages ? "images" : "sentences"; }

}  // namespace

const std::vector<ProtocolEntry>& protocol_registry() {
  static const std::vector<ProtocolEntry> registry = {
      entry<KnnOptions>("knn", {}, "weighted k-nearest neighbours by cosine among the training images", run_knn, knn_metrics()),
      entry<LinearDclOptions>("linear_dcl", {"linear"}, "linear classifier on the frozen encoder, Adam, last epoch (DCL)", run_linear_dcl,
                              linear_dcl_metrics()),
      entry<LinearSupconOptions>("linear_supcon", {}, "linear classifier on the frozen encoder, SGD, best epoch (SupCon)",
                                 run_linear_supcon, linear_supcon_metrics()),
      entry<LinearFeaturesOptions>("linear_features", {},
                                   "linear classifier on stored features, trained with Adam until the loss stops falling (USC)",
                                   run_linear_features, linear_features_metrics()),
      low_shot_entry(),
      entry<MeanClassifierOptions>("mean_classifier", {},
                                   "linear classifier whose weights are the class means of the normalised training features",
                                   run_mean_classifier, mean_classifier_metrics()),
      entry<MacroAucOptions>("macro_auc", {}, "ROC-AUC of cosines, own class against the rest, mean over anchors (BCL)", run_macro_auc,
                             macro_auc_metrics()),
      entry<RetrievalOptions>("retrieval", {}, "recall@k, mAP and mAP@R: whether the nearest images of an image are of its class",
                              run_retrieval, retrieval_metrics()),
      entry<GroupsOptions>("groups", {}, "accuracy by class and bias label, worst group, fairness differences, with confidence intervals",
                           run_groups, groups_metrics(), Needs::kBiasValues),
      entry<ClusteringsOptions>("clusterings", {}, "accuracy by class and cluster, averaged over the clusterings of a CSV (ReBias)",
                                run_clusterings, clusterings_metrics()),
      entry<GeometryOptions>("geometry", {}, "alignment, uniformity, RankMe, spread, similarity distributions, bias probe", run_geometry,
                             geometry_metrics(), Needs::kSamples),
      entry<TsneOptions>("tsne", {}, "a t-SNE plot of the images: similar features are close together", run_tsne, tsne_metrics(),
                         Needs::kSamples),
      entry<NeighboursOptions>("neighbours", {}, "whether the sentence with the highest score is an actual neighbour in the text",
                               run_neighbours, neighbours_metrics(), Needs::kSamples, SampleKind::kSentences),
      of_own_data(entry<SentencesProtocolOptions>("sentences", {}, "six tasks for sentence vectors (Kiros et al. 2015)", run_sentence_tasks,
                                                  sentence_task_metrics(), Needs::kSamples, SampleKind::kSentences)),
  };
  return registry;
}

const ProtocolEntry& protocol_for(SampleKind samples, const std::string& name, const std::string& where) {
  const auto& found = find_entry(protocol_registry(), name, "protocol", where);
  if (found.reads == samples) return found;
  throw usage_error("{}protocol '{}' is for {}, and the run is on {}; for these there are: {}", where, found.name, word_for(found.reads),
                    word_for(samples), fmt::join(protocols_for(samples), ", "));
}

std::vector<std::string> protocols_for(SampleKind samples) {
  std::vector<std::string> names;
  for (const auto& found : protocol_registry()) {
    if (found.reads == samples) names.push_back(found.name);
  }
  return names;
}

std::vector<Metric> protocol_metrics() {
  std::vector<Metric> all;
  for (const auto& entry : protocol_registry()) all.insert(all.end(), entry.metrics.begin(), entry.metrics.end());
  return all;
}

}  // namespace debias

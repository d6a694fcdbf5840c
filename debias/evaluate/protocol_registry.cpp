#include "debias/evaluate/protocol_registry.h"

#include <utility>

#include "debias/evaluate/protocols/clusterings.h"
#include "debias/evaluate/protocols/geometry.h"
#include "debias/evaluate/protocols/groups.h"
#include "debias/evaluate/protocols/knn_protocol.h"
#include "debias/evaluate/protocols/linear_probe.h"
#include "debias/evaluate/protocols/macro_auc.h"
#include "debias/evaluate/protocols/mean_classifier.h"
#include "debias/evaluate/protocols/tsne.h"

namespace debias {
namespace {

template <class Options>
ProtocolEntry entry(const std::string& name, std::vector<std::string> aliases, const std::string& summary,
                    EvaluationResult (*run)(const EvaluationInput&, EvaluationCache&, const Config&, Progress&),
                    std::vector<Metric> metrics) {
  const auto check = [name](const Config& section) { Options::table().read(section, name); };
  return {name, std::move(aliases), summary, std::move(metrics), Options::table().specs(), run, check};
}

}  // namespace

const std::vector<ProtocolEntry>& protocol_registry() {
  static const std::vector<ProtocolEntry> registry = {
      entry<KnnOptions>("knn", {}, "weighted k-nearest neighbours by cosine among the training images", run_knn, knn_metrics()),
      entry<LinearDclOptions>("linear_dcl", {"linear"}, "linear classifier on the frozen encoder, Adam, last epoch (DCL)", run_linear_dcl,
                              linear_dcl_metrics()),
      entry<LinearSupconOptions>("linear_supcon", {}, "linear classifier on the frozen encoder, SGD, best epoch (SupCon)",
                                 run_linear_supcon, linear_supcon_metrics()),
      entry<LinearFeaturesOptions>("linear_features", {}, "linear classifier on stored features, Adam until the loss stalls (USC)",
                                   run_linear_features, linear_features_metrics()),
      entry<MeanClassifierOptions>("mean_classifier", {}, "each class by the mean of its normalised training features", run_mean_classifier,
                                   mean_classifier_metrics()),
      entry<MacroAucOptions>("macro_auc", {}, "ROC-AUC of cosines, own class against the rest, mean over anchors (BCL)", run_macro_auc,
                             macro_auc_metrics()),
      entry<GroupsOptions>("groups", {}, "accuracy by class and bias value, worst group, fairness differences, with intervals", run_groups,
                           groups_metrics()),
      entry<ClusteringsOptions>("clusterings", {}, "accuracy by class and cluster, mean over clusterings of a CSV (ReBias)",
                                run_clusterings, clusterings_metrics()),
      entry<GeometryOptions>("geometry", {}, "alignment, uniformity, RankMe, spread, similarity distributions, bias probe", run_geometry,
                             geometry_metrics()),
      entry<TsneOptions>("tsne", {}, "a map of the images on which similar features lie together (t-SNE)", run_tsne, tsne_metrics()),
  };
  return registry;
}

std::vector<Metric> protocol_metrics() {
  std::vector<Metric> all;
  for (const auto& entry : protocol_registry()) all.insert(all.end(), entry.metrics.begin(), entry.metrics.end());
  return all;
}

}  // namespace debias

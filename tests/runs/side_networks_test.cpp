// Runs whose method trains networks beside the evaluated one: evaluation, embedding and export read the evaluated one alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "debias/core/npy.h"
#include "debias/core/safetensors.h"
#include "debias/runs/run_embedding.h"
#include "debias/runs/run_evaluation.h"
#include "debias/runs/run_export.h"
#include "tests/runs/trained_run.h"

namespace debias {
namespace side_networks_test {

constexpr const char* kRecipe = R"(
seed: 3
data:
  train: {name: glyphs, size: 16, classes: 4, train_count: 96, correlation: 0.8}
  test: {name: glyphs, size: 16, classes: 4, test_count: 60, split: test, correlation: 0.25}
views: {preset: none, count: 1}
encoder: {name: resnet18, width: 8}
objective: cross_entropy
classifier: {name: linear, gradient: flow}
optimizer: {name: adam, learning_rate: 1e-2}
evaluate: {every: 1, protocols: [knn, mean_classifier]}
train: {epochs: 2, batch_size: 24, device: cpu, threads: 1}
)";

class SideNetworks : public testing::TestWithParam<std::string> {
 protected:
  SideNetworks() { train_into(run(), kRecipe, {"method=" + GetParam()}); }
  std::string run() const { return folder_ / "run"; }
  TemporaryFolder folder_;
};

TEST_P(SideNetworks, AreNotPartOfAnEvaluation) {
  EvaluationRequest request{.run = run()};
  for (const char* name : {"knn", "mean_classifier"}) request.protocols.push_back({name, Config::map()});
  const RunEvaluation found = evaluate_run(request, Progress::silent(), Log::silent());
  const nlohmann::json trained = epochs_of(run()).back();
  for (const char* metric : {"test.knn_acc1", "test.mean_classifier_acc1"}) {
    const NamedMetrics all = found.metrics();
    const auto at = std::ranges::find(all, metric, [](const auto& item) { return item.first; });
    ASSERT_NE(at, all.end()) << metric;
    EXPECT_EQ(at->second, trained.at(metric).get<double>()) << metric;
  }
}

TEST_P(SideNetworks, AreNotExported) {
  const ExportedFiles files = export_run({.run = run(), .format = ExportFormat::kSafetensors}, Log::silent());
  const RunEmbedding made = embed_run({.run = run(), .out = folder_ / "z.npy"}, Progress::silent(), Log::silent());
  EXPECT_EQ(made.rows, 60);
  EXPECT_EQ(made.dimensions, files.features);
  const auto weights = SafetensorsFile::open(files.folder + "/encoder.safetensors");
  const auto checkpoint = SafetensorsFile::open(run() + "/checkpoints/last.safetensors");
  size_t of_encoder = 0, beside = 0;
  for (const auto& entry : checkpoint.tensors()) {
    of_encoder += entry.name.starts_with("encoder.") ? 1 : 0;
    beside += entry.name.starts_with("bias.") || entry.name.starts_with("identification.") ? 1 : 0;
  }
  EXPECT_EQ(weights.tensors().size(), of_encoder);
  EXPECT_GT(beside, 0u);
}

INSTANTIATE_TEST_SUITE_P(Methods, SideNetworks, testing::Values("lff", "dfa", "{name: jtt, identification_epochs: 1}"),
                         [](const auto& tested) { return tested.param.substr(tested.param.starts_with("{") ? 7 : 0, 3); });

}  // namespace side_networks_test
}  // namespace debias

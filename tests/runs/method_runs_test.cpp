// Runs of methods that train more than one network are evaluated, embedded and exported like any other, by the evaluated network alone.
#include "debias/runs/run_embedding.h"
#include "debias/runs/run_evaluation.h"
#include "debias/runs/run_export.h"
#include "tests/runs/trained_run.h"

namespace debias::method_runs_test {

struct MethodRun {
  std::string name;
  std::vector<std::string> words;
  int64_t dimensions = 64;
  bool has_side_networks = false;  // in the checkpoint, beside the encoder and its head
};

class MethodRuns : public testing::TestWithParam<MethodRun> {};

TEST_P(MethodRuns, AreEvaluatedEmbeddedAndExportedByTheEncoderAlone) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  train_into(run,
             small_recipe({"data={train: {name: glyphs, size: 16, classes: 4, train_count: 96, correlation: 0.8}, test: {name: glyphs, "
                           "size: 16, classes: 4, test_count: 60, split: test, correlation: 0.25}}",
                           "evaluate={every: 1, protocols: [knn, mean_classifier]}", "train.epochs=2", "train.batch_size=24"}),
             GetParam().words);
  EvaluationRequest request{.run = run};
  for (const char* name : {"knn", "mean_classifier"}) request.protocols.push_back({name, Config::map()});
  const NamedMetrics found = evaluate_run(request, Progress::silent(), Log::silent()).metrics();
  const nlohmann::json trained = epochs_of(run).back();
  for (const char* metric : {"test.knn_acc1", "test.mean_classifier_acc1"}) {
    const auto at = std::ranges::find(found, metric, [](const auto& item) { return item.first; });
    ASSERT_NE(at, found.end()) << metric;
    EXPECT_EQ(at->second, trained.at(metric).get<double>()) << metric;
  }
  const ExportedFiles files = export_run({.run = run, .format = ExportFormat::kSafetensors}, Log::silent());
  const RunEmbedding made = embed_run({.run = run, .out = folder / "z.npy"}, Progress::silent(), Log::silent());
  EXPECT_EQ(made.rows, 60);
  EXPECT_EQ(made.dimensions, GetParam().dimensions);
  EXPECT_EQ(files.features, made.dimensions);
  const auto checkpoint = SafetensorsFile::open(run + "/checkpoints/last.safetensors");
  size_t of_encoder = 0, beside = 0;
  for (const auto& entry : checkpoint.tensors()) {
    of_encoder += entry.name.starts_with("encoder.") ? 1 : 0;
    beside += entry.name.starts_with("bias.") || entry.name.starts_with("identification.") ? 1 : 0;
  }
  EXPECT_EQ(SafetensorsFile::open(files.folder + "/encoder.safetensors").tensors().size(), of_encoder);
  EXPECT_EQ(beside > 0, GetParam().has_side_networks);
  if (GetParam().dimensions == 64) return;  // of an encoder in two halves
  EXPECT_THAT(usage_error_of([&] { export_run({.run = run, .out = folder / "onnx", .format = ExportFormat::kOnnx}, Log::silent()); }),
              HasSubstr("not a single ResNet"));
}

const std::vector<std::string> kClassifier = {"views={preset: none, count: 1}", "head={name: none}", "objective=cross_entropy",
                                              "classifier={name: linear, gradient: flow}"};

std::vector<std::string> classified(const std::string& method) {
  std::vector<std::string> words = kClassifier;
  words.push_back("method=" + method);
  return words;
}

INSTANTIATE_TEST_SUITE_P(, MethodRuns,
                         testing::Values(MethodRun{"lff", classified("lff"), 64, true}, MethodRun{"dfa", classified("dfa"), 128, true},
                                         MethodRun{"jtt", classified("{name: jtt, identification_epochs: 1}"), 64, true},
                                         MethodRun{"moco", {"method={name: moco, queue: 48}", "objective=infonce"}},
                                         MethodRun{"moco_v3", {"method={name: moco, version: v3, predictor: 12}", "objective=infonce"}},
                                         MethodRun{
                                             "cmc",
                                             {"method={name: cmc, negatives: 20}", "head={name: linear, output_dim: 4}",
                                              "views={preset: cmc_lab, count: 1, random_resized_crop: {size: 16}}", "objective=infonce"},
                                             128}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace debias::method_runs_test

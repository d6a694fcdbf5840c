// Runs of every training method are evaluated, embedded and exported by the command like any other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "debias/core/npy.h"
#include "tests/apps/process.h"

namespace debias {
namespace method_runs_test {

using testing::HasSubstr;

class MethodRuns : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(MethodRuns, AreEvaluatedEmbeddedAndExported) {
  const TemporaryFolder folder;
  const std::string recipe = folder / "small.yaml", run = folder / "run";
  std::ofstream(recipe) << "name: small\nseed: 3\n"
                           "data: {train: {name: glyphs, size: 16, train_count: 96}, test: {name: glyphs, size: 16, split: test}}\n"
                           "views: {preset: sim32, count: 2, random_resized_crop: {size: 16}}\n"
                           "encoder: {name: resnet18, width: 8}\nhead: {name: simclr, hidden_dim: 8, output_dim: 4}\n"
                           "objective: {name: infonce}\n"
                           "train: {epochs: 1, batch_size: 16, device: cpu, threads: 1}\noutput: "
                        << run << "\n";
  ProcessResult result = run_debias(with({"train", recipe}, GetParam()));
  ASSERT_EQ(result.exit, 0) << result.err;
  result = run_debias({"eval", "knn", run, "knn.k=5"});
  EXPECT_EQ(result.exit, 0) << result.err;
  result = run_debias({"embed", run, "--out", folder / "f.npy"});
  EXPECT_EQ(result.exit, 0) << result.err;
  const bool halves = GetParam().front().find("cmc") != std::string::npos;
  EXPECT_EQ(read_npy(folder / "f.npy").shape.back(), halves ? 128 : 64);
  result = run_debias({"export", run, "--format", "safetensors"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(run + "/exported/encoder.safetensors"));
  if (!halves) return;
  result = run_debias({"export", run, "--format", "onnx"});
  EXPECT_EQ(result.exit, 2);
  EXPECT_THAT(result.err, HasSubstr("not a single ResNet"));
}

INSTANTIATE_TEST_SUITE_P(All, MethodRuns,
                         testing::Values(std::vector<std::string>{"method={name: moco, queue: 48}"},
                                         std::vector<std::string>{"method={name: moco, version: v3, predictor: 12}"},
                                         std::vector<std::string>{"method={name: cmc, negatives: 20}", "head={name: linear, output_dim: 4}",
                                                                  "views={preset: cmc_lab, count: 1, random_resized_crop: {size: 16}}"}));

}  // namespace method_runs_test
}  // namespace debias

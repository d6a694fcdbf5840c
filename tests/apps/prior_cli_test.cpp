// `debias prior` as a process.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "debias/core/npy.h"
#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"

namespace debias {
namespace prior_cli_test {

using Json = nlohmann::json;

constexpr const char* kRecipe = R"(
seed: 3
data:
  train: {name: glyphs, size: 16, train_count: 96}
views: {preset: sim32, count: 2, random_resized_crop: {size: 16}}
encoder: {name: simple_convnet}
head: {name: simclr, hidden_dim: 8, output_dim: 4}
objective: {name: infonce}
train: {epochs: 1, batch_size: 32, device: cpu, threads: 1, log_every: 100}
)";

// Two views of each of 200 samples of four classes: the class's own axis with noise by a fixed wave.
std::string write_views(const TemporaryFolder& folder, int64_t views = 2) {
  std::vector<float> z(200 * static_cast<size_t>(views) * 4);
  for (size_t i = 0; i < z.size(); ++i) {
    const size_t sample = i / (4 * static_cast<size_t>(views));
    z[i] = static_cast<float>((i % 4 == sample % 4 ? 1 : 0) + 0.05 * std::sin(12.9898 * static_cast<double>(i)));
  }
  const std::string path = folder / "z.npy";
  write_npy(path, DType::kFloat32, {200, views, 4}, z.data());
  return path;
}

std::string write_labels(const TemporaryFolder& folder, std::vector<int64_t> labels) {
  const std::string path = folder / "y.npy";
  write_npy(path, DType::kInt64, {std::ssize(labels)}, labels.data());
  return path;
}

std::vector<int64_t> four_classes(size_t count) {
  std::vector<int64_t> labels(count);
  for (size_t i = 0; i < count; ++i) labels[i] = static_cast<int64_t>(i % 4);
  return labels;
}

TEST(PriorVerb, EmbeddingsWithViewsAndLabelsShowBothEstimates) {
  const TemporaryFolder folder;
  const Json both =
      json_of(run_debias({"prior", "--embeddings", write_views(folder), "--labels", write_labels(folder, four_classes(200)), "--json"}));
  EXPECT_EQ(both["method"], "labels");
  EXPECT_NEAR(both["tau_plus"].get<double>(), 4.0 * 50 * 49 / (200 * 199), 1e-12);
  EXPECT_LT(both["low"], both["tau_plus"]);
  EXPECT_GT(both["high"], both["tau_plus"]);
  EXPECT_EQ(both["assumptions"].size(), 1u);
  EXPECT_EQ(both["other"]["method"], "views");
  EXPECT_EQ(both["other"]["low"], 0);
  EXPECT_GE(both["other"]["high"].get<double>(), 0.25);
  const Json views = json_of(run_debias({"prior", "--embeddings", write_views(folder), "--json"}));
  EXPECT_EQ(views, both["other"]);
  const ProcessResult text = run_debias({"prior", "--embeddings", write_views(folder)});
  EXPECT_NE(text.out.find("at most 0."), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("assumes: two views of an image are as similar"), std::string::npos) << text.out;
}

TEST(PriorVerb, ReadsTheCsvNextToTheVectors) {
  const TemporaryFolder folder;
  const std::vector<float> z(12, 0.5F);
  write_npy(folder / "f.npy", DType::kFloat32, {6, 2}, z.data());
  std::ofstream(folder / "f.csv") << "path,label,kind\n0,a,x\n1,a,x\n2,a,x\n3,b,y\n4,b,y\n5,b,x\n";
  const Json beside = json_of(run_debias({"prior", "--embeddings", folder / "f.npy", "--json"}));
  EXPECT_EQ(beside["method"], "labels");
  EXPECT_NEAR(beside["tau_plus"].get<double>(), 12.0 / 30, 1e-12);
  EXPECT_EQ(json_of(run_debias({"prior", "--embeddings", folder / "f.npy", "--csv", folder / "f.csv", "--json"})), beside);
  const Json kinds = json_of(run_debias({"prior", "--embeddings", folder / "f.npy", "--label", "kind", "--json"}));
  EXPECT_NEAR(kinds["tau_plus"].get<double>(), 14.0 / 30, 1e-12);
  const Json given =
      json_of(run_debias({"prior", "--embeddings", folder / "f.npy", "--labels", write_labels(folder, {0, 0, 0, 0, 0, 1}), "--json"}));
  EXPECT_NEAR(given["tau_plus"].get<double>(), 20.0 / 30, 1e-12);
  std::ofstream(folder / "z.csv") << "path,label\n0,a\n";  // two views of each image are no table
  EXPECT_EQ(json_of(run_debias({"prior", "--embeddings", write_views(folder), "--json"}))["method"], "views");
}

TEST(PriorVerb, MistakesAreNamed) {
  const TemporaryFolder folder;
  const std::string z = write_views(folder);
  expect_refusal(run_debias({"prior"}), 2, "prior: pass exactly one of RUN or --embeddings");
  expect_refusal(run_debias({"prior", "run", "--embeddings", z}), 2, "prior: pass exactly one of RUN or --embeddings");
  const std::string y = write_labels(folder, four_classes(200));
  expect_refusal(run_debias({"prior", "run", "--labels", y}), 2,
                 "prior: --labels needs --embeddings; a run has the labels of its data set");
  EXPECT_EQ(run_debias({"prior", "--embedings", z}).err, "debias: prior: unknown option '--embedings'; did you mean '--embeddings'?\n");
}

TEST(PriorVerb, OfARunPrintsBothEstimates) {
  const TemporaryFolder folder;
  std::ofstream(folder / "recipe.yaml") << kRecipe;
  const ProcessResult trained = run_debias({"train", folder / "recipe.yaml", "output=" + (folder / "run")});
  ASSERT_EQ(trained.exit, 0) << trained.err;
  const Json found = json_of(run_debias({"prior", folder / "run", "--images", "60", "--json"}));
  EXPECT_EQ(found["images"], 96) << "labels are read of all";
  EXPECT_EQ(found["other"]["images"], 60);
  for (const char* count : {"49", "many"}) {
    const ProcessResult refused = run_debias({"prior", folder / "run", "--images", count});
    EXPECT_EQ(refused.exit, 2);
    EXPECT_NE(refused.err.find("--images"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(run_debias({"prior", folder / "run", "--checkpoint", "best"}).exit, 3);
  EXPECT_EQ(run_debias({"prior", folder / "run", "--checkpoint", "frist"}).exit, 2);
  EXPECT_NE(run_debias({"prior", folder / "run", "--device", "gpu"}).err.find("unknown value 'gpu'"), std::string::npos);
  std::ofstream(folder / "drawn.yaml") << kRecipe << "sampler: {name: balanced, by: class}\n";
  ASSERT_EQ(run_debias({"train", folder / "drawn.yaml", "output=" + (folder / "drawn")}).exit, 0);
  EXPECT_NE(run_debias({"prior", folder / "drawn"}).out.find("as the run's sampler draws them"), std::string::npos);
}

}  // namespace prior_cli_test
}  // namespace debias

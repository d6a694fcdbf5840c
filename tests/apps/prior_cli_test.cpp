// `debias prior` as a process, and option sources in a run.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "debias/core/npy.h"
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
objective: {name: bayesian, tau_plus: {from: prior, every: 2}, alpha: {from: macro_auc, start: 0.9}}
train: {epochs: 3, batch_size: 32, device: cpu, threads: 1, log_every: 100}
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

Json json_of(const ProcessResult& result) {
  EXPECT_EQ(result.exit, 0) << result.err;
  return Json::parse(result.out);
}

void expect_refusal(const ProcessResult& result, int exit, const std::string& message) {
  EXPECT_EQ(result.exit, exit);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "debias: " + message + "\n");
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
  EXPECT_NE(text.out.find("assumes: two views of an image are as alike"), std::string::npos) << text.out;
}

TEST(PriorVerb, OneViewWithLabelsUsesTheLabels) {
  const TemporaryFolder folder;
  const ProcessResult result =
      run_debias({"prior", "--embeddings", write_views(folder, 1), "--labels", write_labels(folder, four_classes(200)), "--json"});
  EXPECT_EQ(json_of(result)["method"], "labels");
  EXPECT_FALSE(json_of(result).contains("other"));
}

TEST(PriorVerb, MistakesAreNamed) {
  const TemporaryFolder folder;
  const std::string z = write_views(folder);
  expect_refusal(run_debias({"prior"}), 2, "prior: give a run folder or --embeddings z.npy, one of the two");
  expect_refusal(run_debias({"prior", "run", "--embeddings", z}), 2, "prior: give a run folder or --embeddings z.npy, one of the two");
  const std::string y = write_labels(folder, four_classes(199));
  expect_refusal(run_debias({"prior", "--embeddings", z, "--labels", y}), 3,
                 y + ": 199 labels for 200 samples of embeddings; give one for each");
  expect_refusal(run_debias({"prior", "run", "--labels", y}), 2,
                 "prior: --labels goes with --embeddings; a run has the labels of its data set");
  EXPECT_EQ(run_debias({"prior", "--embedings", z}).err, "debias: prior: unknown option '--embedings'; did you mean '--embeddings'?\n");
  const std::string one = write_views(folder, 1);
  expect_refusal(run_debias({"prior", "--embeddings", one}), 3,
                 one + ": one view of each image and no labels; give --labels y.npy, or embeddings [B, V, D] of two views");
  std::vector<float> bad(60 * 2 * 3, 1.0f);
  bad[3 * 2 * 3 + 4] = std::numeric_limits<float>::quiet_NaN();
  write_npy(folder / "bad.npy", DType::kFloat32, {60, 2, 3}, bad.data());
  expect_refusal(run_debias({"prior", "--embeddings", folder / "bad.npy"}), 3,
                 (folder / "bad.npy") + ": the row of sample 3, view 1 is not finite; remove or repair it");
  write_npy(folder / "few.npy", DType::kFloat32, {2, 2, 3}, bad.data());
  expect_refusal(run_debias({"prior", "--embeddings", folder / "few.npy"}), 3,
                 "prior: views of 2 images; without labels it needs at least 50");
}

TEST(PriorVerb, ARunShowsBothAndItsSourcesPutEstimatesInForce) {
  const TemporaryFolder folder;
  std::ofstream(folder / "recipe.yaml") << kRecipe;
  const ProcessResult trained = run_debias({"train", folder / "recipe.yaml", "output=" + (folder / "run")});
  ASSERT_EQ(trained.exit, 0) << trained.err;
  const Json prior = json_of(run_debias({"prior", folder / "run", "--json"}));
  EXPECT_EQ(prior["method"], "labels");
  EXPECT_EQ(prior["images"], 96);
  EXPECT_EQ(prior["other"]["method"], "views");
  EXPECT_EQ(prior["other"]["images"], 96);

  std::vector<Json> epochs;
  std::istringstream lines(file_text(folder / "run/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) epochs.push_back(Json::parse(line));
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_EQ(epochs[0]["bayesian.tau_plus"], 0.1);  // the option's default
  EXPECT_EQ(epochs[1]["bayesian.tau_plus"], 0.1);
  EXPECT_EQ(epochs[2]["bayesian.tau_plus"], prior["tau_plus"]);
  EXPECT_FALSE(epochs[0].contains("estimate.prior"));
  EXPECT_EQ(epochs[1]["estimate.prior"], prior["tau_plus"]);
  EXPECT_EQ(epochs[0]["bayesian.alpha"], 0.9);
  for (size_t e : {1, 2}) {
    EXPECT_EQ(epochs[e]["bayesian.alpha"], std::max(0.5, epochs[e - 1]["estimate.macro_auc"].get<double>()));
  }
  EXPECT_NE(file_text(folder / "run/train.log").find("precision: network float32; losses float32"), std::string::npos);
}

// Images in one folder have no labels: two views bound the prior, and macro_auc has nothing to read.
TEST(PriorVerb, WithoutLabelsViewsBoundThePriorAndMacroAucIsRefused) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  ASSERT_EQ(run_debias({"data", "make", "glyphs", "--out", folder / "made", "size=16", "train_count=64", "test_count=10"}).exit, 0);
  fs::create_directories(folder / "plain");
  for (const auto& entry : fs::recursive_directory_iterator(folder / "made/conflict")) {
    if (entry.is_regular_file()) fs::copy_file(entry.path(), fs::path(folder / "plain") / entry.path().filename());
  }
  std::string recipe = kRecipe;
  recipe.replace(recipe.find("{name: glyphs, size: 16, train_count: 96}"), 41, "{name: image_folder, root: " + (folder / "plain") + "}");
  std::ofstream(folder / "recipe.yaml") << recipe;
  const std::string output = "output=" + (folder / "run");
  EXPECT_NE(run_debias({"train", folder / "recipe.yaml", output}).err.find("macro_auc: split 'train' of image_folder has no labels"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "run"));
  const ProcessResult trained = run_debias(
      {"train", folder / "recipe.yaml", output, "objective={name: debiased_negatives, tau_plus: {from: prior}}", "train.epochs=1"});
  ASSERT_EQ(trained.exit, 0) << trained.err;
  const Json prior = json_of(run_debias({"prior", folder / "run", "--json"}));
  EXPECT_EQ(prior["method"], "views");
  EXPECT_EQ(Json::parse(file_text(folder / "run/metrics.jsonl"))["bound.prior"], prior["tau_plus"]);
}

class PriorOfARun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    ASSERT_EQ(run_debias({"data", "make", "glyphs", "--out", path("made"), "size=16", "train_count=96", "test_count=10"}).exit, 0);
    std::ofstream(path("recipe.yaml")) << kRecipe;
    const ProcessResult trained = run_debias({"train", path("recipe.yaml"), "output=" + path("run"), "objective={name: infonce}",
                                              "data.train={name: glyphs, root: " + path("made") + "}"});
    ASSERT_EQ(trained.exit, 0) << trained.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string path(const std::string& name) { return *folder_ / name; }
  static ProcessResult prior(const std::vector<std::string>& more) { return run_debias(with({"prior", path("run"), "--json"}, more)); }

  static TemporaryFolder* folder_;
};
TemporaryFolder* PriorOfARun::folder_ = nullptr;

TEST_F(PriorOfARun, ComparesViewsOfAsManyImagesAsAreAskedFor) {
  const Json found = json_of(prior({"--images", "60"}));
  EXPECT_EQ(found["images"], 96) << "labels are read of all";
  EXPECT_EQ(found["other"]["images"], 60);
  EXPECT_EQ(json_of(prior({}))["other"]["images"], 96);
  for (const char* count : {"49", "many"}) {
    const ProcessResult refused = prior({"--images", count});
    EXPECT_EQ(refused.exit, 2);
    EXPECT_NE(refused.err.find("--images"), std::string::npos) << refused.err;
  }
}

TEST_F(PriorOfARun, ReadsTheTrainingSetWhereItLiesNow) {
  const Json before = json_of(prior({}));
  std::filesystem::rename(path("made"), path("moved"));
  const ProcessResult lost = prior({}), found = prior({"--root", path("moved")});
  std::filesystem::rename(path("moved"), path("made"));
  EXPECT_EQ(lost.exit, 3);
  EXPECT_NE(lost.err.find(path("made")), std::string::npos) << lost.err;
  EXPECT_EQ(json_of(found), before);
}

TEST_F(PriorOfARun, TakesTheEncoderOfTheCheckpointThatIsAskedFor) {
  const Json last = json_of(prior({})), previous = json_of(prior({"--checkpoint", "previous"}));
  EXPECT_EQ(json_of(prior({"--checkpoint", "last"})), last);
  EXPECT_EQ(previous["tau_plus"], last["tau_plus"]) << "labels do not depend on it";
  EXPECT_NE(previous["other"], last["other"]);
  EXPECT_EQ(previous, json_of(run_debias({"prior", path("run/checkpoints/previous.safetensors"), "--json"})));
  const ProcessResult absent = prior({"--checkpoint", "best"});
  EXPECT_EQ(absent.exit, 3);
  EXPECT_NE(absent.err.find("it has no checkpoints/best.safetensors"), std::string::npos) << absent.err;
  EXPECT_EQ(prior({"--checkpoint", "frist"}).exit, 2);
}

TEST_F(PriorOfARun, ComputesOnTheDeviceThatIsAskedFor) {
  EXPECT_EQ(json_of(prior({"--device", "cpu"}))["other"]["images"], 96);
  expect_refusal(prior({"--device", "gpu"}), 2, "device: unknown value 'gpu'; give auto, cpu or cuda");
}

}  // namespace prior_cli_test
}  // namespace debias

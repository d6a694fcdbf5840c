// What `debias eval` leaves in the run folder besides figures: thumbnails, predictions, maps.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/apps/process.h"

namespace debias {
namespace eval_files_test {

namespace fs = std::filesystem;

constexpr const char* kRecipe = R"(
seed: 3
data:
  train: {name: glyphs, size: 72, train_count: 60}
  test: {name: glyphs, size: 72, test_count: 40, split: test}
views: {preset: sim32, count: 2, random_resized_crop: {size: 16}}
encoder: {name: resnet18, width: 8}
head: {name: simclr, hidden_dim: 8, output_dim: 4}
objective: {name: infonce}
evaluate: {every: 1, protocols: [knn]}
train: {epochs: 1, batch_size: 30, device: cpu, threads: 1}
)";

class EvaluationFiles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const std::string recipe = *folder_ / "recipe.yaml";
    std::ofstream(recipe) << kRecipe;
    const ProcessResult result = run_debias({"train", recipe, "output=" + run_folder()});
    ASSERT_EQ(result.exit, 0) << result.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string run_folder() { return *folder_ / "run"; }
  static std::string evaluation(const std::string& name) { return run_folder() + "/evaluation/" + name; }
  static ProcessResult judged(std::vector<std::string> words) {
    words.insert(words.begin(), "eval");
    words.insert(words.begin() + 2, run_folder());
    return run_debias(words);
  }

  static TemporaryFolder* folder_;
};
TemporaryFolder* EvaluationFiles::folder_ = nullptr;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST_F(EvaluationFiles, TrainingLeavesItsResultsAndThumbnailsOfTheLast) {
  EXPECT_EQ(names_in(run_folder() + "/evaluation"), (std::vector<std::string>{"epoch-1", "knn.json", "thumbnails"}));
  EXPECT_EQ(names_in(evaluation("epoch-1")), std::vector<std::string>{"knn.json"});
}

TEST_F(EvaluationFiles, KnnLeavesAThumbnailOfEachImageItNames) {
  ASSERT_EQ(judged({"knn", "examples=6"}).exit, 0);
  std::vector<std::string> expected;
  const auto json = nlohmann::json::parse(file_text(evaluation("knn.json")));
  for (const auto& example : json["neighbours"]["test"]) {
    expected.push_back("test_" + example["query"].dump() + ".png");
    EXPECT_TRUE(example.contains("bias"));
    for (const auto& near : example["nearest"]) expected.push_back("train_" + near["id"].dump() + ".png");
  }
  std::sort(expected.begin(), expected.end());
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  EXPECT_EQ(names_in(evaluation("thumbnails")), expected);
  const std::string png = file_text(evaluation("thumbnails/" + expected[0]));
  EXPECT_TRUE(png.starts_with("\x89PNG"));
  EXPECT_EQ(png.substr(16, 8), std::string("\0\0\0\x40\0\0\0\x40", 8));  // 72 x 72 pixels shrunk to 64 x 64

  ASSERT_EQ(judged({"knn", "examples=1"}).exit, 0);
  EXPECT_LE(names_in(evaluation("thumbnails")).size(), 9u) << "those of the earlier call are gone";
  const auto kept = names_in(evaluation("thumbnails"));
  ASSERT_EQ(judged({"knn", "examples=0"}).exit, 0);
  EXPECT_FALSE(nlohmann::json::parse(file_text(evaluation("knn.json"))).contains("neighbours"));
  ASSERT_EQ(judged({"knn", "--data", "glyphs", "size=16", "train_count=50", "test_count=20", "k=3"}).exit, 0);
  EXPECT_EQ(names_in(evaluation("thumbnails")), kept) << "another data set's stand beside them";
  EXPECT_FALSE(names_in(evaluation("thumbnails-glyphs")).empty());
}

TEST_F(EvaluationFiles, PredictionsAreWrittenWhenAskedFor) {
  ASSERT_EQ(judged({"knn"}).exit, 0);
  EXPECT_FALSE(fs::exists(evaluation("knn.csv")));
  const ProcessResult result = judged({"knn,geometry", "--predictions"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.err.find("eval: geometry makes no predictions"), std::string::npos);
  const std::string table = file_text(evaluation("knn.csv"));
  EXPECT_TRUE(table.starts_with("split,filenames,labels,biases,predictions\ntest,"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 41);
  EXPECT_FALSE(fs::exists(evaluation("geometry.csv")));
  const std::string lone = *folder_ / "lone.safetensors";
  fs::copy_file(run_folder() + "/checkpoints/last.safetensors", lone);
  const ProcessResult refused = run_debias({"eval", "knn", lone, "--data", "glyphs", "size=16", "--predictions"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_EQ(refused.err, "debias: eval: --predictions writes into a run folder, and '" + lone + "' lies in none\n");
}

TEST_F(EvaluationFiles, TsneWritesAMapAndPrintsItsDivergence) {
  const ProcessResult result = judged({"tsne", "iterations=50", "samples=30"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.out.find("test.tsne_kl"), std::string::npos);
  EXPECT_EQ(result.out.find('%'), std::string::npos) << "a divergence is no fraction";
  const auto map = nlohmann::json::parse(file_text(evaluation("tsne.json")))["map"]["test"];
  EXPECT_EQ(map["points"].size(), 30u);
  EXPECT_EQ(map["bias"].size(), 30u);
  EXPECT_EQ(map["perplexity"], 10);
  const std::string first = file_text(evaluation("tsne.json"));
  ASSERT_EQ(judged({"tsne", "iterations=50", "samples=30"}).exit, 0);
  EXPECT_EQ(file_text(evaluation("tsne.json")), first);
  EXPECT_EQ(judged({"tsne", "perplexity=39"}).exit, 2);
}

}  // namespace eval_files_test
}  // namespace debias

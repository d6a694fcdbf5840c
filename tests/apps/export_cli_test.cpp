// `debias export` and what `debias embed` writes besides pooled features, as processes on one small run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "debias/core/npy.h"
#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"
#include "tests/support/shared_folder.h"

namespace debias {
namespace export_cli_test {

namespace fs = std::filesystem;

constexpr const char* kRecipe = R"(
seed: 3
data:
  train: {name: glyphs, size: 16, train_count: 96, hold_out: 20}
  test: {name: glyphs, size: 16, test_count: 40, split: test}
views: {preset: none, count: 1}
encoder: {name: resnet18, width: 8}
head: {name: simclr, hidden_dim: 8, output_dim: 4}
objective: {name: supcon}
evaluate: {every: 1, protocols: []}
train: {epochs: 1, batch_size: 32, device: cpu, threads: 1}
)";

class Exporting : public SharedFolder<Exporting> {
 protected:
  static void SetUpTestSuite() {
    const std::string recipe = path("recipe.yaml");
    std::ofstream(recipe) << kRecipe;
    const ProcessResult result = run_debias({"train", recipe, "output=" + run_folder()});
    ASSERT_EQ(result.exit, 0) << result.err;
  }
  static std::string run_folder() { return path("run"); }
};

TEST_F(Exporting, PrintsTheFilesThatItWrites) {
  const ProcessResult result = run_debias({"export", run_folder(), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["folder"], run_folder() + "/exported");
  EXPECT_EQ(json["files"].size(), 3u);
  EXPECT_EQ(json["epoch"], 1);
  const ProcessResult text = run_debias({"export", run_folder()});
  EXPECT_NE(text.out.find("preprocess.json\nthe encoder after 1 epochs, 64 features\n"), std::string::npos) << text.out;
}

TEST_F(Exporting, RefusesWhatItCannotWriteInOneLine) {
  expect_refused(run_debias({"export", run_folder(), "--format", "onxx"}), 2, "unknown value 'onxx'; did you mean 'onnx'?");
  expect_refused(run_debias({"export", path("nothing")}), 3, "no such run folder");
  expect_refused(run_debias({"export", run_folder(), "--format", "onnx", "--ouut", "x"}), 2, "did you mean '--out'");
}

TEST_F(Exporting, EmbedWritesTheLayerThatIsAskedFor) {
  const ProcessResult result = run_debias({"embed", run_folder(), "--layer", "projection", "--out", path("p"), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["dimensions"], 4);
  EXPECT_EQ(json["layer"], "projection");
  EXPECT_EQ(read_npy(path("p.npy")).shape, (std::vector<int64_t>{40, 4}));
  const ProcessResult text = run_debias({"embed", run_folder(), "--layer", "encoder", "--out", path("q")});
  EXPECT_NE(text.out.find("40 images, 64 dimensions, pooled encoder output, not normalised"), std::string::npos) << text.out;

  expect_refused(run_debias({"embed", run_folder(), "--layer", "projektion", "--out", path("r")}), 2, "did you mean 'projection'?");
  expect_refused(run_debias({"embed", run_folder(), "--bias-featurs", "--out", path("r")}), 2, "did you mean '--bias-features'");
  EXPECT_FALSE(fs::exists(path("r.npy")));
}

}  // namespace export_cli_test
}  // namespace debias

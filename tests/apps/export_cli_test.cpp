// `debias export` and what `debias embed` writes besides pooled features, as processes on one small run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "debias/core/npy.h"
#include "debias/core/safetensors.h"
#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"

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

class Exporting : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const std::string recipe = *folder_ / "recipe.yaml";
    std::ofstream(recipe) << kRecipe;
    ProcessResult result = run_debias({"train", recipe, "output=" + run_folder()});
    ASSERT_EQ(result.exit, 0) << result.err;
    result = run_debias({"train", recipe, "encoder={name: simple_convnet, stem_stride: 2}", "head={name: none}", "output=" + convnet()});
    ASSERT_EQ(result.exit, 0) << result.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string run_folder() { return *folder_ / "run"; }
  static std::string convnet() { return *folder_ / "convnet"; }
  static std::string path(const std::string& name) { return *folder_ / name; }

  static std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  static TemporaryFolder* folder_;
};
TemporaryFolder* Exporting::folder_ = nullptr;

const std::vector<std::string> kAll = {"encoder.onnx", "encoder.safetensors", "preprocess.json"};

TEST_F(Exporting, FillsTheRunsFolderWithWeightsThatHaveTorchvisionsKeys) {
  const ProcessResult result = run_debias({"export", run_folder(), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["files"].size(), 3u);
  EXPECT_EQ(json["epoch"], 1);
  EXPECT_EQ(names_in(run_folder() + "/exported"), kAll);

  const SafetensorsFile weights = SafetensorsFile::open(run_folder() + "/exported/encoder.safetensors");
  const SafetensorsFile checkpoint = SafetensorsFile::open(run_folder() + "/checkpoints/last.safetensors");
  EXPECT_NE(weights.find("layer4.1.bn2.num_batches_tracked"), nullptr);
  size_t of_encoder = 0;
  for (const auto& entry : checkpoint.tensors()) {
    if (!entry.name.starts_with("encoder.")) continue;
    ++of_encoder;
    const TensorEntry* found = weights.find(entry.name.substr(8));
    ASSERT_NE(found, nullptr) << entry.name;
    EXPECT_EQ(found->shape, entry.shape);
    std::vector<std::byte> a(entry.end - entry.begin), b(found->end - found->begin);
    checkpoint.read(entry, a.data());
    weights.read(*found, b.data());
    EXPECT_EQ(a, b) << entry.name;
  }
  EXPECT_EQ(weights.tensors().size(), of_encoder);
}

TEST_F(Exporting, SaysWhatToDoToAnImage) {
  ASSERT_EQ(run_debias({"export", run_folder(), "--out", path("described")}).exit, 0);
  const auto json = nlohmann::json::parse(file_text(path("described/preprocess.json")));
  EXPECT_EQ(json["size"], (std::vector<int>{16, 16}));
  EXPECT_TRUE(json["resize"].is_null());
  EXPECT_EQ(json["mean"].size(), 3u);
  EXPECT_EQ(json["std"].size(), 3u);
  EXPECT_EQ(json["classes"].size(), 10u);

  const std::string recipe = path("resized.yaml");
  std::ofstream(recipe) << kRecipe;
  const ProcessResult trained = run_debias({"train", recipe, "output=" + path("resized"), "views.normalize={mean: [0.5], std: [0.25]}",
                                            "views.eval={resize: {size: 20}, center_crop: {size: [16, 18]}}"});
  ASSERT_EQ(trained.exit, 0) << trained.err;
  ASSERT_EQ(run_debias({"export", path("resized")}).exit, 0);
  const auto resized = nlohmann::json::parse(file_text(path("resized/exported/preprocess.json")));
  EXPECT_EQ(resized["size"], (std::vector<int>{16, 18}));
  EXPECT_EQ(resized["resize"], 20);
  EXPECT_EQ(resized["mean"], (std::vector<double>{0.5, 0.5, 0.5}));
  EXPECT_EQ(resized["std"], (std::vector<double>{0.25, 0.25, 0.25}));
}

TEST_F(Exporting, ReplacesAnEarlierExportAsAWholeAndNothingElse) {
  const std::string out = path("again");
  ASSERT_EQ(run_debias({"export", run_folder(), "--out", out, "--format", "onnx"}).exit, 0);
  EXPECT_EQ(names_in(out), (std::vector<std::string>{"encoder.onnx", "preprocess.json"}));
  const std::string before = file_text(out + "/encoder.onnx");
  ASSERT_EQ(run_debias({"export", run_folder(), "--out", out}).exit, 0);
  EXPECT_EQ(names_in(out), kAll);
  EXPECT_EQ(file_text(out + "/encoder.onnx"), before);

  expect_refused(run_debias({"export", run_folder(), "--out", out, "--format", "onnx"}), 2, "encoder.safetensors of an earlier export");
  EXPECT_EQ(names_in(out), kAll);
  std::ofstream(out + "/mine.txt") << "kept";
  expect_refused(run_debias({"export", run_folder(), "--out", out}), 2, "holds 'mine.txt', which no export wrote");
  EXPECT_EQ(file_text(out + "/mine.txt"), "kept");

  fs::create_directories(path("theirs"));
  std::ofstream(path("theirs/encoder.onnx")) << "another program's";
  expect_refused(run_debias({"export", run_folder(), "--out", path("theirs")}), 2, "which no export wrote");
  EXPECT_EQ(file_text(path("theirs/encoder.onnx")), "another program's");
}

TEST_F(Exporting, RefusesWhatItCannotWriteInOneLine) {
  expect_refused(run_debias({"export", run_folder(), "--format", "onxx"}), 2, "unknown value 'onxx'; did you mean 'onnx'?");
  expect_refused(
      run_debias({"export", convnet(), "--format", "onnx"}), 2,
      "--format onnx: the encoder ('simple_convnet') is no single ResNet, and resnet18, resnet34 and resnet50 alone have an ONNX "
      "form here; give --format safetensors");
  EXPECT_TRUE(names_in(convnet() + "/exported").empty());
  expect_refused(run_debias({"export", path("nothing")}), 3, "no such run folder");
  expect_refused(run_debias({"export", run_folder(), "--format", "onnx", "--ouut", "x"}), 2, "did you mean '--out'");
  const std::string lone = path("lone.safetensors");
  fs::copy_file(run_folder() + "/checkpoints/last.safetensors", lone, fs::copy_options::overwrite_existing);
  expect_refused(run_debias({"export", lone}), 2, "lies in no run folder; give --out DIR");
  EXPECT_EQ(run_debias({"export", lone, "--out", path("of_lone")}).exit, 0);
  EXPECT_EQ(names_in(path("of_lone")), kAll);
}

TEST_F(Exporting, OtherEncodersAreWeightsAlone) {
  ASSERT_EQ(run_debias({"export", convnet(), "--out", path("convnet_export")}).exit, 0);
  EXPECT_EQ(names_in(path("convnet_export")), (std::vector<std::string>{"encoder.safetensors", "preprocess.json"}));
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
  expect_refused(run_debias({"embed", convnet(), "--layer", "projection", "--out", path("r")}), 2, "the run has no head");
  EXPECT_FALSE(fs::exists(path("r.npy")));
}

TEST_F(Exporting, EmbedWritesNamesBesideTheNumbers) {
  const ProcessResult result = run_debias({"embed", run_folder(), "--out", path("named"), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["names"], path("named.names.csv"));
  const std::string names = file_text(path("named.names.csv"));
  EXPECT_TRUE(names.starts_with("filenames,labels,class,bias,bias_name\n"));
  EXPECT_EQ(std::count(names.begin(), names.end(), '\n'), 41);
  const auto table = nlohmann::json::parse(file_text(run_folder() + "/classes.json"));
  std::istringstream lines(names);
  std::string line;
  std::getline(lines, line);
  size_t conflicting = 0;
  for (int64_t i = 0; std::getline(lines, line); ++i) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 5u) << line;
    EXPECT_EQ(cells[0], "test/" + std::to_string(i));
    EXPECT_EQ(cells[1], std::to_string(i % 10));  // how glyphs are numbered
    EXPECT_EQ(table["classes"].at(std::stoul(cells[1])), cells[2]) << line;
    EXPECT_EQ(table["biases"].at(std::stoul(cells[3])), cells[4]) << line;
    conflicting += cells[1] != cells[3] ? 1 : 0;
  }
  EXPECT_GT(conflicting, 20u) << "bias values are not labels";
  EXPECT_TRUE(file_text(path("named.csv")).starts_with("filenames,labels\n"));
}

TEST_F(Exporting, BiasFeaturesAreRowsBySampleIdOfTheTrainingSet) {
  const ProcessResult result = run_debias({"embed", convnet(), "--bias-features", "--out", path("bias"), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["files"], std::vector<std::string>{path("bias.npy")});
  EXPECT_FALSE(fs::exists(path("bias.csv")));
  const NpyArray table = read_npy(path("bias.npy"));
  ASSERT_EQ(table.dtype, DType::kFloat32);
  ASSERT_EQ(table.shape.size(), 2u);
  const int64_t rows = table.shape[0], F = table.shape[1];
  EXPECT_EQ(F, 128);
  EXPECT_EQ(rows - json["empty_rows"].get<int64_t>(), 76) << "96 images, 20 of them held out";

  ASSERT_EQ(run_debias({"embed", convnet(), "split=train", "hold_out=0", "train_count=96", "--out", path("every")}).exit, 0);
  const NpyArray every = read_npy(path("every.npy"));
  ASSERT_EQ(every.shape, (std::vector<int64_t>{96, F}));
  int64_t same = 0;
  for (int64_t id = 0; id < rows; ++id) {
    const float *row = table.as<float>().data() + id * F, *expected = every.as<float>().data() + id * F;
    if (std::all_of(row, row + F, [](float value) { return value == 0; })) continue;
    ++same;
    for (int64_t f = 0; f < F; ++f) ASSERT_NEAR(row[f], expected[f], 1e-5) << "id " << id;
  }
  EXPECT_EQ(same, 76);

  const std::string term = "objective={name: softcon, bias_features: " + path("bias.npy") + "}";
  const ProcessResult trained = run_debias({"train", path("recipe.yaml"), term, "output=" + path("softcon")});
  EXPECT_EQ(trained.exit, 0) << trained.err;
  expect_refused(run_debias({"embed", convnet(), "--bias-features", "--out", path("b.csv")}), 2, "give --out F.npy");
  expect_refused(run_debias({"embed", convnet(), "--bias-featurs", "--out", path("b")}), 2, "did you mean '--bias-features'");
}

}  // namespace export_cli_test
}  // namespace debias

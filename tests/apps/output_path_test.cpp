// Where results may go: the home folder, and never over what they are made from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "debias/core/npy.h"
#include "tests/apps/process.h"
#include "tests/support/golden_folder.h"
#include "tests/support/shared_folder.h"

namespace debias {
namespace output_path_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputPath : public SharedFolder<OutputPath> {
 protected:
  static void SetUpTestSuite() {
    std::ofstream labels(path("labels.csv"));
    labels << "path,label,bias\n";
    for (const char* group : {"cat", "dog"}) {
      fs::create_directories(path("data") + "/" + group);
      for (int i = 0; i < 4; ++i) {
        const std::string name = std::string(group) + "/" + std::to_string(i) + ".jpg";
        fs::copy_file(golden_folder("images") + "/colour.jpg", path("data") + "/" + name);
        labels << name << "," << group << "," << (i % 2 == 0 ? "red" : "blue") << "\n";
      }
    }
    labels.close();
    const std::string section = "{name: image_folder, root: " + path("data") + ", labels: " + path("labels.csv") + "}";
    std::ofstream(path("recipe.yaml")) << "data: {train: " << section << ", test: " << section << "}\n"
                                       << "views: {preset: sim32, count: 2, random_resized_crop: {size: 16}}\n"
                                       << "encoder: {name: resnet18, width: 8}\n"
                                       << "objective: {name: infonce}\n"
                                       << "train: {epochs: 1, batch_size: 4, device: cpu, threads: 1}\n";
    const ProcessResult result = run_debias({"train", path("recipe.yaml"), "output=" + path("run")});
    ASSERT_EQ(result.exit, 0) << result.err;
  }

  // Refused by the name of `input`, whose bytes stay, or the paths below it.
  static void expect_refused(const std::string& input, const std::vector<std::string>& words) {
    const std::string before = contents(input);
    const ProcessResult result = run_debias(words);
    EXPECT_EQ(result.exit, 2) << testing::PrintToString(words) << result.out;
    EXPECT_THAT(result.err, HasSubstr(fs::path(input).filename().string())) << testing::PrintToString(words);
    EXPECT_THAT(result.err, testing::AnyOf(HasSubstr("would be written over its own input"), HasSubstr("inside the data folder"),
                                           HasSubstr("nothing is overwritten"), HasSubstr("which no export wrote"), HasSubstr("one file")))
        << testing::PrintToString(words);
    EXPECT_TRUE(contents(input) == before) << testing::PrintToString(words);
  }

  static std::string contents(const std::string& path) {
    if (!fs::is_directory(path)) return file_text(path);
    std::set<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(path)) paths.insert(entry.path());
    return testing::PrintToString(paths);
  }
};

TEST_F(OutputPath, AnEmbeddingIsNotWrittenOverTheDataTheLabelsOrTheRun) {
  const std::string run = path("run");
  expect_refused(path("labels.csv"), {"embed", run, "--out", path("labels.csv")});
  expect_refused(path("labels.csv"), {"embed", run, "--out", path("labels.npy")});
  expect_refused(run + "/metrics.csv", {"embed", run, "--out", run + "/metrics"});
  fs::create_symlink(run + "/checkpoints/last.safetensors", path("link.csv"));
  expect_refused(path("link.csv"), {"embed", run, "--out", path("link.csv")});
  fs::create_hard_link(run + "/checkpoints/last.safetensors", path("same.npy"));
  expect_refused(path("same.npy"), {"embed", run, "--out", path("same.npy")});
  expect_refused(path("same.npy"), {"embed", path("same.npy"), "--out", path("same.npy"), "--data", "glyphs", "size=16"});
  expect_refused(path("data") + "/cat", {"embed", run, "--out", path("data") + "/cat/e.npy"});
}

TEST_F(OutputPath, PredictionsAreNotWrittenOverTheLabels) {
  const std::string labels = path("run") + "/evaluation/knn.csv";
  fs::copy_file(path("labels.csv"), labels);
  expect_refused(labels, {"eval", "knn", path("run"), "data.test.labels=" + labels, "--predictions"});
  fs::remove(labels);
}

TEST_F(OutputPath, GradientsAreNotWrittenOverWhatTheyAreOf) {
  const std::vector<float> values = {1, 0, 0.8f, 0.6f, 0, 1, 0.6f, 0.8f};
  write_npy(path("z.npy"), DType::kFloat32, {2, 2, 2}, values.data());
  const std::vector<int64_t> labels = {0, 1};
  write_npy(path("y.npy"), DType::kInt64, {2}, labels.data());
  fs::create_hard_link(path("z.npy"), path("same-z.npy"));
  const std::vector<std::string> loss = {"loss", "--objective", "unbiased", "--embeddings", path("z.npy"), "--labels", path("y.npy")};
  expect_refused(path("z.npy"), with(loss, {"--grad-out", path("z.npy")}));
  expect_refused(path("same-z.npy"), with(loss, {"--grad-out", path("same-z.npy")}));
  expect_refused(path("y.npy"), with(loss, {"--per-anchor-out", path(".") + "/y.npy"}));
  expect_refused(path("g.npy"), with(loss, {"--grad-out", path("g.npy"), "--per-anchor-out", path("g.npy")}));
  EXPECT_FALSE(fs::exists(path("g.npy")));
  EXPECT_EQ(run_debias(with(loss, {"--grad-out", path("g.npy"), "--per-anchor-out", path("a.npy")})).exit, 0);
}

TEST_F(OutputPath, NeitherPicturesNorRecipesAreWrittenOver) {
  const std::string picture = path("data") + "/cat/0.jpg";
  expect_refused(picture, {"views", "apply", "--image", picture, "--out", picture, "resize: {size: 8}"});
  expect_refused(picture, {"views", "show", "sim32", "--image", picture, "--out", picture});
  expect_refused(path("recipe.yaml"), {"views", "show", path("recipe.yaml"), "--image", picture, "--out", path("recipe.yaml")});
  expect_refused(path("data") + "/cat",
                 {"views", "show", "--data", "image_folder", "--root", path("data"), "--out", path("data") + "/cat/v.png"});
  expect_refused(path("labels.csv"), {"init", path("data"), "--labels", path("labels.csv"), "--out", path("labels.csv")});
  expect_refused(path("run") + "/checkpoints/last.safetensors", {"export", path("run"), "--out", path("run") + "/checkpoints"});
  expect_refused(path("labels.csv"), {"data", "export", "image_folder", "--root", path("data"), "labels=" + path("labels.csv"), "--out",
                                      path("x.npy"), "--labels", path("labels.csv")});
  expect_refused(path("x.npy"),
                 {"data", "export", "image_folder", "--root", path("data"), "--out", path("x.npy"), "--labels", path("x.npy")});
  fs::create_directories(path("frost"));
  expect_refused(path("frost"), {"data", "make", "corrupted_cifar10", "--root", path("cifar"), "frost=" + path("frost"), "--out",
                                 path("frost") + "/made"});
}

TEST_F(OutputPath, ARunIsNotPlannedAmongTheImages) {
  for (const char* name : {"/runs/a", "/cat/b"}) {
    const std::string output = "output=" + path("data") + name;
    expect_refused(path("data"), {"train", path("recipe.yaml"), output, "--dry-run"});
    expect_refused(path("data"), {"train", path("recipe.yaml"), output});
    expect_refused(path("data"), {"train", path("recipe.yaml"), output, "--seeds", "2", "--dry-run"});
  }
  EXPECT_FALSE(fs::exists(path("data") + "/runs"));
}

TEST_F(OutputPath, OverwritingARunDoesNotRemoveWhatItsRecipeReads) {
  const std::string weights = path("run") + "/checkpoints/last.safetensors", before = file_text(weights);
  const ProcessResult result =
      run_debias({"train", path("recipe.yaml"), "output=" + path("run"), "encoder.weights=" + weights, "--overwrite"});
  EXPECT_EQ(result.exit, 2) << result.out;
  EXPECT_THAT(result.err, HasSubstr("the recipe reads '" + weights + "' in it; choose another output"));
  EXPECT_TRUE(file_text(weights) == before);
}

TEST_F(OutputPath, ATildeIsTheHomeFolderWhereNoShellHasSeenIt) {
  fs::create_directories(path("home"));
  const auto at_home = [](const std::vector<std::string>& words) {
    return run(with({"env", "HOME=" + path("home"), fs::absolute(debias_binary()).string()}, words));
  };
  const ProcessResult trained = at_home({"train", path("recipe.yaml"), "output=~/runs/a"});
  EXPECT_EQ(trained.exit, 0) << trained.err;
  EXPECT_TRUE(fs::exists(path("home") + "/runs/a/checkpoints/last.safetensors"));
  EXPECT_THAT(file_text(path("home") + "/runs/a/config.yaml"), HasSubstr("output: " + path("home") + "/runs/a"));
  EXPECT_EQ(at_home({"embed", path("run"), "--out=~/e.npy"}).exit, 0);
  EXPECT_TRUE(fs::exists(path("home") + "/e.npy"));
  EXPECT_EQ(at_home({"data", "export", "glyphs", "size=16", "train_count=20", "--out=~/x.npy", "--labels=~/y.npy"}).exit, 0);
  EXPECT_TRUE(fs::exists(path("home") + "/y.npy"));
  const ProcessResult other = at_home({"train", path("recipe.yaml"), "output=~root/runs/a"});
  EXPECT_EQ(other.exit, 2);
  EXPECT_THAT(other.err, HasSubstr("'~root/runs/a': the home folder of another user is not looked up"));
  EXPECT_EQ(at_home({"embed", path("run"), "--out=~nobody/e.npy"}).exit, 2);
  EXPECT_FALSE(fs::exists("~root") || fs::exists("~") || fs::exists("~nobody"));
}

}  // namespace output_path_test
}  // namespace debias

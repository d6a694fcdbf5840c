// Weights from a file, as processes: embedding without a run, frozen training, and what init proposes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "debias/core/npy.h"
#include "debias/core/safetensors.h"
#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"
#include "tests/support/golden_folder.h"
#include "tests/support/shared_folder.h"

namespace debias {
namespace backbone_cli_test {

using testing::HasSubstr;

namespace fs = std::filesystem;

// Images of two classes in train and test, with a bias label each; a run of a small ResNet with the ImageNet stem, and its weights alone.
class Backbones : public SharedFolder<Backbones> {
 protected:
  static void SetUpTestSuite() {
    std::ofstream csv(path("colours.csv"));
    csv << "path,label,bias\n";
    for (const auto& [split, count] : std::map<std::string, int>{{"train", 24}, {"test", 4}}) {
      for (const char* kind : {"ape", "zebra"}) {
        for (int i = 0; i < count; ++i) {
          const std::string name = split + "/" + kind + "/" + std::to_string(i) + ".png";
          fs::create_directories(fs::path(path("photos/" + name)).parent_path());
          fs::copy_file(golden_folder("images") + (i % 2 == 0 ? "/alpha.png" : "/grey.png"), path("photos/" + name));
          csv << name << "," << kind << "," << (i % 4 == 0 ? "red" : "blue") << "\n";
        }
      }
    }
    csv.close();
    std::ofstream(path("recipe.yaml")) << "seed: 2\n"
                                       << "views: {steps: [resize: {size: [32, 32]}], count: 1}\n"
                                       << "encoder: {name: resnet18, stem: imagenet, width: 8}\n"
                                       << "objective: {name: cross_entropy}\n"
                                       << "classifier: {name: linear, gradient: flow}\n"
                                       << "train: {epochs: 1, batch_size: 8, device: cpu, threads: 1}\n"
                                       << "data: {train: {name: image_folder, root: " << path("photos") << "},\n"
                                       << "       test: {name: image_folder, root: " << path("photos") << ", split: test}}\n";
    ProcessResult result = run_debias({"train", path("recipe.yaml"), "output=" + path("run")});
    ASSERT_EQ(result.exit, 0) << result.err;
    result = run_debias({"export", path("run"), "--format", "safetensors"});
    ASSERT_EQ(result.exit, 0) << result.err;
  }

  static std::string weights() { return path("run/exported/encoder.safetensors"); }
  static ProcessResult embed(const std::string& out, const std::string& encoder, const std::vector<std::string>& more = {}) {
    return run_debias(with({"embed", path("photos"), "--encoder", encoder, "--out", path(out)}, more));
  }
  static std::vector<float> vectors(const std::string& name) {
    const NpyArray array = read_npy(path(name));
    const auto values = array.as<float>();
    return {values.begin(), values.end()};
  }
};

std::vector<std::string> lines_of(const std::string& file) {
  std::istringstream text(file_text(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST_F(Backbones, WeightsAloneEmbedAFolderAsItsRunDoes) {
  const ProcessResult result = embed("alone.npy", weights(), {"labels=" + path("colours.csv"), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("count"), 56);
  EXPECT_EQ(json.at("dimensions"), 64);
  EXPECT_EQ(json.at("splits"), (nlohmann::json{{"train", 48}, {"test", 8}}));
  EXPECT_EQ(json.at("reused"), false);
  const auto lines = lines_of(path("alone.csv"));
  ASSERT_EQ(lines.size(), 57u);
  EXPECT_EQ(lines[0], "path,label,bias,split");
  EXPECT_EQ(lines[1], "train/ape/0.png,ape,red,train");
  EXPECT_EQ(lines[56], "test/zebra/3.png,zebra,blue,test");

  const ProcessResult of_run =
      run_debias({"embed", path("run"), "--out", path("run.npy"), "views.eval={resize: {size: 256}, center_crop: {size: 224}}"});
  ASSERT_EQ(of_run.exit, 0) << of_run.err;
  const auto all = vectors("alone.npy"), expected = vectors("run.npy");
  ASSERT_EQ(expected.size(), 8u * 64);
  double largest = 0, difference = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    difference = std::max(difference, std::abs(static_cast<double>(expected[i]) - all[48 * 64 + i]));
  }
  EXPECT_GT(largest, 0);
  EXPECT_LT(difference, 1e-5 * largest);
}

TEST_F(Backbones, ARecipesViewsAreThoseOfItsEvaluation) {
  std::string text = file_text(path("recipe.yaml"));
  text.replace(text.find("width: 8"), 8, "width: 8, weights: " + weights());
  std::ofstream(path("weights.yaml")) << text;
  ASSERT_EQ(embed("by_recipe.npy", path("weights.yaml")).exit, 0);
  const ProcessResult of_run = run_debias({"embed", path("run"), "--out", path("own.npy")});
  ASSERT_EQ(of_run.exit, 0) << of_run.err;
  const auto all = vectors("by_recipe.npy"), expected = vectors("own.npy");
  ASSERT_EQ(all.size(), 56u * 64);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(all[48 * 64 + i], expected[i], 1e-5 * (1 + std::abs(expected[i])));
  const ProcessResult without = embed("none.npy", path("recipe.yaml"));
  expect_complaint(without, 2, "encoder 'resnet18' has no weights");
  EXPECT_FALSE(fs::exists(path("none.npy")));
}

TEST_F(Backbones, WordsChangeTheViewsOfEvaluation) {
  ASSERT_EQ(embed("plain.npy", weights()).exit, 0);
  ASSERT_EQ(embed("small.npy", weights(), {"views.eval={resize: {size: [32, 32]}}"}).exit, 0);
  const ProcessResult of_run = run_debias({"embed", path("run"), "--out", path("small_run.npy")});
  ASSERT_EQ(of_run.exit, 0) << of_run.err;
  const auto all = vectors("small.npy"), expected = vectors("small_run.npy");
  ASSERT_EQ(all.size(), 56u * 64);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(all[48 * 64 + i], expected[i], 1e-5 * (1 + std::abs(expected[i])));
  ASSERT_EQ(embed("changed.npy", weights(), {"views.eval.resize.size=300"}).exit, 0);  // one key of the default
  EXPECT_NE(vectors("changed.npy"), vectors("plain.npy"));
  expect_complaint(embed("m.npy", weights(), {"views.evil=1"}), 2, "did you mean 'eval'?");
}

TEST_F(Backbones, WhatIsUpToDateIsNotComputedAgain) {
  ASSERT_EQ(embed("cached.npy", weights()).exit, 0);
  const auto reused = [&](const std::vector<std::string>& more = {}) {
    const ProcessResult result = embed("cached.npy", weights(), with({"--json"}, more));
    EXPECT_EQ(result.exit, 0) << result.err;
    return nlohmann::json::parse(result.out).at("reused").get<bool>();
  };
  EXPECT_TRUE(reused());
  fs::last_write_time(path("photos/train/ape/0.png"), fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_FALSE(reused());
  EXPECT_TRUE(reused());
  EXPECT_FALSE(reused({"labels=" + path("colours.csv")}));
  std::ofstream(path("cached.csv"), std::ios::app) << "changed\n";
  EXPECT_FALSE(reused({"labels=" + path("colours.csv")}));
}

TEST_F(Backbones, Bfloat16EmbedsNearlyTheSameAndIsNoTableOfFloat32) {
  ASSERT_EQ(embed("precision.npy", weights()).exit, 0);
  const auto exact = vectors("precision.npy");
  const ProcessResult result = embed("precision.npy", weights(), {"--precision", "bf16", "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out).at("reused"), false);
  const auto rounded = vectors("precision.npy");
  ASSERT_EQ(rounded.size(), exact.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    difference += std::pow(static_cast<double>(exact[i]) - rounded[i], 2);
    size += std::pow(static_cast<double>(exact[i]), 2);
  }
  EXPECT_GT(difference, 0);
  EXPECT_LT(difference, 1e-3 * size);
  expect_complaint(embed("m.npy", weights(), {"--precision", "bf61"}), 2, "did you mean 'bf16'?");
  expect_complaint(run_debias({"embed", path("run"), "--out", path("m.npy"), "--precision", "bf16"}), 2, "--precision needs --encoder");
}

TEST_F(Backbones, MistakesOfEmbeddingAreNamed) {
  std::ofstream(path("x.pth"), std::ios::binary) << "PK\x03\x04" << std::string(100, 'x');
  expect_complaint(embed("m.npy", path("x.pth")), 3, "python -m debias.weights convert");
  expect_complaint(embed("m.npy", path("none.safetensors")), 3, "no such file");
  expect_complaint(embed("m.npy", path("photos")), 2, "is a folder");
  expect_complaint(embed("m.npy", "{name: resnet81, weights: a}"), 2, "did you mean 'resnet18'?");
  expect_complaint(embed("m.npy", "{name: mobilenet_v2, weights: " + weights() + "}"), 3,
                   "but of {name: resnet18, stem: imagenet, width: 8}");
  expect_complaint(embed("m.csv", weights()), 2, "give F.npy");
  expect_complaint(embed("m.npy", weights(), {"--layer", "projection"}), 2, "--encoder does not take --layer");
  expect_complaint(embed("photos/m.npy", weights()), 2, "photos");
  expect_complaint(embed("colours.npy", weights(), {"labels=" + path("colours.csv")}), 2, "colours.csv");
  EXPECT_FALSE(fs::exists(path("m.npy")));
  EXPECT_FALSE(fs::exists(path("m.csv")));
}

TEST_F(Backbones, FrozenTrainingLeavesTheWeightsAsTheyAre) {
  const ProcessResult result = run_debias({"train", path("recipe.yaml"), "encoder.weights=" + weights(), "encoder.freeze=layer4",
                                           "encoder.learning_rate=0.5", "output=" + path("frozen")});
  ASSERT_EQ(result.exit, 0) << result.err;
  const SafetensorsFile before = SafetensorsFile::open(weights());
  const SafetensorsFile after = SafetensorsFile::open(path("frozen/checkpoints/last.safetensors"));
  const auto bytes = [](const SafetensorsFile& file, const std::string& key) {
    const TensorEntry* entry = file.find(key);
    std::string data(entry == nullptr ? 0 : entry->end - entry->begin, '\0');
    if (entry != nullptr) file.read(*entry, data.data());
    return data;
  };
  for (const auto& entry : before.tensors()) EXPECT_EQ(bytes(after, "encoder." + entry.name), bytes(before, entry.name)) << entry.name;
  EXPECT_FALSE(bytes(after, "classifier.weight").empty());
  const ProcessResult evaluated = run_debias({"eval", "knn", path("frozen"), "--json"});
  EXPECT_EQ(evaluated.exit, 0) << evaluated.err;
  const ProcessResult resumed = run_debias({"train", path("frozen/config.yaml"), "--resume"});
  EXPECT_EQ(resumed.exit, 0) << resumed.err;
}

TEST_F(Backbones, NoRunFolderIsLeftByWeightsThatDoNotFit) {
  const auto refused = [](const std::vector<std::string>& words, int exit, const std::string& part) {
    expect_complaint(run_debias(with({"train", path("recipe.yaml"), "output=" + path("refused")}, words)), exit, part);
    EXPECT_FALSE(fs::exists(path("refused")));
  };
  refused({"encoder={name: resnet50, weights: " + weights() + "}"}, 3, "the file is of {name: resnet18, stem: imagenet, width: 8}");
  refused({"encoder={name: vit_small}"}, 2, "the views have 32x32 pixels and it takes 224x224");
  refused({"encoder.freeze=layer9"}, 2, "freeze: unknown stage 'layer9'");
  refused({"encoder={name: torchscript, file: " + path("recipe.yaml") + ", sha256: " + std::string(64, '0') + ", size: 32}"}, 3, "SHA-256");
  refused({"encoder.freeze=all", "classifier=null", "objective={name: supcon}"}, 2, "everything is frozen");
}

TEST_F(Backbones, InitProposesFrozenFeaturesFirst) {
  const ProcessResult result = run_debias({"init", path("photos"), "--labels", path("colours.csv"), "--from", weights(), "--minutes", "1",
                                           "--out", path("start.yaml"), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const auto next = nlohmann::json::parse(result.out).at("next").get<std::vector<std::string>>();
  ASSERT_EQ(next.size(), 6u);
  EXPECT_THAT(next[0], HasSubstr("debias embed " + path("photos")));
  EXPECT_THAT(next[1], HasSubstr("debias audit --embeddings " + path("start-features.npy")));
  EXPECT_THAT(next[2], HasSubstr("debias fix --embeddings " + path("start-features.npy")));
  for (size_t i = 0; i < 3; ++i) {
    std::istringstream words(next[i]);
    std::vector<std::string> arguments;
    for (std::string word; words >> word;) arguments.push_back(word);
    arguments.erase(arguments.begin());
    const ProcessResult ran = run_debias(arguments);
    EXPECT_EQ(ran.exit, 0) << next[i] << "\n" << ran.err;
  }
  EXPECT_TRUE(fs::exists(path("start-fixed/predictions.csv")));
  EXPECT_THAT(file_text(path("start.yaml")), HasSubstr("weights: " + weights() + ", learning_rate: 0.1"));
  const ProcessResult planned = run_debias({"train", path("start.yaml"), "--dry-run"});
  EXPECT_EQ(planned.exit, 0) << planned.err;
}

}  // namespace backbone_cli_test
}  // namespace debias

// Weights from a file, as processes: embedding without a run, frozen training, and what init proposes.
#include "tests/apps/command.h"

namespace debias::backbone_cli_test {

// Images of two classes in train and test, with a bias label each; a run of a small ResNet with the ImageNet stem, and its weights alone.
class Backbones : public InSharedFolder<Backbones> {
 public:
  static void fill() {
    std::ofstream csv("colours.csv");
    csv << "path,label,bias\n";
    for (const auto& [split, count] : std::map<std::string, int>{{"train", 24}, {"test", 4}}) {
      for (const char* kind : {"ape", "zebra"}) {
        for (int i = 0; i < count; ++i) {
          const std::string name = split + "/" + kind + "/" + std::to_string(i) + ".png";
          fs::create_directories(fs::path("photos/" + name).parent_path());
          fs::copy_file(golden_folder("images") + (i % 2 == 0 ? "/alpha.png" : "/grey.png"), "photos/" + name);
          csv << name << "," << kind << "," << (i % 4 == 0 ? "red" : "blue") << "\n";
        }
      }
    }
    csv.close();
    std::ofstream("recipe.yaml") << small_recipe(
        {"seed=2", "views={steps: [resize: {size: [32, 32]}], count: 1}", "encoder.stem=imagenet", "head={name: none}",
         "objective=cross_entropy", "classifier={name: linear, gradient: flow}",
         "train={epochs: 1, batch_size: 8, device: cpu, threads: 1}",
         "data={train: {name: image_folder, root: photos}, test: {name: image_folder, root: photos, split: test}}"});
    done({"train", "recipe.yaml", "output=run"});
    done({"export", "run", "--format", "safetensors"});
  }

 protected:
  static std::string weights() { return "run/exported/encoder.safetensors"; }
  static ProcessResult embed(const std::string& out, const std::string& encoder, const Words& more = {}) {
    return run_debias(with({"embed", "photos", "--encoder", encoder, "--out", out}, more));
  }
  static std::vector<float> vectors(const std::string& name) {
    const NpyArray array = read_npy(name);
    const auto values = array.as<float>();
    return {values.begin(), values.end()};
  }
};

Words lines_of(const std::string& file) {
  std::istringstream text(file_text(file));
  Words lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST_F(Backbones, WeightsAloneEmbedAFolderAsItsRunDoes) {
  const ProcessResult result = embed("alone.npy", weights(), {"labels=colours.csv", "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const auto json = Json::parse(result.out);
  EXPECT_EQ(json.at("count"), 56);
  EXPECT_EQ(json.at("dimensions"), 64);
  EXPECT_EQ(json.at("splits"), (Json{{"train", 48}, {"test", 8}}));
  EXPECT_EQ(json.at("reused"), false);
  const auto lines = lines_of("alone.csv");
  ASSERT_EQ(lines.size(), 57u);
  EXPECT_EQ(lines[0], "path,label,bias,split");
  EXPECT_EQ(lines[1], "train/ape/0.png,ape,red,train");
  EXPECT_EQ(lines[56], "test/zebra/3.png,zebra,blue,test");

  done({"embed", "run", "--out", "run.npy", "views.eval={resize: {size: 256}, center_crop: {size: 224}}"});
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
  std::string text = file_text("recipe.yaml");
  text.insert(text.find("  width: 8"), "  weights: " + weights() + "\n");
  std::ofstream("weights.yaml") << text;
  ASSERT_EQ(embed("by_recipe.npy", "weights.yaml").exit, 0);
  done({"embed", "run", "--out", "own.npy"});
  const auto all = vectors("by_recipe.npy"), expected = vectors("own.npy");
  ASSERT_EQ(all.size(), 56u * 64);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(all[48 * 64 + i], expected[i], 1e-5 * (1 + std::abs(expected[i])));
}

TEST_F(Backbones, WordsChangeTheViewsOfEvaluation) {
  ASSERT_EQ(embed("plain.npy", weights()).exit, 0);
  ASSERT_EQ(embed("small.npy", weights(), {"views.eval={resize: {size: [32, 32]}}"}).exit, 0);
  done({"embed", "run", "--out", "small_run.npy"});
  const auto all = vectors("small.npy"), expected = vectors("small_run.npy");
  ASSERT_EQ(all.size(), 56u * 64);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(all[48 * 64 + i], expected[i], 1e-5 * (1 + std::abs(expected[i])));
  ASSERT_EQ(embed("changed.npy", weights(), {"views.eval.resize.size=300"}).exit, 0);  // one key of the default
  EXPECT_NE(vectors("changed.npy"), vectors("plain.npy"));
}

TEST_F(Backbones, WhatIsUpToDateIsNotComputedAgain) {
  ASSERT_EQ(embed("cached.npy", weights()).exit, 0);
  const auto reused = [&](const Words& more = {}) {
    const ProcessResult result = embed("cached.npy", weights(), with({"--json"}, more));
    EXPECT_EQ(result.exit, 0) << result.err;
    return Json::parse(result.out).at("reused").get<bool>();
  };
  EXPECT_TRUE(reused());
  fs::last_write_time("photos/train/ape/0.png", fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_FALSE(reused());
  EXPECT_TRUE(reused());
  EXPECT_FALSE(reused({"labels=colours.csv"}));
  std::ofstream("cached.csv", std::ios::app) << "changed\n";
  EXPECT_FALSE(reused({"labels=colours.csv"}));
}

TEST_F(Backbones, Bfloat16EmbedsNearlyTheSameAndIsNoTableOfFloat32) {
  ASSERT_EQ(embed("precision.npy", weights()).exit, 0);
  const auto exact = vectors("precision.npy");
  const ProcessResult result = embed("precision.npy", weights(), {"--precision", "bf16", "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out).at("reused"), false);
  const auto rounded = vectors("precision.npy");
  ASSERT_EQ(rounded.size(), exact.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    difference += std::pow(static_cast<double>(exact[i]) - rounded[i], 2);
    size += std::pow(static_cast<double>(exact[i]), 2);
  }
  EXPECT_GT(difference, 0);
  EXPECT_LT(difference, 1e-3 * size);
}

TEST_F(Backbones, FrozenTrainingLeavesTheWeightsAsTheyAre) {
  done({"train", "recipe.yaml", "encoder.weights=" + weights(), "encoder.freeze=layer4", "encoder.learning_rate=0.5", "output=frozen"});
  const SafetensorsFile before = SafetensorsFile::open(weights());
  const SafetensorsFile after = SafetensorsFile::open("frozen/checkpoints/last.safetensors");
  const auto bytes = [](const SafetensorsFile& file, const std::string& key) {
    const TensorEntry* entry = file.find(key);
    std::string data(entry == nullptr ? 0 : entry->end - entry->begin, '\0');
    if (entry != nullptr) file.read(*entry, data.data());
    return data;
  };
  for (const auto& entry : before.tensors()) EXPECT_EQ(bytes(after, "encoder." + entry.name), bytes(before, entry.name)) << entry.name;
  EXPECT_FALSE(bytes(after, "classifier.weight").empty());
  done({"eval", "knn", "frozen", "--json"});
  done({"train", "frozen/config.yaml", "--resume"});
}

TEST_F(Backbones, InitProposesFrozenFeaturesFirst) {
  const auto next = json_of(run_debias({"init", "photos", "--labels", "colours.csv", "--from", weights(), "--minutes", "1", "--out",
                                        "start.yaml", "--json"}))
                        .at("next")
                        .get<Words>();
  ASSERT_EQ(next.size(), 6u);
  EXPECT_THAT(next[0], HasSubstr("debias embed photos"));
  EXPECT_THAT(next[1], HasSubstr("debias audit --embeddings start-features.npy"));
  EXPECT_THAT(next[2], HasSubstr("debias fix --embeddings start-features.npy"));
  for (size_t i = 0; i < 3; ++i) {
    std::istringstream words(next[i]);
    Words arguments;
    for (std::string word; words >> word;) arguments.push_back(word);
    arguments.erase(arguments.begin());
    done(arguments);
  }
  EXPECT_TRUE(fs::exists("start-fixed/predictions.csv"));
  EXPECT_THAT(file_text("start.yaml"), HasSubstr("weights: " + weights() + ", learning_rate: 0.1"));
  done({"train", "start.yaml", "--dry-run"});
}

}  // namespace debias::backbone_cli_test

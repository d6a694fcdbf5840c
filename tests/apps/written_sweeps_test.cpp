// The sweeps in recipes/: each can be run, and says the numbers of the papers' experiments (table 5.4 of the specification).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "debias/core/npy.h"
#include "tests/apps/paper_numbers.h"
#include "tests/apps/process.h"
#include "tests/apps/stand_in_data.h"
#include "tests/support/golden_folder.h"
#include "tests/support/small_corpus.h"

namespace debias {
namespace written_sweeps_test {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAreArray;

// In a folder of its own, which holds the data.
class WrittenSweeps : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const fixture::StandInData data(folder_->path());
    const std::vector<float> features(size_t{2} * 42 * 8, 1.0f);  // what papers/u8_bias_model leaves
    fs::create_directories(folder_->path() + "/runs/papers");
    write_small_corpus(folder_->path() + "/data");
    fs::rename(folder_->path() + "/data/books", folder_->path() + "/data/novels");
    fs::rename(folder_->path() + "/data/vocab.txt", folder_->path() + "/data/novels-vocab.txt");
    write_npy(folder_->path() + "/runs/papers/u8-bias.npy", DType::kFloat32, {42 * 8, 2}, features.data());
  }
  static void TearDownTestSuite() { delete folder_; }
  void SetUp() override {
    binary_ = fs::absolute(debias_binary());
    before_ = fs::current_path();
    fs::current_path(folder_->path());
  }
  void TearDown() override { fs::current_path(before_); }

  // Every run with its resolved recipe; empty where it cannot be run, which is a failure.
  json checked(const std::string& name, const std::vector<std::string>& words = {}) const {
    const ProcessResult result =
        run(with({binary_.string(), "sweep", golden_folder("../../recipes") + "/" + name + ".yaml", "--check", "--json"}, words));
    EXPECT_EQ(result.exit, 0) << name << ": " << result.err;
    return result.exit == 0 ? json::parse(result.out)["runs"] : json::array();
  }

  static TemporaryFolder* folder_;
  fs::path binary_, before_;
};
TemporaryFolder* WrittenSweeps::folder_ = nullptr;

// "objective.0.tau_plus" of a resolved recipe.
json value_of(const json& recipe, const std::string& key) {
  json node = recipe;
  std::istringstream parts(key);
  for (std::string part; std::getline(parts, part, '.');) {
    if (node.is_array()) {
      node = std::stoul(part) < node.size() ? node[std::stoul(part)] : json();
    } else {
      node = node.is_object() && node.contains(part) ? node[part] : json();
    }
  }
  return node;
}

double published_of(const json& recipe) {
  if (!recipe.contains("expected")) return 0;
  for (const auto& item : recipe["expected"]) {
    if (!item["metric"].get<std::string>().ends_with("acc5")) return item["value"];
  }
  return 0;
}

TEST_F(WrittenSweeps, OfThePapersHaveTheirNumbers) {
  for (const auto& sweep : kPapers) {
    const json runs = checked("papers/" + sweep.name);
    EXPECT_EQ(runs.size(), sweep.runs) << sweep.name;
    std::vector<double> published;
    std::set<std::string> found;
    for (const auto& run : runs) {
      const json& recipe = run["recipe"];
      for (const auto& [key, value] : sweep.all) {
        const bool of_its_own = sweep.name == "d4_cifar10" && run["variant"] == "biased_600" && key == "train.epochs";
        if (of_its_own) continue;
        EXPECT_EQ(value_of(recipe, key), value) << sweep.name << " " << run["name"] << " " << key;
      }
      if (const auto single = sweep.single.find(run["name"]); single != sweep.single.end()) {
        found.insert(single->first);
        for (const auto& [key, value] : single->second)
          EXPECT_EQ(value_of(recipe, key), value) << sweep.name << " " << run["name"] << " " << key;
      }
      if (run["seed"] == runs[0]["seed"]) published.push_back(published_of(recipe));
    }
    EXPECT_EQ(found.size(), sweep.single.size()) << sweep.name;
    if (sweep.published.empty()) continue;
    EXPECT_THAT(published, ElementsAreArray(sweep.published)) << sweep.name;
  }
}

TEST_F(WrittenSweeps, OfThePapersAreAllHeldToThem) {
  std::set<std::string> written, held;
  for (const auto& entry : fs::directory_iterator(golden_folder("../../recipes/papers"))) {
    if (entry.path().extension() == ".yaml") written.insert(entry.path().stem().string());
  }
  for (const auto& sweep : kPapers) held.insert(sweep.name);
  EXPECT_EQ(written, held);
}

TEST_F(WrittenSweeps, OfSmallScaleCanBeRun) {
  for (const auto& entry : fs::directory_iterator(golden_folder("../../recipes/small"))) {
    // The stand-in has too few images to hold 5,000 or 40,000 out.
    std::vector<std::string> words;
    const std::string text = file_text(entry.path().string());
    if (text.find("hold_out") != std::string::npos) words = {"data.train.hold_out=50"};
    if (text.find("split: held_out") != std::string::npos) words.push_back("data.test.hold_out=50");
    if (text.find("name: sentences") != std::string::npos) words = {"data.train.hold_out=1", "data.test.hold_out=1", "train.batch_size=10"};
    EXPECT_GT(checked("small/" + entry.path().stem().string(), words).size(), 4u) << entry.path();
    EXPECT_THAT(text, testing::HasSubstr("# Time: ")) << entry.path();
  }
}

}  // namespace written_sweeps_test
}  // namespace debias

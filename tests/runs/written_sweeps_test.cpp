// The sweeps in recipes/: each can be run, and says the numbers of the papers' experiments (table 5.4 of the specification).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "debias/core/npy.h"
#include "debias/runs/recipe_lookup.h"
#include "debias/runs/sweep_check.h"
#include "tests/runs/paper_numbers.h"
#include "tests/runs/stand_in_data.h"
#include "tests/runs/supervised_paper_numbers.h"
#include "tests/runs/trained_run.h"
#include "tests/support/golden_folder.h"
#include "tests/support/shared_folder.h"
#include "tests/support/small_corpus.h"

namespace debias {
namespace written_sweeps_test {

namespace fs = std::filesystem;
using nlohmann::json;
using paper_numbers::PaperSweep;
using paper_numbers::Settings;

// In a folder of its own, which holds the data.
class WrittenSweeps : public SharedFolder<WrittenSweeps> {
 protected:
  static void SetUpTestSuite() {
    const fixture::StandInData data(folder().path());
    const std::vector<float> features(size_t{2} * 42 * 8, 1.0f);  // what papers/u8_bias_model leaves
    fs::create_directories(path("runs/papers"));
    write_small_corpus(path("data"));
    fs::rename(path("data/books"), path("data/novels"));
    fs::rename(path("data/vocab.txt"), path("data/novels-vocab.txt"));
    write_npy(path("runs/papers/u8-bias.npy"), DType::kFloat32, {42 * 8, 2}, features.data());
  }
  void SetUp() override {
    before_ = fs::current_path();
    fs::current_path(folder().path());
  }
  void TearDown() override { fs::current_path(before_); }

  static std::string file_of(const std::string& name) { return golden_folder("../../recipes") + "/" + name + ".yaml"; }

  // Every run with its resolved recipe; empty where it cannot be run, which is a failure.
  json planned(const std::string& file, const SweepCheckOptions& options, const std::vector<std::string>& words) const {
    json runs = json::array();
    try {
      const SweepPlan plan = read_sweep(file, words, find_recipe);
      const CheckedPoints points = check_sweep(plan, options, Progress::silent(), Log::silent());
      for (size_t i = 0; i < plan.runs.size(); ++i) {
        const CheckedPoint& point = points.at(i / plan.seeds.size());
        runs.push_back({{"name", plan.runs[i].name()}, {"variant", plan.runs[i].point.variant}, {"seed", plan.runs[i].seed}});
        runs.back()["recipe"] = json(recipe_of(point, plan.runs[i]).to_json());
        runs.back()["seconds"] = point.seconds();
      }
    } catch (const Error& error) {
      ADD_FAILURE() << file << ": " << error.what();
    }
    return runs;
  }
  json checked(const std::string& name, const std::vector<std::string>& words = {}) const { return planned(file_of(name), {}, words); }
  // Once for all tests.
  const json& paper(const std::string& name) const {
    const auto [known, is_new] = papers_.try_emplace(name);
    if (is_new) known->second = checked("papers/" + name);
    return known->second;
  }

  static std::map<std::string, json> papers_;
  fs::path before_;
};
std::map<std::string, json> WrittenSweeps::papers_;

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

std::vector<PaperSweep> papers() {
  std::vector<PaperSweep> all = paper_numbers::kContrastivePapers;
  all.insert(all.end(), paper_numbers::kSupervisedPapers.begin(), paper_numbers::kSupervisedPapers.end());
  return all;
}

Settings settings_of(const PaperSweep& sweep, const std::string& run) {
  Settings settings = sweep.all;
  for (const auto& [beginning, more] : sweep.some) {
    if (run.starts_with(beginning)) settings = paper_numbers::with(settings, more);
  }
  return settings;
}

// What is published of one setting, a line for each metric: "test.acc1 0.118 +- 0.007, 122.85 minutes, epoch 50".
using Lines = std::set<std::string>;
std::string published_line(const std::string& metric, double value, double spread, double minutes, int64_t epoch) {
  std::ostringstream line;
  line << metric << " " << value;
  if (spread != 0) line << " +- " << spread;
  if (minutes != 0) line << ", " << minutes << " minutes";
  if (epoch != 0) line << ", epoch " << epoch;
  return line.str();
}

Lines published_at(const PaperSweep& sweep, size_t point) {
  const auto at = [&](const std::vector<double>& numbers) { return numbers.empty() ? 0 : numbers.at(point); };
  Lines lines;
  for (const auto& [metric, values, spreads, minutes, epoch] : sweep.published) {
    if (values.at(point) != 0) lines.insert(published_line(metric, values[point], at(spreads), at(minutes), epoch));
  }
  return lines;
}

Lines expected_in(const json& recipe) {
  Lines lines;
  for (const auto& item : recipe.value("expected", json::array())) {
    lines.insert(
        published_line(item["metric"], item["value"], item.value("spread", 0.0), item.value("minutes", 0.0), item.value("epoch", 0)));
    EXPECT_NE(item.value("source", ""), "") << recipe["output"];
  }
  return lines;
}

size_t settings_in(const json& runs) {
  std::set<std::string> seeds;
  for (const auto& run : runs) seeds.insert(run["seed"].get<std::string>());
  return runs.size() / std::max<size_t>(1, seeds.size());
}

TEST_F(WrittenSweeps, OfThePapersHaveTheirSettings) {
  for (const auto& sweep : papers()) {
    const json& runs = paper(sweep.name);
    EXPECT_EQ(runs.size(), sweep.runs) << sweep.name;
    for (const auto& run : runs) {
      for (const auto& [key, value] : settings_of(sweep, run["name"]))
        EXPECT_EQ(value_of(run["recipe"], key), value) << sweep.name << " " << run["name"] << " " << key;
    }
    for (const auto& some : sweep.some) {
      const auto begins = [&](const json& run) { return run["name"].get<std::string>().starts_with(some.first); };
      EXPECT_TRUE(std::any_of(runs.begin(), runs.end(), begins)) << sweep.name << ": no run begins with " << some.first;
    }
  }
}

TEST_F(WrittenSweeps, OfThePapersHaveTheirPublishedNumbers) {
  for (const auto& sweep : papers()) {
    const json& runs = paper(sweep.name);
    ASSERT_FALSE(runs.empty()) << sweep.name;
    const size_t points = settings_in(runs);
    for (const auto& published : sweep.published) ASSERT_EQ(published.values.size(), points) << sweep.name << " " << published.metric;
    for (size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(expected_in(runs[i]["recipe"]), published_at(sweep, i / (runs.size() / points))) << sweep.name << " " << runs[i]["name"];
    }
  }
}

// The comments of a file as one text.
std::string comments_of(const std::string& file) {
  std::istringstream lines(file_text(file));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) text += line.substr(1);
  }
  return text;
}

TEST_F(WrittenSweeps, OfThePapersNoteTheNumbersOfMethodsThatAreNotThere) {
  for (const auto& sweep : papers()) {
    const std::string comments = comments_of(file_of("papers/" + sweep.name));
    for (const auto& number : sweep.noted) EXPECT_THAT(comments, testing::HasSubstr(number)) << sweep.name;
  }
}

TEST_F(WrittenSweeps, OfSentencesHaveAllOfTable2) {
  const std::vector<const char*> metrics = {"mr_acc", "cr_acc", "subj_acc", "mpqa_acc", "trec_acc", "msrp_acc", "msrp_f1"};
  const std::map<std::string, std::vector<double>> table = {{"biased", {.768, .813, .934, .866, .898, .736, .818}},
                                                            {"debiased_0.005", {.765, .815, .936, .866, .891, .742, .823}},
                                                            {"debiased_0.01", {.762, .829, .937, .869, .891, .747, .827}},
                                                            {"control", {}}};
  const json runs = checked("text/bookcorpus", {"data.train={name: sentences, root: data/novels, vocabulary: data/novels-vocab.txt}",
                                                "train.batch_size=10", "encoder={name: bag_of_words, features: 8}"});
  EXPECT_EQ(runs.size(), 12u);
  for (const auto& run : runs) {
    Lines published;
    const auto& numbers = table.at(run["variant"]);
    for (size_t i = 0; i < numbers.size(); ++i) published.insert(published_line(metrics[i], numbers[i], 0, 0, 0));
    EXPECT_EQ(expected_in(run["recipe"]), published) << run["name"];
  }
}

TEST_F(WrittenSweeps, OfThePapersAreAllHeldToThem) {
  std::set<std::string> written, held;
  for (const auto& entry : fs::directory_iterator(golden_folder("../../recipes/papers"))) {
    if (entry.path().extension() == ".yaml") written.insert(entry.path().stem().string());
  }
  for (const auto& sweep : papers()) held.insert(sweep.name);
  EXPECT_EQ(written, held);
}

// By name, or by base where the sweep has no words of its own: words that make a trial step a matter of milliseconds.
const std::vector<std::string> kSmallNetwork = {"encoder.name=resnet18", "encoder.width=8", "views.random_resized_crop.size=8"};
const std::map<std::string, std::vector<std::string>> kSmaller = {
    {"dcl_cifar10", kSmallNetwork},
    {"dcl_stl10", kSmallNetwork},
    {"mdb_cifar10", kSmallNetwork},
    {"m3_blur", {"encoder.width=8", "views.steps.1.random_resized_crop.size=8"}},
    {"usc_cifar", kSmallNetwork},
    {"usc_imagenet100", {"encoder.name=resnet18", "encoder.width=8", "views.random_resized_crop.size=32"}},
    {"usc_biased_mnist", {"encoder.stem_stride=2", "encoder.stride=3"}},
    {"usc_corrupted_cifar10", {"encoder.width=8", "train.batch_size=16"}},
    {"usc_bffhq", {"encoder.width=8", "views.resize.size=[32, 32]", "views.random_crop.size=32"}},
    {"imagenet100", {"encoder.width=8", "encoder.stem_width=8", "method.negatives=64", "views.random_resized_crop.size=32"}},
    {"u8", {"encoder.width=8", "views.random_resized_crop.size=32"}},
    {"u8_bias_model", {"views.random_resized_crop.size=32"}}};

// A sweep over batches with the smallest alone, which only a copy can have, its base by its whole path; another one as it is.
struct SmallerSweep {
  std::string file, base;
  std::vector<std::string> words;
  size_t shorter = 1;  // settings of the whole to one of it
};
SmallerSweep smaller(const std::string& name, const std::string& file) {
  SmallerSweep small{file, name, {"train.threads=1", "train.workers=1", "train.prefetch=1"}};
  std::string text = file_text(file);
  const std::string base = fs::path(file).parent_path().string() + "/";
  if (const size_t at = text.find("base: "); at != std::string::npos) {
    small.base = fs::path(text.substr(at + 6, text.find('\n', at) - at - 6)).stem().string();
    text.insert(at + 6, base);
  }
  const std::string batches = "train.batch_size: [16, 32, 64, 128, 256]";
  if (const size_t at = text.find(batches); at != std::string::npos) {
    text.replace(at, batches.size(), "train.batch_size: [16]");
    const size_t expected = text.find("expected:");  // it numbers all the batches
    text.erase(expected, text.find("output:") - expected);
    small.file = name + "-smallest-batch.yaml";
    std::ofstream(small.file) << text;
    small.shorter = 5;
  } else {
    small.words.push_back("train.batch_size=4");
  }
  const std::vector<std::string>& more = kSmaller.at(kSmaller.contains(name) ? name : small.base);
  small.words.insert(small.words.end(), more.begin(), more.end());
  return small;
}

TEST_F(WrittenSweeps, SlowOfThePapersTakeTrialSteps) {
  for (const auto& sweep : papers()) {
    const SmallerSweep small = smaller(sweep.name, file_of("papers/" + sweep.name));
    const json runs = planned(small.file, {.timed = true}, small.words);
    EXPECT_EQ(runs.size() * small.shorter, sweep.runs) << sweep.name;
    for (const auto& run : runs) EXPECT_GT(run["seconds"], 0) << sweep.name << " " << run["name"];
  }
}

TEST_F(WrittenSweeps, OfSmallScaleCanBeRun) {
  for (const auto& entry : fs::directory_iterator(golden_folder("../../recipes/small"))) {
    // The stand-in has too few images to hold 5,000 or 40,000 out.
    std::vector<std::string> words;
    const std::string text = file_text(entry.path().string());
    if (text.find("hold_out") != std::string::npos) words = {"data.train.hold_out=50"};
    if (text.find("split: held_out") != std::string::npos) words.push_back("data.test.hold_out=50");
    if (text.find("classes: cifar4") != std::string::npos) {
      for (const char* split : {"train", "test"}) words.push_back(std::string("data.") + split + ".root=data/cifar10-images");
    }
    if (text.find("name: sentences") != std::string::npos) words = {"data.train.hold_out=1", "data.test.hold_out=1", "train.batch_size=10"};
    EXPECT_GT(checked("small/" + entry.path().stem().string(), words).size(), 4u) << entry.path();
    EXPECT_THAT(text, testing::HasSubstr("# Time: ")) << entry.path();
  }
}

}  // namespace written_sweeps_test
}  // namespace debias

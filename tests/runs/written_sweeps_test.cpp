// The sweeps in recipes/: each can be run, and has a published number wherever its paper has one. The numbers stand in the recipes alone.
#include "debias/runs/recipe_lookup.h"
#include "debias/runs/sweep_check.h"
#include "tests/runs/stand_in_data.h"
#include "tests/runs/trained_run.h"
#include "tests/support/small_corpus.h"

namespace debias::written_sweeps_test {

using nlohmann::json;

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

struct PaperSweep {
  std::string name;
  size_t runs, published;  // numbers, of all settings
};
const std::vector<PaperSweep> kPapers = {{"d1", 30, 5},
                                         {"d2", 60, 10},
                                         {"d3", 45, 11},
                                         {"d4_cifar10", 15, 1},
                                         {"d4_stl10", 15, 1},
                                         {"d5", 9, 0},
                                         {"d6", 9, 6},
                                         {"h1", 18, 6},
                                         {"m1", 9, 6},
                                         {"m1_stl10", 9, 0},
                                         {"m2", 12, 3},
                                         {"m3", 9, 3},
                                         {"m3_blur", 9, 0},
                                         {"m4", 9, 3},
                                         {"m5", 15, 10},
                                         {"b1", 60, 20},
                                         {"b2", 60, 20},
                                         {"b3", 12, 4},
                                         {"b4", 9, 3},
                                         {"b5", 15, 5},
                                         {"u1", 24, 8},
                                         {"u2", 24, 8},
                                         {"u3", 27, 9},
                                         {"u4", 72, 24},
                                         {"u5", 60, 20},
                                         {"u6", 84, 28},
                                         {"u7", 24, 8},
                                         {"u8_bias_model", 1, 0},
                                         {"u8", 21, 21},
                                         {"u9", 12, 4},
                                         {"u10_corrupted_cifar10", 24, 8},
                                         {"u10_bffhq", 6, 2},
                                         {"u11", 54, 18},
                                         {"u12", 24, 8}};

// What all runs of some sweeps have in their resolved recipes, where much of it comes from defaults.
const std::pair<const char*, const char*> kSettings[] = {
    {"d1 d2 d3 d4_cifar10 d4_stl10 d5 h1 b1 b2 b3 b4 b5",
     "encoder.name=resnet50 encoder.stem=cifar encoder.width=64 encoder.stem_weights=fan_in_uniform head.name=simclr head.hidden_dim=512 "
     "head.output_dim=128 views.steps.0.random_resized_crop.size=32 views.steps.4.gaussian_blur.kernel_size=3 views.forward=per_view "
     "objective.0.temperature=0.5 optimizer.name=adam optimizer.learning_rate=1e-3 optimizer.weight_decay=1e-6 train.drop_last=true "
     "evaluate.knn.k=200 evaluate.linear_dcl.epochs=100 evaluate.linear_dcl.batch_size=512 evaluate.linear_dcl.weight_decay=1e-6 "
     "evaluate.linear_dcl.bn=train"},
    {"m1 m1_stl10 m2 m3 m3_blur m4 m5",
     "encoder.name=resnet18 encoder.stem=cifar encoder.width=64 encoder.stem_weights=fan_in_uniform head.output_dim=128 "
     "optimizer.name=adam "
     "optimizer.learning_rate=1e-3 optimizer.weight_decay=1e-6 train.epochs=50 evaluate.every=1 evaluate.knn.k=200 "
     "evaluate.knn.temperature=0.5 objective.0.temperature=0.5"},
    {"d6",
     "optimizer.name=sgd optimizer.learning_rate=0.03 optimizer.momentum=0.9 optimizer.weight_decay=1e-4 train.batch_size=128 "
     "train.epochs=240 schedule.milestones=[120,160,200] schedule.gamma=0.1 method.name=cmc method.negatives=16384 method.momentum=0.5 "
     "objective.0.temperature=0.07 objective.0.clamp=fallback head.output_dim=128"},
    {"u1 u2",
     "encoder.name=resnet50 encoder.stem=cifar encoder.width=64 optimizer.name=sgd optimizer.momentum=0.9 optimizer.weight_decay=1e-4 "
     "schedule.name=cosine schedule.decay_rate=0.1 schedule.warmup_epochs=10 schedule.warmup_from=0.01 train.batch_size=1024 "
     "train.drop_last=false"},
    {"u3",
     "data.train.classes=imagenet100 encoder.name=resnet50 encoder.stem=imagenet encoder.width=64 optimizer.name=sgd "
     "optimizer.learning_rate=0.1 optimizer.momentum=0.9 optimizer.weight_decay=1e-4 schedule.milestones=[30,60,90] schedule.gamma=0.1 "
     "train.batch_size=512 train.epochs=100"},
    {"u4 u5 u11 u12",
     "data.train.name=biased_mnist data.train.seed=run data.test.seed=0 data.train.palette=usc data.test.correlation=0.1 "
     "encoder.name=simple_convnet encoder.stem_stride=1 encoder.stride=1 head.name=none optimizer.name=adam schedule.gamma=0.1 "
     "train.epochs=80"},
    {"u6 u9 u10_corrupted_cifar10",
     "encoder.name=resnet18 encoder.activation=relu encoder.stem=imagenet encoder.width=64 views.count=1 optimizer.name=adam "
     "optimizer.learning_rate=1e-3 optimizer.weight_decay=1e-4 train.epochs=200 train.batch_size=256 schedule.name=cosine "
     "schedule.from_zero=true"},
    {"u7 u10_bffhq",
     "data.train.name=bffhq encoder.name=resnet18 encoder.activation=relu encoder.stem=imagenet encoder.width=64 "
     "optimizer.learning_rate=1e-4 optimizer.weight_decay=1e-4 train.epochs=100 train.batch_size=256 schedule.name=cosine"},
    {"u8",
     "encoder.name=resnet18 encoder.activation=relu encoder.stem=imagenet optimizer.learning_rate=1e-3 optimizer.weight_decay=1e-4 "
     "train.batch_size=256 schedule.name=cosine data.train.classes=imagenet9 data.valid.root=data/imagenet-a"}};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

TEST_F(WrittenSweeps, OfThePapersHaveTheirSettings) {
  for (const auto& [names, settings] : kSettings) {
    for (const auto& name : words_of(names)) {
      for (const auto& run : paper(name)) {
        for (const auto& setting : words_of(settings)) {
          const size_t equals = setting.find('=');
          const std::string text = setting.substr(equals + 1);
          const json number = json::parse(text, nullptr, false);
          EXPECT_EQ(value_of(run["recipe"], setting.substr(0, equals)), number.is_discarded() ? json(text) : number)
              << name << " " << run["name"] << " " << setting;
        }
      }
    }
  }
}

// How many numbers the settings of a sweep expect: each a share, above its spread, from a place in the paper, and the same for all seeds.
size_t published_in(const json& runs) {
  std::map<std::string, json> by_setting;
  size_t count = 0;
  for (const auto& run : runs) {
    const std::string name = run["name"];
    const json expected = run["recipe"].value("expected", json::array());
    const auto [known, is_new] = by_setting.try_emplace(name.substr(0, name.rfind("seed-")), expected);
    EXPECT_EQ(known->second, expected) << name;
    if (!is_new) continue;
    count += expected.size();
    for (const auto& item : expected) {
      EXPECT_TRUE(item["value"] > 0 && item["value"] <= 1 && item.value("spread", 0.0) < item["value"]) << name << item;
      EXPECT_NE(item.value("source", ""), "") << name;
    }
  }
  return count;
}

TEST_F(WrittenSweeps, OfThePapersHaveAPublishedNumberWhereverThereIsOne) {
  std::set<std::string> written, held;
  for (const auto& entry : fs::directory_iterator(golden_folder("../../recipes/papers"))) {
    if (entry.path().extension() == ".yaml") written.insert(entry.path().stem().string());
  }
  for (const auto& sweep : kPapers) {
    held.insert(sweep.name);
    EXPECT_EQ(paper(sweep.name).size(), sweep.runs) << sweep.name;
    EXPECT_EQ(published_in(paper(sweep.name)), sweep.published) << sweep.name;
  }
  EXPECT_EQ(written, held);
}

TEST_F(WrittenSweeps, OfSentencesHaveAllOfTable2) {
  const json runs = checked("text/bookcorpus", {"data.train={name: sentences, root: data/novels, vocabulary: data/novels-vocab.txt}",
                                                "train.batch_size=10", "encoder={name: bag_of_words, features: 8}"});
  EXPECT_EQ(runs.size(), 12u);
  EXPECT_EQ(published_in(runs), 3u * 7);  // three losses, seven metrics
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
  for (const auto& sweep : kPapers) {
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
    EXPECT_THAT(text, HasSubstr("# Time: ")) << entry.path();
  }
}

}  // namespace debias::written_sweeps_test

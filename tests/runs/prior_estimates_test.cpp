// Class priors of runs and of embeddings on disk, and recipes that take estimates while they train.
#include "debias/runs/prior_estimates.h"

#include <ATen/ATen.h>

#include "debias/core/registry.h"
#include "debias/data/builders/data_make.h"
#include "debias/runs/loss_evaluation.h"
#include "tests/runs/trained_run.h"
#include "tests/support/finite_differences.h"

namespace debias {
namespace prior_estimates_test {

const std::string kRecipe = small_recipe(
    {"encoder={name: simple_convnet}",
     "objective={name: bayesian, tau_plus: {from: prior, every: 2}, alpha: {from: macro_auc, start: 0.9}}", "train.batch_size=32"});

std::vector<PriorEstimate> priors(const PriorRequest& request) { return run_priors(request, Progress::silent(), Log::silent()); }

// Glyphs as files, in FOLDER/align and FOLDER/conflict.
void make_glyphs(const std::string& folder, int64_t count) {
  const Config section = parse_yaml("{name: glyphs, size: 16, train_count: " + std::to_string(count) + ", test_count: 10}", "glyphs");
  make_data_folder(section, folder, Progress::silent());
}

// Two views of each of 200 samples of four classes: the class's own axis with noise by a fixed wave.
class PriorOfEmbeddings : public testing::Test {
 protected:
  std::string views(int64_t V) const {
    std::vector<float> z(200 * static_cast<size_t>(V) * 4);
    for (size_t i = 0; i < z.size(); ++i) {
      const size_t sample = i / (4 * static_cast<size_t>(V));
      z[i] = static_cast<float>((i % 4 == sample % 4 ? 1 : 0) + 0.05 * std::sin(12.9898 * static_cast<double>(i)));
    }
    write_npy(folder_ / "z.npy", DType::kFloat32, {200, V, 4}, z.data());
    return folder_ / "z.npy";
  }
  std::string labels(int64_t count) const {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(i % 4);
    write_npy(folder_ / "y.npy", DType::kInt64, {count}, values.data());
    return folder_ / "y.npy";
  }
  static std::vector<PriorEstimate> of(const std::string& z, const std::string& y) {
    LossFiles files;
    files.embeddings = z;
    files.labels = y;
    return embedding_priors(files, Log::silent());
  }
  TemporaryFolder folder_;
};

TEST_F(PriorOfEmbeddings, IsByLabelsFirstAndByViews) {
  const auto both = of(views(2), labels(200));
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].method, PriorMethod::kLabels);
  EXPECT_NEAR(both[0].tau_plus, 4.0 * 50 * 49 / (200 * 199), 1e-12);
  EXPECT_LT(both[0].low, both[0].tau_plus);
  EXPECT_GT(both[0].high, both[0].tau_plus);
  EXPECT_EQ(both[1].method, PriorMethod::kViews);
  EXPECT_EQ(both[1].low, 0);
  EXPECT_GE(both[1].high, 0.25);
  const auto by_views = of(views(2), "");
  ASSERT_EQ(by_views.size(), 1u);
  EXPECT_EQ(to_json(by_views[0]), to_json(both[1]));
}

TEST_F(PriorOfEmbeddings, OfOneViewIsByLabelsAlone) {
  const auto found = of(views(1), labels(200));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].method, PriorMethod::kLabels);
}

TEST_F(PriorOfEmbeddings, NamesWhatItCannotRead) {
  const std::string y = labels(199);
  EXPECT_EQ(data_error_of([&] { of(views(2), y); }), y + ": 199 labels for 200 samples of embeddings; give one for each");
  const std::string one = views(1);
  EXPECT_EQ(data_error_of([&] { of(one, ""); }),
            one + ": one view of each image and no labels; give --labels y.npy or --csv F.csv, or embeddings [B, V, D] of two views");
  std::vector<float> bad(60 * 2 * 3, 1.0f);
  bad[3 * 2 * 3 + 4] = std::numeric_limits<float>::quiet_NaN();
  write_npy(folder_ / "bad.npy", DType::kFloat32, {60, 2, 3}, bad.data());
  EXPECT_EQ(data_error_of([&] { of(folder_ / "bad.npy", ""); }),
            (folder_ / "bad.npy") + ": the row of sample 3, view 1 is not finite; remove or repair it");
  write_npy(folder_ / "few.npy", DType::kFloat32, {2, 2, 3}, bad.data());
  EXPECT_EQ(data_error_of([&] { of(folder_ / "few.npy", ""); }), "prior: views of 2 images; without labels it needs at least 50");
}

TEST(OptionEstimates, OfARunAreItsPriorAndComeIntoForceAfterTheirEpoch) {
  const TemporaryFolder folder;
  train_into(folder / "run", kRecipe);
  const auto found = priors({.run = folder / "run"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].method, PriorMethod::kLabels);
  EXPECT_EQ(found[0].images, 96);
  EXPECT_EQ(found[1].images, 96);
  const auto epochs = epochs_of(folder / "run");
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_EQ(epochs[0]["bayesian.tau_plus"], 0.1);  // the option's default
  EXPECT_EQ(epochs[1]["bayesian.tau_plus"], 0.1);
  EXPECT_EQ(epochs[2]["bayesian.tau_plus"], found[0].tau_plus);
  EXPECT_FALSE(epochs[0].contains("estimate.prior"));
  EXPECT_EQ(epochs[1]["estimate.prior"], found[0].tau_plus);
  EXPECT_EQ(epochs[0]["bayesian.alpha"], 0.9);
  for (size_t e : {1, 2}) EXPECT_EQ(epochs[e]["bayesian.alpha"], std::max(0.5, epochs[e - 1]["estimate.macro_auc"].get<double>()));
}

TEST(OptionEstimates, OfAlphaComeFromTwoViewsOfEachImage) {
  const TemporaryFolder folder;
  train_into(folder / "run", kRecipe, {"objective={name: bayesian, alpha: {from: augment, start: 0.6}}", "train.epochs=2"});
  const auto epochs = epochs_of(folder / "run");
  EXPECT_EQ(epochs.at(0).at("bayesian.alpha"), 0.6);
  const double found = epochs.at(0).at("estimate.augment").get<double>();
  EXPECT_GT(found, 0.5);
  EXPECT_LE(found, 1);
  EXPECT_EQ(epochs.at(1).at("bayesian.alpha").get<double>(), found);
}

TEST(OptionEstimates, OfASamplerAreItsDraws) {
  const TemporaryFolder folder;
  train_into(folder / "run", kRecipe,
             {"data.train={name: glyphs, size: 16, classes: 2, correlation: 0.9, train_count: 120}", "sampler={name: balanced, by: class}",
              "objective={name: debiased_negatives, tau_plus: {from: prior}}", "train.epochs=2", "train.batch_size=24"});
  const auto found = priors({.run = folder / "run"});
  EXPECT_EQ(found[0].method, PriorMethod::kDraws);
  EXPECT_NEAR(found[0].tau_plus, 11.0 / 23, 1e-12);  // twelve of each class in a batch of 24
  EXPECT_EQ(found[0].low, found[0].tau_plus);
  EXPECT_EQ(epochs_of(folder / "run").at(0).at("estimate.prior"), found[0].tau_plus);
  EXPECT_EQ(epochs_of(folder / "run").at(1).at("debiased_negatives.tau_plus"), found[0].tau_plus);
}

// Images in one folder have no labels: two views bound the prior, and macro_auc has nothing to read.
TEST(OptionEstimates, WithoutLabelsAreBoundsByViews) {
  const TemporaryFolder folder;
  make_glyphs(folder / "made", 64);
  fs::create_directories(folder / "plain");
  for (const auto& entry : fs::recursive_directory_iterator(folder / "made/conflict")) {
    if (entry.is_regular_file()) fs::copy_file(entry.path(), fs::path(folder / "plain") / entry.path().filename());
  }
  const std::string data = "data.train={name: image_folder, root: " + (folder / "plain") + "}";
  const auto refused = data_error_of([&] { train_into(folder / "run", kRecipe, {data}); });
  EXPECT_THAT(refused, HasSubstr("macro_auc: split 'train' of image_folder has no labels"));
  EXPECT_FALSE(fs::exists(folder / "run"));
  train_into(folder / "run", kRecipe, {data, "objective={name: debiased_negatives, tau_plus: {from: prior}}", "train.epochs=1"});
  const auto found = priors({.run = folder / "run"});
  EXPECT_EQ(found.at(0).method, PriorMethod::kViews);
  EXPECT_EQ(epochs_of(folder / "run").at(0).at("bound.prior"), found[0].tau_plus);
}

class PriorOfARun : public SharedFolder<PriorOfARun> {
 protected:
  static void SetUpTestSuite() {
    make_glyphs(path("made"), 96);
    train_into(path("run"), kRecipe, {"objective={name: infonce}", "data.train={name: glyphs, root: " + path("made") + "}"});
  }
};

TEST_F(PriorOfARun, ComparesViewsOfAsManyImagesAsAreRequested) {
  const auto found = priors({.run = path("run"), .images = 60});
  EXPECT_EQ(found.at(0).images, 96) << "labels are read of all";
  EXPECT_EQ(found.at(1).images, 60);
}

TEST_F(PriorOfARun, ReadsTheTrainingSetWhereItLiesNow) {
  const auto before = priors({.run = path("run")});
  fs::rename(path("made"), path("moved"));
  EXPECT_THAT(data_error_of([] { priors({.run = path("run")}); }), HasSubstr(path("made")));
  const auto found = priors({.run = path("run"), .root = path("moved")});
  fs::rename(path("moved"), path("made"));
  EXPECT_EQ(to_json(found.at(1)), to_json(before.at(1)));
}

TEST_F(PriorOfARun, TakesTheEncoderOfTheCheckpointThatIsRequested) {
  const auto last = priors({.run = path("run")}), previous = priors({.run = path("run"), .which = "previous"});
  EXPECT_EQ(previous.at(0).tau_plus, last.at(0).tau_plus) << "labels do not depend on it";
  EXPECT_NE(to_json(previous.at(1)), to_json(last.at(1)));
  EXPECT_EQ(to_json(previous.at(1)), to_json(priors({.run = path("run/checkpoints/previous.safetensors")}).at(1)));
  EXPECT_THAT(data_error_of([] { priors({.run = path("run"), .which = "best"}); }), HasSubstr("it has no checkpoints/best.safetensors"));
  EXPECT_EQ(usage_error_of([] { priors({.run = path("run"), .device = "gpu"}); }), "device: unknown value 'gpu'; give auto, cpu or cuda");
}

}  // namespace prior_estimates_test

// One evaluation of an objective for `debias loss`: its gradient through the normalisation, and what is made of it.
namespace loss_evaluation_test {

LossEvaluation evaluated(const std::string& objective, const at::Tensor& z) {
  ObjectiveInput input;
  input.z = z;
  const auto made = find_entry(objective_registry(), objective, "objective", "").make(Config::map(), {});
  return evaluate_loss(*made, input, {.precision = LossPrecision::kFp64});
}

TEST(LossEvaluations, HaveTheGradientOfRowsBeforeTheirNormalisation) {
  at::manual_seed(3);
  const at::Tensor z = at::randn({4, 2, 3}, at::kDouble) * at::arange(1, 9, at::kDouble).view({4, 2, 1});
  const auto value = [](const at::Tensor& x) { return evaluated("infonce", x).result.value.item<double>(); };
  EXPECT_LT(largest_difference(evaluated("infonce", z).gradient, numeric_gradient(value, z)), 1e-8);
  EXPECT_NEAR(value(z), value(z / z.norm(2, -1, true)), 1e-12);
}

TEST(LossEvaluations, OfAZeroRowHaveAFiniteGradient) {
  at::Tensor z = at::randn({4, 2, 3}, at::kDouble);
  z[1][0].zero_();
  EXPECT_TRUE(evaluated("debiased_positives", z).gradient.isfinite().all().item<bool>());
}

LossEvaluation evaluation() {
  LossEvaluation found;
  found.result.value = at::scalar_tensor(1.5, at::kDouble);
  found.result.per_anchor = at::tensor({1.0f, 2.0f});
  found.result.anchors = 2;
  found.result.anchors_used = 2;
  found.gradient = at::arange(6, at::kFloat).view({3, 2}).t();
  found.seconds_forward = 0.25;
  found.peak_bytes = 3000000;
  return found;
}

const LossRun kRun = {"infonce", "dense", "cpu", LossPrecision::kFp32};

TEST(LossOutput, IsJsonAndLinesOfTheSameFigures) {
  const auto json = loss_json(evaluation(), kRun);
  EXPECT_EQ(json.at("loss"), 1.5);
  EXPECT_EQ(json.at("anchors"), 2);
  EXPECT_EQ(json.at("engine"), "dense");
  EXPECT_TRUE(json.at("min_estimate").is_null());
  EXPECT_FALSE(json.contains("mode"));
  const std::string text = loss_text(evaluation(), kRun);
  EXPECT_NE(text.find("objective       infonce (dense, fp32, cpu)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("loss            1.5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("peak memory     3 MB"), std::string::npos) << text;
}

TEST(LossOutput, WritesTheGradientInItsShape) {
  const TemporaryFolder folder;
  write_loss_outputs(evaluation(), {folder / "g.npy", ""}, {2, 3});
  const NpyArray gradient = read_npy(folder / "g.npy");
  EXPECT_EQ(gradient.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(gradient.as<float>()[1], 2);  // row by row
}

}  // namespace loss_evaluation_test
}  // namespace debias

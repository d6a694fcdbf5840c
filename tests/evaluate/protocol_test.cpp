// The registered protocols on a toy data set, end to end.
#include "debias/evaluate/protocol_registry.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debias/core/registry.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {

EvaluationResult evaluated(const EvaluationInput& input, const std::string& protocol, const std::string& yaml) {
  EvaluationCache features(input, Progress::silent());
  const ProtocolEntry& entry = find_entry(protocol_registry(), protocol, "protocol");
  return entry.run(input, features, entry.read(options(yaml)), Progress::silent());
}

namespace {

using testing::HasSubstr;

ToyEncoder& toy(const EvaluationInput& input) { return static_cast<ToyEncoder&>(*input.encoder); }

class EveryProtocol : public testing::TestWithParam<std::string> {
 protected:
  std::string yaml() const {
    if (GetParam() == "linear_features") return "{epochs: 40, batch_size: 20, learning_rate: 0.3}";
    return GetParam().starts_with("linear") ? "{epochs: 15, batch_size: 20, learning_rate: 0.3, views: eval}" : "{}";
  }
  std::string prefix() const { return GetParam() == "linear_dcl" || GetParam() == "linear_supcon" ? "linear" : GetParam(); }
};

TEST_P(EveryProtocol, IsRightOnASeparableToy) {
  const EvaluationResult result = evaluated(toy_input(), GetParam(), yaml());
  const std::string name = "test." + prefix() + "_acc1";
  EXPECT_EQ(result.metrics.at(name), 1.0);
  EXPECT_EQ(result.metrics.at("test." + prefix() + "_acc5"), 1.0);
  EXPECT_EQ(details(result)["protocol"], GetParam());
  EXPECT_EQ(details(result)["metrics"][name], 1.0);
  EXPECT_EQ(details(result)["counts"]["train"], 60);
  EXPECT_EQ(details(result)["counts"]["test"], 31);
  EXPECT_EQ(details(result)["classes"], 3);
}

TEST_P(EveryProtocol, GivesTheSameNumbersAgainAndAnEncoderAsItCame) {
  EvaluationInput input = toy_input();
  input.encoder->train();
  toy(input).bn().eval();
  const EvaluationResult first = evaluated(input, GetParam(), yaml());
  input.workers = 2;
  EXPECT_EQ(details(evaluated(input, GetParam(), yaml())), details(first));
  EXPECT_TRUE(input.encoder->is_training());
  EXPECT_FALSE(toy(input).bn().is_training());
  EXPECT_TRUE(at::equal(toy(input).bn().running_mean, at::zeros({3})));
}

TEST_P(EveryProtocol, EvaluatesAValidSetToo) {
  EvaluationInput input = toy_input();
  input.valid = std::make_shared<ToyDataset>(20, 3, "held_out");
  const EvaluationResult result = evaluated(input, GetParam(), yaml());
  EXPECT_EQ(result.metrics.count("valid." + prefix() + "_acc1"), 1u);
  EXPECT_EQ(details(result)["counts"]["valid"], 20);
}

TEST_P(EveryProtocol, ChecksItsOptionsBeforeAnythingRuns) {
  const auto& entry = find_entry(protocol_registry(), GetParam(), "protocol");
  EXPECT_NO_THROW(entry.read(Config()));
  EXPECT_THAT(usage_error_of([&] { entry.read(options("{kk: 3, epoch: 3}")); }), HasSubstr("unknown option 'kk'"));
  EXPECT_FALSE(entry.options.empty());
}

INSTANTIATE_TEST_SUITE_P(Protocols, EveryProtocol,
                         testing::Values("knn", "linear_dcl", "linear_supcon", "linear_features", "mean_classifier"),
                         [](const auto& test) { return test.param; });

TEST(Protocols, RefuseOneClassAndNoLabels) {
  EvaluationInput one_class = toy_input(), unlabelled = toy_input();
  const auto train = std::make_shared<ToyDataset>(60, 3), test = std::make_shared<ToyDataset>(4, 3, "test");
  for (int i = 0; i < 60; ++i) train->set_label(i, 2);
  for (int i = 0; i < 4; ++i) test->set_label(i, kUnknown);
  one_class.train = train;
  unlabelled.test = test;
  for (const std::string name : {"knn", "linear_dcl", "linear_supcon", "linear_features", "mean_classifier", "low_shot"}) {
    EXPECT_EQ(data_error_of([&] { evaluated(one_class, name); }),
              name + ": all labels of split 'train' of toy are of class 2 ('class2'); it needs at least two classes");
    EXPECT_EQ(data_error_of([&] { evaluated(unlabelled, name); }), name + ": split 'test' of toy has no labels to be evaluated by");
  }
}

TEST(Protocols, NameTheSampleWhoseFeatureIsNotFinite) {
  const EvaluationInput input = toy_input();
  toy(input).poison = NAN;
  for (const char* name : {"knn", "linear_dcl", "linear_supcon", "linear_features", "mean_classifier", "tsne"}) {
    EXPECT_THAT(error_of(ErrorKind::kNumeric, [&] { evaluated(input, name); }), HasSubstr(".png) is not finite")) << name;
  }
}

TEST(Protocols, LinearIsShortForLinearDcl) { EXPECT_EQ(find_entry(protocol_registry(), "linear", "protocol").name, "linear_dcl"); }

TEST(KnnProtocol, TakesItsTemperatureFromTraining) {
  EvaluationInput input = toy_input();
  input.training_temperature = 0.07;
  EXPECT_EQ(details(evaluated(input, "knn"))["options"]["temperature"], 0.07);
  EXPECT_EQ(details(evaluated(input, "knn", "{temperature: 0.2}"))["options"]["temperature"], 0.2);
  EXPECT_EQ(details(evaluated(input, "knn"))["options"]["k"], 60);
}

TEST(KnnProtocol, CountsOnlyLabelledImagesInItsGallery) {
  EvaluationInput input = toy_input();
  const auto train = std::make_shared<ToyDataset>(60, 3);
  for (int i = 0; i < 50; ++i) train->set_label(i, kUnknown);
  input.train = train;
  EXPECT_EQ(details(evaluated(input, "knn"))["options"]["k"], 10);
  EXPECT_THAT(usage_error_of([&] { evaluated(input, "knn", "{k: 11}"); }), HasSubstr("gallery of 10 labelled images"));
}

TEST(KnnProtocol, ReportsAlignedAndConflictingAccuracyWhereThereIsABias) {
  EvaluationInput input = toy_input();
  EXPECT_EQ(evaluated(input, "knn").metrics.count("test.aligned_acc"), 0u);
  const auto test = std::make_shared<ToyDataset>(6, 3, "test");
  for (int i = 0; i < 6; ++i) test->set_bias(i, i < 4 ? i % 3 : (i + 1) % 3);
  test->set_label(5, 0);  // its picture is of class 2: wrong, and its bias 0 is now aligned
  input.test = test;
  const EvaluationResult without = evaluated(input, "knn");  // nothing says which value goes with a class
  EXPECT_FALSE(without.metrics.contains("test.aligned_acc"));
  EXPECT_EQ(details(without)["notes"].size(), 1u);
  const auto train = std::make_shared<ToyDataset>(60, 3);
  for (int i = 0; i < 60; ++i) train->set_bias(i, i % 3);
  input.train = train;
  const auto metrics = evaluated(input, "knn").metrics;
  EXPECT_DOUBLE_EQ(metrics.at("test.aligned_acc"), 0.8);
  EXPECT_DOUBLE_EQ(metrics.at("test.conflicting_acc"), 1.0);
  EXPECT_DOUBLE_EQ(metrics.at("test.knn_acc1"), 5.0 / 6);
}

// Running averages that fit nothing: in eval mode the features are almost constant, by the batch and with averages that follow they are
// not.
TEST(LinearDcl, BatchNormInTrainModeEvaluatesWithTheAlteredAveragesAndLeavesTheEncoderAlone) {
  EvaluationInput input = toy_input();
  input.encoder->eval();
  toy(input).bn().running_var.fill_(1e8);
  const std::string common = "epochs: 30, batch_size: 8, learning_rate: 0.05, views: eval";
  const auto clean = evaluated(input, "linear_dcl", "{" + common + "}").metrics;
  const auto parity = evaluated(input, "linear_dcl", "{bn: train, " + common + "}").metrics;
  EXPECT_LT(clean.at("test.linear_acc1"), 0.9);
  EXPECT_EQ(parity.at("test.linear_acc1"), 1.0);
  EXPECT_TRUE(at::equal(toy(input).bn().running_var, at::full({3}, 1e8)));
  EXPECT_EQ(toy(input).bn().num_batches_tracked.item<int64_t>(), 0);
  EXPECT_FALSE(toy(input).bn().is_training());
}

TEST(LinearDcl, TrainsOnTheRecipesViewsUnlessGivenOthers) {
  EvaluationInput input = toy_input();
  input.train_views = read_views(options("{preset: lin32, random_resized_crop: {size: 6}}"));
  const auto loss = [&](const std::string& yaml) { return details(evaluated(input, "linear_dcl", yaml))["train_loss"].get<double>(); };
  const double own = loss("{epochs: 2}");
  EXPECT_EQ(loss("{epochs: 2, views: train}"), own);
  EXPECT_NE(loss("{epochs: 2, views: eval}"), own);
  EXPECT_NE(loss("{epochs: 2, views: train, seed: 2}"), own);
  input.seed = 2;
  EXPECT_EQ(loss("{epochs: 2, views: train, seed: 1}"), own);
}

TEST(LinearSupcon, ReportsTheBestEpochAndTheLastAndSaysWhatChoseIt) {
  EvaluationInput input = toy_input();
  // Too large a step makes the last epochs no better than the first.
  const std::string yaml = "{epochs: 10, batch_size: 8, learning_rate: 30, momentum: 0, gamma: 1, views: eval}";
  const auto by_test = evaluated(input, "linear_supcon", yaml);
  EXPECT_EQ(details(by_test)["selected_on"], "test");
  EXPECT_GE(by_test.metrics.at("test.linear_acc1"), by_test.metrics.at("test.linear_last_acc1"));
  input.valid = std::make_shared<ToyDataset>(20, 3, "held_out");
  const auto by_valid = evaluated(input, "linear_supcon", yaml);
  EXPECT_EQ(details(by_valid)["selected_on"], "valid");
  EXPECT_GE(by_valid.metrics.at("valid.linear_acc1"), by_valid.metrics.at("valid.linear_last_acc1"));
}

// With gamma tiny nothing moves after the first milestone (6 of 10 epochs): the loss of the last epoch is that of a run that lasts 7.
TEST(LinearSupcon, StepsDownAfterSixtyPercentOfTheEpochs) {
  const EvaluationInput input = toy_input();
  const auto best = [&](int64_t epochs, double gamma) {
    return details(evaluated(input, "linear_supcon",
                             fmt::format("{{epochs: {}, batch_size: 60, learning_rate: 0.01, momentum: 0, gamma: {}, views: eval}}", epochs,
                                         gamma)))["train_loss"]
        .get<double>();
  };
  EXPECT_NEAR(best(10, 1e-12), best(7, 1), 1e-6);  // 6 steps before the loss of the 7th epoch is measured
  EXPECT_GT(best(10, 1e-12), best(10, 1) + 1e-4);
}

// As above, at a milestone of one's own.
TEST(LinearSupcon, StepsDownAtItsMilestones) {
  const EvaluationInput input = toy_input();
  const auto loss = [&](int64_t epochs, double gamma, const std::string& more) {
    return details(evaluated(input, "linear_supcon",
                             fmt::format("{{epochs: {}, batch_size: 60, learning_rate: 0.01, momentum: 0, gamma: {}, views: eval{}}}",
                                         epochs, gamma, more)))["train_loss"]
        .get<double>();
  };
  EXPECT_NEAR(loss(10, 1e-12, ", milestones: [3]"), loss(4, 1, ""), 1e-6);
  EXPECT_EQ(loss(10, 0.2, ", milestones: [6, 8, 9]"), loss(10, 0.2, ""));  // 60, 75 and 90 %
  EXPECT_EQ(loss(10, 0.2, ", milestones: auto"), loss(10, 0.2, ""));
}

TEST(LinearSupcon, RefusesMilestonesThatDoNotIncreaseWithinItsEpochs) {
  const auto refusal = [](const std::string& yaml) { return usage_error_of([&] { evaluated(toy_input(), "linear_supcon", yaml); }); };
  EXPECT_THAT(refusal("{epochs: 60, milestones: [30, 40, 60]}"),
              HasSubstr("milestones: 60 does not come before the last of 60 epochs; lower it, or raise epochs"));
  EXPECT_THAT(refusal("{epochs: 60, milestones: [40, 30]}"), HasSubstr("milestones: they do not increase; sort them"));
  EXPECT_THAT(refusal("{epochs: 60, milestones: []}"), HasSubstr("milestones: none is given"));
  EXPECT_THAT(refusal("{epochs: 60, milestones: [0, 30]}"), HasSubstr("out of range"));
  EXPECT_THAT(refusal("{epochs: 60, milestone: [30]}"), HasSubstr("did you mean 'milestones'?"));
}

TEST(LinearSupcon, DefaultViewsAreCropsAndFlips) {
  EvaluationInput input = toy_input();
  input.train_views = read_views(options("{preset: sim32, random_resized_crop: {size: 6}}"));
  const auto loss = [&](const std::string& yaml) { return details(evaluated(input, "linear_supcon", yaml))["train_loss"].get<double>(); };
  const double own = loss("{epochs: 1}");
  EXPECT_EQ(loss("{epochs: 1, views: crop_flip}"), own);
  EXPECT_NE(loss("{epochs: 1, views: train}"), own);
  EXPECT_NE(loss("{epochs: 1, views: eval}"), own);
}

TEST(LinearFeatures, StopsWhenTheLossStallsAndDropsAPartialBatch) {
  const EvaluationInput input = toy_input();
  const auto details_of = [&](const std::string& yaml) { return details(evaluated(input, "linear_features", yaml)); };
  EXPECT_EQ(details_of("{learning_rate: 0, patience: 3}")["epochs"], 4);  // the first epoch is the lowest
  EXPECT_EQ(details_of("{learning_rate: 0, patience: 0, epochs: 7}")["epochs"], 7);
  // 60 images in batches of 59 leave one out; in batches of 61 none.
  EXPECT_NE(details_of("{epochs: 1, batch_size: 59}")["train_loss"], details_of("{epochs: 1, batch_size: 60}")["train_loss"]);
  EXPECT_EQ(details_of("{epochs: 1, batch_size: 61}")["train_loss"], details_of("{epochs: 1, batch_size: 60}")["train_loss"]);
}

TEST(LinearFeatures, EvaluatesNormalisedFeaturesWhenAsked) {
  const EvaluationInput input = toy_input();
  const auto loss = [&](const std::string& yaml) { return details(evaluated(input, "linear_features", yaml))["train_loss"].get<double>(); };
  EXPECT_NE(loss("{epochs: 1, normalize: true}"), loss("{epochs: 1}"));
}

TEST(EvaluationCache, ExtractsEachSetOnce) {
  class CountingEncoder : public ToyEncoder {
   public:
    torch::Tensor forward(const torch::Tensor& images) override {
      ++batches;
      return ToyEncoder::forward(images);
    }
    int batches = 0;
  };
  EvaluationInput input = toy_input();
  const auto encoder = std::make_shared<CountingEncoder>();
  input.encoder = encoder;
  EvaluationCache features(input, Progress::silent());
  features.train();
  features.test();
  EXPECT_EQ(&features.train(), &features.split("train"));
  EXPECT_EQ(encoder->batches, 2);
  EXPECT_EQ(usage_error_of([&] { features.valid(); }), "evaluate: there is no valid set; give data.valid");
}

}  // namespace
}  // namespace debias

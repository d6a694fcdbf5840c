#include "debias/train/recipe/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/error.h"
#include "debias/data/dataset_registry.h"
#include "debias/encoders/encoder.h"
#include "debias/train/loop/trainer.h"
#include "debias/train/methods/term.h"
#include "tests/support/refusals.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace recipe_test {

using testing::HasSubstr;

void resolve(const std::string& word) {
  const Recipe recipe = read_recipe(changed(small_config("out"), {word}));
  resolve_recipe(recipe, *recipe.train_data.make_images());
}

std::string refusal(const std::string& word) {
  return usage_error_of([&] { resolve(word); });
}

TEST(Recipe, ResolvingWritesEveryDefaultAndChangesNothingTheSecondTime) {
  const Recipe recipe = read_recipe(small_config("out"));
  const auto dataset = recipe.train_data.make_images();
  const Config once = resolve_recipe(recipe, *dataset);
  EXPECT_NE(once.find("train")->find("prefetch"), nullptr);
  EXPECT_EQ(once.find("objective")->items()[0].find("temperature")->text(), "0.5");
  const Recipe again = read_recipe(parse_yaml(once.to_yaml(), "config.yaml"));
  EXPECT_EQ(resolve_recipe(again, *again.train_data.make_images()).to_yaml(), once.to_yaml());
}

TEST(Recipe, EachMistakeNamesItsSection) {
  EXPECT_EQ(refusal("encodr=resnet18"), "command line: recipe: unknown section 'encodr'; did you mean 'encoder'?");
  EXPECT_EQ(refusal("train.epoch=3"), "command line: train: unknown option 'epoch'; did you mean 'epochs'?");
  EXPECT_EQ(refusal("train.batch_size=0"), "command line: train: batch_size: 0 is out of range; give a value in [1, 1048576]");
  EXPECT_EQ(refusal("objective.tau_pls=0.1").find("command line: objective 'debiased_negatives'"), 0u) << refusal("objective.tau_pls=0.1");
  EXPECT_EQ(refusal("objective.name=infonc"), "command line: unknown objective 'infonc'; did you mean 'infonce'?");
  EXPECT_EQ(refusal("views.count=1"),
            "small.yaml:9: objective 'debiased_negatives' needs at least 2 views of each image, views.count is 1");
  EXPECT_EQ(refusal("train.device=gpu").find("command line: train: device: unknown value 'gpu'"), 0u) << refusal("train.device=gpu");
  EXPECT_EQ(refusal("train.micro_batch=17"), "train: micro_batch: 17 is larger than batch_size 16");
  EXPECT_EQ(refusal("evaluate={select: test.knn_acc1}").find("command line: evaluate: select"), 0u);
  EXPECT_EQ(refusal("evaluate.select=test.knn_acc1").find("command line: evaluate: select"), 0u);
  EXPECT_EQ(refusal("evaluate={knn: {kk: 5}}"), "command line: evaluate: knn: unknown option 'kk'; did you mean 'k'?");
  EXPECT_EQ(refusal("optimizer.name=adma"), "command line: unknown optimizer 'adma'; did you mean 'adam'?");
  EXPECT_EQ(refusal("encoder.name=resnet19").find("command line: unknown encoder 'resnet19'"), 0u) << refusal("encoder.name=resnet19");
  EXPECT_EQ(refusal("data.train.name=digit").find("command line: unknown data set 'digit'"), 0u) << refusal("data.train.name=digit");
  EXPECT_THAT(refusal("data.train.corelation=1"), HasSubstr("did you mean 'correlation'?"));
}

TEST(Recipe, OptionsOfProtocolsAreResolvedAsTheyAreWritten) {
  const Recipe recipe = read_recipe(changed(small_config("out"), {"evaluate={linear: {views: eval}, protocols: [linear], knn: {k: 5}}"}));
  const Config evaluate = *resolve_recipe(recipe, *recipe.train_data.make_images()).find("evaluate");
  EXPECT_THAT(evaluate.to_yaml(), testing::EndsWith("linear:\n  views: eval\nknn:\n  k: 5\n"));
}

TEST(Recipe, AClassifierIsResolvedByHeadAndGradient) {
  const auto resolved = [](const std::string& head, const std::string& classifier) {
    const Recipe recipe = read_recipe(changed(small_config("out"), {"head=" + head, "classifier=" + classifier}));
    return resolve_recipe(recipe, *recipe.train_data.make_images()).find("classifier")->to_json().dump();
  };
  EXPECT_EQ(resolved("simclr", "linear"), R"({"name":"linear","learning_rate":0.001,"gradient":"stop","normalize":false})");
  EXPECT_EQ(resolved("none", "{name: linear, gradient: flow}"),
            R"({"name":"linear","learning_rate":"auto","gradient":"flow","normalize":true})");
  EXPECT_EQ(resolved("none", "{name: linear, normalize: false, learning_rate: 0.5}"),
            R"({"name":"linear","learning_rate":0.5,"gradient":"stop","normalize":false})");
  EXPECT_EQ(refusal("classifier=liner"), "command line: unknown classifier 'liner'; did you mean 'linear'?");
  EXPECT_EQ(refusal("classifier={name: linear, rate: 1}").find("command line: classifier 'linear': unknown option 'rate'"), 0u)
      << refusal("classifier={name: linear, rate: 1}");
}

TEST(Recipe, TermsOnLogitsNeedAFlowingClassifier) {
  const std::string ask = "reads logits; add classifier: {name: linear, gradient: flow}";
  EXPECT_EQ(refusal("objective={name: cross_entropy}"), "command line: objective 'cross_entropy' " + ask);
  Config root = changed(small_config("out"), {"classifier=linear", "objective=[infonce, {name: ce}]"});
  EXPECT_THROW(read_recipe(root), Error);
  root.assign("classifier.gradient=flow");
  EXPECT_EQ(read_recipe(root).objective[0].options.on, TermInput::kProjection);
  EXPECT_EQ(read_recipe(root).objective[1].options.on, TermInput::kLogits);
  root.assign("objective=[{name: ce, 'on': encoder}]");
  EXPECT_THAT(usage_error_of([&] { read_recipe(root); }), HasSubstr("objective 'cross_entropy' works on logits"));
}

TEST(Recipe, ScheduledValuesAreCheckedAtEveryEpochAndStaySchedules) {
  EXPECT_EQ(refusal("objective.tau_plus={schedule: steps, values: {0: 0.1, 2: 1}}"),
            "command line: objective 'debiased_negatives': tau_plus: 1 is out of range; give a value in [0, 1) (in epoch 2 of the "
            "schedules, counted from 0)");
  EXPECT_NO_THROW(resolve("objective.tau_plus={schedule: steps, values: {0: 0.1, 3: 1}}"));  // the run has three epochs
  EXPECT_EQ(refusal("objective.clamp={schedule: linear, from: 0, to: 1}"),
            "command line: objective 'debiased_negatives': clamp: a schedule gives numbers, this takes a word");
  EXPECT_EQ(refusal("objective.tau_pls={schedule: linear, from: 0, to: 1}").find("command line: objective 'debiased_negatives': unknown"),
            0u);
  Config root =
      changed(small_config("out"),
              {"objective={name: bcl, alpha: {schedule: linear, from: 0.5, to: 0.7}, weight: {schedule: cosine, from: 1, to: 0}}"});
  const Recipe recipe = read_recipe(root);
  const auto dataset = recipe.train_data.make_images();
  auto terms = make_terms(recipe, *dataset);
  terms[0].begin_epoch(1);
  EXPECT_NEAR(terms[0].weight(), 0.5, 1e-12);
  EXPECT_EQ(terms[0].objective().config().find("alpha")->text(), "0.6");
  EXPECT_EQ(terms[0].label(), "bayesian");
  ASSERT_EQ(terms[0].scheduled().size(), 2u);
  EXPECT_NEAR(terms[0].scheduled()[0].second, 0.6, 1e-12);
  const Config resolved = resolve_recipe(recipe, *dataset);
  EXPECT_EQ(resolved.find("objective")->items()[0].find("weight")->find("schedule")->text(), "cosine");
  EXPECT_EQ(resolve_recipe(read_recipe(parse_yaml(resolved.to_yaml(), "config.yaml")), *dataset).to_yaml(), resolved.to_yaml());
}

TEST(Recipe, ASourceFitsItsOptionAndIsWrittenOut) {
  const std::string tau = "command line: objective 'debiased_negatives': tau_plus";
  EXPECT_NO_THROW(resolve("objective.tau_plus={from: prior, every: 5}"));
  EXPECT_EQ(refusal("objective.tau_plus={from: priors}"), tau + ": from: unknown source 'priors'; did you mean 'prior'?");
  EXPECT_EQ(refusal("objective.tau_plus={from: macro_auc}"),
            tau + ": from: macro_auc estimates the alpha of 'bayesian', not this; write from: prior or from: marks");
  EXPECT_EQ(refusal("objective={name: end, alpha: {from: macro_auc}}"),
            "command line: objective 'end': alpha: from: macro_auc estimates the alpha of 'bayesian', not this; give a value or "
            "a schedule");
  EXPECT_EQ(
      refusal("objective.weight={from: prior}"),
      "command line: objective 'debiased_negatives': weight: from: prior estimates the tau_plus, not this; give a value or a schedule");
  EXPECT_EQ(
      refusal("objective={name: infonce, tau_plus: {from: prior}}").find("command line: objective 'infonce': unknown option 'tau_plus'"),
      0u);
  EXPECT_EQ(refusal("objective.tau_plus={from: prior, evry: 5}"), tau + ": unknown option 'evry'; did you mean 'every'?");
  EXPECT_EQ(refusal("objective.tau_plus={from: prior, every: 0}"), tau + ": every: 0 is out of range; give a value in [1, 1000000]");
  EXPECT_EQ(refusal("objective.tau_plus={from: prior, start: 1}"), tau + ": 1 is out of range; give a value in [0, 1)");
  EXPECT_THAT(refusal("objective.tau_plus={from: 0.2, to: 0.1}"), HasSubstr("expected a value, or a schedule"));
  EXPECT_THAT(refusal("objective={name: bayesian, form: authors, beta: 1, alpha: {from: macro_auc}}"),
              HasSubstr("(at the upper end of what `from`"));
  Config root =
      changed(small_config("out"), {"objective={name: bcl, alpha: {from: macro_auc, every: 2}, tau_plus: {from: prior, start: 0.05}}"});
  const Recipe recipe = read_recipe(root);
  const auto dataset = recipe.train_data.make_images();
  const Config resolved = resolve_recipe(recipe, *dataset);
  EXPECT_EQ(resolved.find("objective")->items()[0].find("alpha")->to_json().dump(), R"({"from":"macro_auc","every":2,"start":0.7})");
  EXPECT_EQ(resolved.find("objective")->items()[0].find("tau_plus")->to_json().dump(), R"({"from":"prior","every":1,"start":0.05})");
  EXPECT_EQ(resolve_recipe(read_recipe(parse_yaml(resolved.to_yaml(), "config.yaml")), *dataset).to_yaml(), resolved.to_yaml());
}

TEST(Recipe, AnEstimateIsTakenWhenDueClampedAndInForceFromTheNextEpoch) {
  const Recipe recipe = read_recipe(changed(small_config("out"), {"objective.tau_plus={from: prior, every: 2, start: 0.3}"}));
  auto terms = make_terms(recipe, *recipe.train_data.make_images());
  Term& term = terms[0];
  const auto in_force = [&](int64_t epoch) {
    term.begin_epoch(epoch);
    EXPECT_EQ(term.scheduled().at(0).first, "tau_plus");
    EXPECT_EQ(term.objective().config().find("tau_plus")->text(), fmt::format("{}", term.scheduled()[0].second));
    return term.scheduled()[0].second;
  };
  EXPECT_EQ(in_force(0), 0.3);
  EXPECT_TRUE(term.take_estimates(1, {{"estimate.prior", 0.2}}).empty());  // not due
  EXPECT_EQ(in_force(1), 0.3);
  EXPECT_TRUE(term.take_estimates(2, {{"train_loss", 5}, {"estimate.prior", 0.2}}).empty());
  EXPECT_EQ(term.scheduled()[0].second, 0.3);
  EXPECT_EQ(in_force(2), 0.2);
  EXPECT_EQ(term.take_estimates(4, {{"estimate.prior", 1}}).at(0),
            "debiased_negatives.tau_plus: the estimate 1 of 'prior' after epoch 4 is outside [0, 0.99] and is taken as 0.99");
  EXPECT_EQ(in_force(4), 0.99);
  const std::string none = "debiased_negatives.tau_plus: no estimate by 'prior' after epoch 6: the current value stays";
  EXPECT_EQ(term.take_estimates(6, {}).at(0), none);
  EXPECT_EQ(term.take_estimates(6, {{"estimate.prior", std::nan("")}}).at(0), none);
  EXPECT_EQ(in_force(6), 0.99);
}

TEST(Recipe, ABoundLowersTheStartAndNeverRaisesIt) {
  const Recipe recipe = read_recipe(changed(small_config("out"), {"objective.tau_plus={from: prior, start: 0.3}"}));
  auto terms = make_terms(recipe, *recipe.train_data.make_images());
  for (const auto& [bound, in_force] : {std::pair{1.0, 0.3}, {0.2, 0.2}, {0.25, 0.25}, {0.4, 0.3}}) {
    EXPECT_TRUE(terms[0].take_estimates(1, {{"bound.prior", bound}}).empty());
    EXPECT_EQ(terms[0].estimates().at("tau_plus"), in_force);
  }
}

TEST(Recipe, WhatIsRoundedIsSaid) {
  EXPECT_EQ(rounding(TrainOptions()), "network float32; losses float32");
  EXPECT_EQ(rounding(TrainOptions{.precision = Precision::kBf16}).find("network bfloat16"), 0u);
  EXPECT_EQ(rounding(TrainOptions{.tf32 = true}), "network float32, with TF32 for products and convolutions on a GPU; losses float32");
  EXPECT_THAT(rounding(TrainOptions{.precision = Precision::kBf16}), HasSubstr("; losses float32"));
  EXPECT_THAT(rounding(TrainOptions{.loss_precision = Precision::kBf16}), HasSubstr("products of embeddings and pair weights in bfloat16"));
}

// Out of place at epoch 1 one by one, though neither is at any epoch with the other's value of then.
TEST(Recipe, TwoSchedulesOfATermAreTakenTogether) {
  const Recipe recipe = read_recipe(changed(
      small_config("out"),
      {"train.epochs=2",
       "objective={name: bayesian, form: authors, alpha: {schedule: steps, values: {0: 1, 1: 0.6}}, beta: {schedule: steps, values: {0: "
       "0.6, 1: 1}}}"}));
  auto terms = make_terms(recipe, *recipe.train_data.make_images());
  for (const int64_t epoch : {0, 1, 0}) terms[0].begin_epoch(epoch);
  EXPECT_EQ(terms[0].objective().config().find("alpha")->text(), "1");
}

class Unlabelled : public Dataset {
 public:
  Unlabelled(bool labels, bool bias) {
    info_.name = "plain";
    info_.split = "train";
    if (labels) info_.class_names = {"a", "b"};
    if (bias) info_.bias_names = {"red"};
  }
  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return 4; }
  Sample get(int64_t) const override { return {}; }
  std::string source(int64_t) const override { return ""; }

 private:
  DatasetInfo info_;
};

void make_term(const std::string& objective, const Dataset& dataset) {
  make_terms(read_recipe(changed(small_config("out"), {"classifier={name: linear, gradient: flow}", "objective=" + objective})), dataset);
}

std::string refusal_of(const std::string& objective, const Dataset& dataset) {
  return usage_error_of([&] { make_term(objective, dataset); });
}

TEST(Recipe, ObjectivesAskTheDataSetForWhatTheyNeed) {
  const Unlabelled none(false, false), labels(true, false);
  EXPECT_EQ(refusal_of("{name: eps_supcon}", none),
            "command line: objective 'eps_supcon' needs labels, data set 'plain' (split train) has none; choose a labelled set or another "
            "objective");
  EXPECT_THAT(refusal_of("{name: infonce, drop_false_negatives: true}", none), HasSubstr("'infonce' needs labels"));
  EXPECT_NO_THROW(make_term("{name: infonce}", none));
  EXPECT_THAT(refusal_of("{name: biascon}", labels), HasSubstr("'biascon' needs bias labels, data set 'plain' (split train) has none"));
  EXPECT_THAT(refusal_of("{name: fairkl}", labels), HasSubstr("'fairkl' needs bias labels or bias_features: FILE.npy"));
  EXPECT_NO_THROW(make_term("{name: fairkl, bias_features: g.npy}", labels));
  EXPECT_THAT(refusal_of("{name: supcon, bias_features: g.npy}", labels), HasSubstr("'supcon': bias_features: it reads none"));
  for (const auto& entry : objective_registry()) {
    const std::string objective = "{name: " + entry.name + "}";
    if (entry.needs_labels || entry.needs_bias) {
      EXPECT_THAT(refusal_of(objective, none), HasSubstr(fmt::format("'{}' needs ", entry.name))) << entry.name;
    } else {
      EXPECT_NO_THROW(make_term(objective, none)) << entry.name;
    }
  }
}

TEST(Recipe, MissingSectionsAreNamed) {
  for (const char* section : {"data", "encoder", "objective"}) {
    Config root = small_config("out");
    root.erase(section);
    EXPECT_THAT(usage_error_of([&] { read_recipe(root); }), HasSubstr(std::string("no '") + section + "' section"));
  }
}

TEST(Recipe, HeldOutImagesAreThoseOfTheTrainEntry) {
  const Recipe recipe =
      read_recipe(changed(small_config("out"), {"data.train.hold_out=20", "data.train.seed=5",
                                                "data.valid={name: glyphs, size: 16, train_count: 96, split: held_out}"}));
  EXPECT_EQ(recipe.valid_data->section.find("hold_out")->text(), "20");
  EXPECT_EQ(recipe.valid_data->section.find("seed")->text(), "5");
  EXPECT_EQ(recipe.valid_data->make_images()->size(), 20);
  EXPECT_EQ(recipe.train_data.make_images()->size(), 76);
}

TEST(Recipe, TextsAreReadAsThoseOfTrainingUnlessTheirSectionSaysOtherwise) {
  Config root = small_config("out");
  root.set("data", parse_yaml("train: {name: sentences, root: books, vocabulary: words.txt, lowercase: true, max_tokens: 20, hold_out: 1}\n"
                              "valid: {split: held_out}\n"
                              "test: {name: sentences, root: others, max_tokens: 30}\n",
                              "recipe.yaml"));
  const Recipe recipe = read_recipe(root);
  for (const auto& data : {*recipe.valid_data, *recipe.test_data}) {
    EXPECT_EQ(data.label_file, "words.txt");
    EXPECT_EQ(data.resolved().find("lowercase")->text(), "true");
  }
  EXPECT_EQ(recipe.valid_data->resolved().find("max_tokens")->text(), "20");
  EXPECT_EQ(recipe.test_data->resolved().find("max_tokens")->text(), "30");
}

// The pixels of the first images.
std::vector<uint8_t> drawn_pixels(const std::string& seed_of_data, int64_t seed_of_run) {
  Config root = small_config("out");
  if (!seed_of_data.empty()) root.assign("data.train.seed=" + seed_of_data);
  root.assign(fmt::format("seed={}", seed_of_run));
  const auto samples = read_recipe(root).train_data.make_images();
  const auto& dataset = dynamic_cast<const Dataset&>(*samples);
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < 4; ++i) {
    const std::vector<uint8_t> image = dataset.get(i).image.pixels;
    pixels.insert(pixels.end(), image.begin(), image.end());
  }
  return pixels;
}

TEST(Recipe, DataWithSeedRunAreDrawnByTheRunsSeed) {
  EXPECT_EQ(drawn_pixels("run", 5), drawn_pixels("5", 1));
  EXPECT_NE(drawn_pixels("run", 5), drawn_pixels("run", 6));
  EXPECT_EQ(drawn_pixels("", 5), drawn_pixels("", 6));  // a number, 0 by default, draws once for all runs
}

TEST(Recipe, SeedRunStaysInTheResolvedRecipe) {
  const Recipe recipe =
      read_recipe(changed(small_config("out"), {"data.train.seed=run", "data.train.hold_out=20",
                                                "data.valid={name: glyphs, size: 16, train_count: 96, split: held_out}",
                                                "data.test={name: glyphs, size: 16, test_count: 20, split: test, seed: 7}"}));
  EXPECT_EQ(recipe.train_data.section.find("seed")->text(), "3");
  EXPECT_EQ(recipe.valid_data->section.find("seed")->text(), "3");  // as the train entry, whose images they are
  const Config resolved = resolve_recipe(recipe, *recipe.train_data.make_images());
  EXPECT_EQ(resolved.find("data")->find("train")->find("seed")->text(), "run");
  EXPECT_EQ(resolved.find("data")->find("valid")->find("seed")->text(), "run");
  EXPECT_EQ(resolved.find("data")->find("test")->find("seed")->text(), "7");
  const Recipe again = read_recipe(parse_yaml(resolved.to_yaml(), "config.yaml"));
  EXPECT_EQ(resolve_recipe(again, *again.train_data.make_images()).to_yaml(), resolved.to_yaml());
}

TEST(Recipe, HeldOutImagesOfAnotherSeedWouldBeTrainedOn) {
  Config root = changed(small_config("out"), {"data.train.hold_out=20", "data.train.seed=run",
                                              "data.valid={name: glyphs, size: 16, train_count: 96, split: held_out, seed: 0}"});
  EXPECT_EQ(usage_error_of([&] { read_recipe(root); }),
            "command line: data: split held_out with seed 0 has images that data.train, with seed run, trains on; leave its seed out");
  root.assign("data.valid.seed=run");
  EXPECT_NO_THROW(read_recipe(root));
}

TEST(Recipe, ASeedOfDataThatIsNoSeedIsRefused) {
  EXPECT_EQ(refusal("data.train.seed=rum"),
            "command line: data.train: seed: expected an integer, or run for the run's seed, found 'rum'; did you mean 'run'?");
  EXPECT_EQ(refusal("data.test={name: glyphs, split: test, seed: 1.5}"),
            "command line: data.test: seed: expected an integer, or run for the run's seed, found '1.5'");
  EXPECT_EQ(refusal("data.train.seed=[1, 2]"),
            "command line: data.train: seed: expected an integer, or run for the run's seed, found 'a list or map'");
  EXPECT_THAT(refusal("data.train.seed=-1"), HasSubstr("-1 is out of range"));
}

TEST(Recipe, ATermsWeightAndInputAreItsOwn) {
  const Recipe recipe =
      read_recipe(changed(small_config("out"), {"objective=[{name: infonce, weight: 0.5, 'on': encoder}, debiased_positives]"}));
  ASSERT_EQ(recipe.objective.size(), 2u);
  EXPECT_EQ(recipe.objective[0].options.weight, 0.5);
  EXPECT_EQ(recipe.objective[0].options.on, TermInput::kEncoder);
  EXPECT_EQ(recipe.objective[1].entry->name, "debiased_positives");
}

TEST(Recipe, WeightsBringTheirNormalisation) {
  const auto normalize = [](const std::vector<std::string>& words) {
    Config root = small_config("out");
    for (const auto& word : words) root.assign(word);
    const Recipe recipe = read_recipe(root);
    const auto& found = recipe.view_steps.normalize;
    return found ? write_value<std::vector<double>>(found->mean).to_json().dump() : "";
  };
  EXPECT_EQ(normalize({}), "");
  EXPECT_EQ(normalize({"encoder.weights=a.safetensors"}), "");
  EXPECT_EQ(normalize({"encoder={name: resnet18, stem: imagenet, weights: a.safetensors}"}), "[0.485,0.456,0.406]");
  EXPECT_EQ(normalize({"encoder={name: vit_small, weights: a.safetensors}"}), "[0.5,0.5,0.5]");
  EXPECT_EQ(normalize({"encoder.mean=[0.1]", "encoder.std=[0.2]"}), "[0.1]");
  EXPECT_EQ(normalize({"encoder={name: resnet18, stem: imagenet, weights: a.safetensors}", "views.normalize={mean: [0.3], std: [0.4]}"}),
            "[0.3]");
  EXPECT_EQ(normalize({"encoder={name: resnet18, stem: imagenet, weights: a.safetensors}", "views={steps: [rgb_to_lab: {}], count: 2}"}),
            "");
  Config root = changed(small_config("out"), {"encoder.mean=[0.1]", "encoder.std=[0.2]", "views.normalize={mean: [0.3], std: [0.4]}"});
  const std::string differ = "small.yaml:7: encoder: mean and std differ from those of views.normalize; leave one of the two out";
  EXPECT_EQ(usage_error_of([&] { read_recipe(root); }), differ);
  root.assign("views.normalize={mean: [0.1], std: [0.4]}");
  EXPECT_EQ(usage_error_of([&] { read_recipe(root); }), differ);
  root.assign("views.normalize={mean: [0.1], std: [0.2]}");
  EXPECT_NO_THROW(read_recipe(root));
}

}  // namespace recipe_test
}  // namespace debias

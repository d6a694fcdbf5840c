// What every registered protocol finds, from its record through a file to whoever reads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "debias/core/registry.h"
#include "debias/evaluate/protocol.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/evaluate/protocols/knn.h"
#include "debias/evaluate/protocols/linear_probe.h"
#include "debias/results/evaluation_record.h"
#include "tests/evaluate/sentence_toy.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"
#include "tests/support/registry_names.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace evaluation_record_test {

using testing::HasSubstr;

EvaluationInput input_with_biases() {
  const auto dataset = [](const std::string& split) {
    const auto made = std::make_shared<ToyDataset>(30, 3, split);
    for (int64_t i = 0; i < made->size(); ++i) made->set_bias(i, i < 20 ? i % 3 : (i + 1) % 3);
    made->editable_info().bias_names = {"red", "green", "blue"};
    return made;
  };
  EvaluationInput input = toy_input();
  input.train = dataset("train");
  input.valid = dataset("held_out");
  input.test = dataset("test");
  return input;
}

class EveryRegisteredProtocol : public testing::TestWithParam<std::string> {
 protected:
  static EvaluationResult found() {
    static const std::map<std::string, std::string> quick = {{"linear_dcl", "{epochs: 2, batch_size: 16, views: eval}"},
                                                             {"linear_supcon", "{epochs: 2, batch_size: 16, views: eval}"},
                                                             {"linear_features", "{epochs: 2}"},
                                                             {"groups", "{bootstrap: 5}"},
                                                             {"tsne", "{iterations: 3}"}};
    if (GetParam() == "clusterings") {
      const TemporaryFolder folder;
      std::ofstream rows(folder / "clusters.csv");
      rows << "path,tone\n";
      for (int i = 0; i < 30; ++i) rows << "toy/" << i << ".png," << i % 2 << "\n";
      rows.close();
      return evaluated(input_with_biases(), GetParam(), "{columns: [tone], min_count: 1, file: " + (folder / "clusters.csv") + "}");
    }
    if (find_entry(protocol_registry(), GetParam(), "protocol").reads == SampleKind::kSentences) {
      SentenceToy toy;
      return evaluated(toy.input(), GetParam(), GetParam() == "sentences" ? toy.task_options() : "{}");
    }
    const auto options = quick.find(GetParam());
    return evaluated(input_with_biases(), GetParam(), options == quick.end() ? "{}" : options->second);
  }
};

TEST_P(EveryRegisteredProtocol, DescribesEachOfItsMetrics) {
  const auto& described = find_entry(protocol_registry(), GetParam(), "protocol").metrics;
  const EvaluationResult result = found();
  EXPECT_FALSE(result.record.metrics.empty());
  for (const auto& [name, value] : result.record.metrics) {
    const std::string own = name.substr(name.find('.') + 1);
    EXPECT_TRUE(std::ranges::any_of(described, [&](const Metric& metric) { return describes(metric, own); })) << name;
  }
}

TEST_P(EveryRegisteredProtocol, IsReadBackFromItsFileAsItWas) {
  EvaluationRecord record = found().record;
  record.checkpoint = "last.safetensors";
  record.epoch = 3;
  record.evaluated = {{"test", {{"name", "toy"}}}};
  record.accepted_changes = {"test: 1 file"};
  record.recipe_changes = {{"views.eval.preset", "none"}, {"evaluate.knn.k", std::nullopt}};
  const TemporaryFolder folder;
  std::ofstream(folder / (GetParam() + "-other.json")) << to_json(record).dump(2);
  const auto read = read_evaluations(folder / "");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].data, "other");
  EXPECT_EQ(read[0].recipe_changes, record.recipe_changes);
  const auto without_order = [](const EvaluationRecord& of) { return nlohmann::json::parse(to_json(of).dump()); };
  EXPECT_EQ(without_order(read[0]), without_order(record));
}

INSTANTIATE_TEST_SUITE_P(Protocols, EveryRegisteredProtocol, testing::ValuesIn(names_of(protocol_registry())),
                         [](const auto& test) { return test.param; });

TEST(EvaluationRecord, ComesInTheOrderThatFilesHaveAlways) {
  EvaluationRecord record;
  record.protocol = "groups";
  record.metrics = {{"valid.acc1", 0.5}, {"test.worst_group_acc", kNotKnown}};
  record.class_count = 2;
  record.counts = {{"train", 4}, {"valid", 2}, {"test", 2}};
  record.aligned = AlignedValues{{{"dog", {"red"}}, {"cat", {}}}, "majority", 0.75, kNotKnown, {"first"}};
  record.notes = {"second"};
  record.intervals["valid.acc1"] = {0.25, 0.75};
  for (const char* split : {"valid", "test"}) {
    record.groups[split] = GroupTable{{"dog"}, {"red"}, {{1}}, {{kNotKnown}}, {}};
    record.classes[split] = ClassTable{{"dog"}, {1}, {1}, {1}, {{1}}};
  }
  const std::string table = R"({"labels":["dog"],"biases":["red"],"count":[[1]],"accuracy":[[null]],"confusion":[[1]],)"
                            R"("per_class":{"dog":{"count":1,"predicted":1,"accuracy":1.0}}})";
  EXPECT_EQ(to_json(record).dump(),
            R"({"protocol":"groups","metrics":{"valid.acc1":0.5,"test.worst_group_acc":null},"options":{},"classes":2,)"
            R"("counts":{"train":4,"valid":2,"test":2},"aligned":{"dog":["red"],"cat":[]},"aligned_by":"majority",)"
            R"("aligned_share":0.75,"aligned_share_by_chance":null,"notes":["first","second"],)"
            R"("intervals":{"valid.acc1":[0.25,0.75]},"groups":{"valid":)" +
                table + R"(,"test":)" + table + "}}");
}

// Protocols as recipes and commands choose them: by name or alias, with options that are laid over one another.

ChosenProtocols read(const std::string& yaml, const std::vector<std::string>& requested = {}) {
  return read_protocols(SampleKind::kImages, requested, parse_yaml(yaml, "recipe.yaml"));
}

ChosenProtocol asked(const std::string& name, const std::string& yaml) {
  return read_protocol(protocol_for(SampleKind::kImages, name), options(yaml), name);
}

TEST(ChosenProtocol, RequestedOptionsReplaceThoseOfTheRecipe) {
  const ChosenProtocols recipe = read("{knn: {k: 5, temperature: 0.2}}");
  const ChosenProtocol both = asked("knn", "{k: 3, examples: 0}").over(recipe.of("knn"));
  EXPECT_EQ(*both.as<KnnOptions>().k, 3);
  EXPECT_EQ(*both.as<KnnOptions>().temperature, 0.2);
  EXPECT_EQ(both.section.to_json().dump(), R"({"k":3,"temperature":0.2,"examples":0})");
  EXPECT_EQ(*recipe.of("knn").as<KnnOptions>().k, 5);
}

TEST(ChosenProtocol, OptionsTogetherAreCheckedTogether) {
  const ChosenProtocols recipe = read("linear_supcon:\n  milestones: [30, 40]\n");
  EXPECT_EQ(usage_error_of([&] { asked("linear_supcon", "{epochs: 40}").over(recipe.of("linear_supcon")); }),
            "recipe.yaml:1: linear_supcon: milestones: 40 does not come before the last of 40 epochs; lower it, or raise epochs");
}

TEST(ChosenProtocols, AnAliasNamesTheSameProtocolAndStaysAsWritten) {
  const ChosenProtocols recipe = read("{linear: {epochs: 3}, knn: {}}");
  EXPECT_EQ(recipe.of("linear_dcl").as<LinearDclOptions>().epochs, 3);
  EXPECT_EQ(recipe.of("linear").entry->name, "linear_dcl");
  EXPECT_EQ(recipe.section().to_json().dump(), R"({"linear":{"epochs":3},"knn":{}})");
  EXPECT_EQ(asked("linear", "{}").over(recipe.of("linear")).name, "linear");
  EXPECT_EQ(read("{linear: {epochs: 3}, linear_dcl: {epochs: 4}}").of("linear").as<LinearDclOptions>().epochs, 4);
}

TEST(ChosenProtocols, OneThatIsNotWrittenHasItsDefaults) {
  const ChosenProtocol knn = ChosenProtocols().of("knn");
  EXPECT_EQ(knn.as<KnnOptions>().examples, KnnOptions{}.examples);
  EXPECT_TRUE(knn.section.entries().empty());
  EXPECT_EQ(usage_error_of([] { ChosenProtocols().of("kn"); }), "unknown protocol 'kn'; did you mean 'knn'?");
}

TEST(ChosenProtocols, MistakesNameTheirPlace) {
  const auto refusal = [](const std::string& yaml) { return usage_error_of([&] { read(yaml); }); };
  EXPECT_EQ(refusal("knn:\n  k: 5\n  kk: 5\n"), "recipe.yaml:3: evaluate: knn: unknown option 'kk'; did you mean 'k'?");
  EXPECT_EQ(refusal("linear:\n  epoch: 5\n"), "recipe.yaml:2: evaluate: linear: unknown option 'epoch'; did you mean 'epochs'?");
  EXPECT_EQ(refusal("linear:\n  epochs: 0\n"), "recipe.yaml:2: linear_dcl: epochs: 0 is out of range; give a value in [1, 100000]");
  EXPECT_EQ(refusal("\nkn: {k: 5}\n"), "recipe.yaml:2: unknown protocol 'kn'; did you mean 'knn'?");
  EXPECT_THAT(refusal("\nneighbours: {}\n"), HasSubstr("recipe.yaml:2: protocol 'neighbours' is for sentences, and the run is on images"));
  EXPECT_EQ(usage_error_of([] { read("{knn: {kk: 5}}", {"knnn"}); }), "evaluate: unknown protocol 'knnn'; did you mean 'knn'?");
}

TEST(LinearProbe, KnowsWhetherItsViewsAreWritten) {
  EXPECT_FALSE(asked("linear_dcl", "{}").as<LinearDclOptions>().given_views);
  EXPECT_FALSE(asked("linear_supcon", "{epochs: 3}").as<LinearSupconOptions>().given_views);
  EXPECT_TRUE(asked("linear_dcl", "{views: train}").as<LinearDclOptions>().given_views);
  EXPECT_TRUE(asked("linear_supcon", "{views: crop_flip}").as<LinearSupconOptions>().given_views);
}

// Without an encoder the default views of images give way to stored features.
TEST(LinearProbe, RefusesWrittenViewsOfImagesOnAFeatureTable) {
  EvaluationInput input = toy_input();
  EvaluationCache cache(input, Progress::silent());
  for (const std::string split : {"train", "test"}) input.stored[split] = cache.split(split);
  input.encoder = nullptr;
  for (const std::string protocol : {"linear_dcl", "linear_supcon"}) {
    EXPECT_EQ(details(evaluated(input, protocol, "{epochs: 1}"))["options"]["views"], "eval");
    EXPECT_EQ(usage_error_of([&] { evaluated(input, protocol, "{views: crop_flip}"); }),
              protocol + ": views: crop_flip needs images, and a feature table has none; leave it out");
  }
}

}  // namespace evaluation_record_test
}  // namespace debias

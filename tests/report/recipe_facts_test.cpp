#include "debias/report/recipe_facts.h"
#include "tests/report/reports.h"

namespace debias::recipe_facts_test {

using testing::Pair;
using testing::UnorderedElementsAre;

RecipeFacts facts(const std::string& recipe) { return read_recipe_facts(parse_yaml(recipe, "config.yaml")); }

constexpr const char* kWholeRecipe = R"(name: demo
seed: 007
data:
  train: {name: colored_mnist, root: shared, seed: run, correlation: 0.990, hold_out: 0.1, views: {crop: 28}}
  test: {name: colored_mnist, seed: 5, correlation: 0.1, labels: [a, b]}
encoder: {name: resnet18, width: 8}
classifier: {}
objective:
  - {name: infonce, temperature: 0.5, weight: 1}
  - {name: fairkl, weight: 0.0}
  - {name: end, weight: {schedule: cosine}}
train: {epochs: 4, batch_size: 0032}
evaluate: {protocols: [knn, groups], groups: {predictions: classifier}, select: valid.knn_acc1}
)";

TEST(RecipeFacts, AreThoseOfAWholeRecipe) {
  const RecipeFacts found = facts(kWholeRecipe);
  EXPECT_EQ(found.name, "demo");
  EXPECT_EQ(found.seed, "007");
  EXPECT_EQ(found.seed_json, 7);
  EXPECT_EQ(found.epochs, 4);
  EXPECT_EQ(found.batch_size, "0032");
  EXPECT_EQ(found.control_steps, 0);
  EXPECT_EQ(found.encoder, "resnet18");
  EXPECT_TRUE(found.has_classifier);
  EXPECT_FALSE(found.is_fixed);
  EXPECT_FALSE(found.of_agent);
  EXPECT_TRUE(found.has_protocol("knn"));
  EXPECT_TRUE(found.has_protocol("groups"));
  EXPECT_FALSE(found.has_protocol("geometry"));
  EXPECT_EQ(found.groups_predictions, "classifier");
  EXPECT_EQ(found.select, "valid.knn_acc1");
  EXPECT_THAT(found.expected, IsEmpty());
  EXPECT_TRUE(found.expected_section.is_null());
}

TEST(RecipeFacts, OfDataAreBySplit) {
  const RecipeFacts found = facts(kWholeRecipe);
  const DataFacts &train = found.data_of("train"), &test = found.data_of("test"), &valid = found.data_of("valid");
  EXPECT_EQ(train.name, "colored_mnist");
  EXPECT_EQ(train.correlation, "0.990");
  EXPECT_EQ(train.hold_out, 0.1);
  EXPECT_TRUE(train.follows_seed());
  EXPECT_EQ(train.options.at("views.crop"), "28");
  EXPECT_EQ(train.section["correlation"], 0.99);
  EXPECT_EQ(test.seed, "5");
  EXPECT_FALSE(test.follows_seed());
  EXPECT_THAT(test.options,
              UnorderedElementsAre(Pair("name", "colored_mnist"), Pair("seed", "5"), Pair("correlation", "0.1"), Pair("labels", "[a, b]")));
  EXPECT_EQ(valid.name, "");
  EXPECT_FALSE(valid.follows_seed());
  EXPECT_TRUE(valid.section.is_null());
}

TEST(RecipeFacts, NameTheTermsThatTookPart) {
  EXPECT_THAT(facts("objective: infonce").objectives, ElementsAre("infonce"));
  EXPECT_THAT(facts("objective: {name: infonce, weight: 0}").objectives, ElementsAre("infonce"));
  EXPECT_THAT(facts(kWholeRecipe).objectives, ElementsAre("infonce", "end"));
  EXPECT_THAT(facts("train: {epochs: 1}").objectives, IsEmpty());
}

TEST(RecipeFacts, TellObjectivesApartByAllTheirOptions) {
  const auto objective = [](const std::string& recipe) { return facts(recipe).objective; };
  EXPECT_EQ(objective("objective: {name: infonce, temperature: 0.50}"), objective("objective: {name: infonce, temperature: 0.5}"));
  EXPECT_NE(objective("objective: {name: infonce, temperature: 0.1}"), objective("objective: {name: infonce, temperature: 0.5}"));
  EXPECT_TRUE(objective("seed: 1").is_null());
}

TEST(RecipeFacts, OfAnAgentAndOfCorrectedFeatures) {
  const RecipeFacts agent = facts("environment: {task: cartpole}\ntrain: {control_steps: 1e3}\nevaluate: {protocols: knn}");
  EXPECT_TRUE(agent.of_agent);
  EXPECT_EQ(agent.task, "cartpole");
  EXPECT_EQ(agent.control_steps, 1000);
  EXPECT_TRUE(agent.has_protocol("knn"));
  EXPECT_EQ(agent.groups_predictions, "auto");
  EXPECT_TRUE(facts("fix: {}").is_fixed);
  EXPECT_TRUE(facts("environment: cartpole").of_agent);
  EXPECT_FALSE(facts("classifier: null").has_classifier);
}

TEST(RecipeFacts, OfAnotherShapeAreAbsent) {
  const RecipeFacts found = facts(
      "{name: [a], seed: {a: 1}, data: {train: glyphs, test: [1], valid: null}, encoder: resnet18, objective: null, "
      "train: [4], environment: [x], evaluate: {protocols: {knn: 1}, groups: [classifier], select: [a]}, expected: {value: 1}}");
  EXPECT_EQ(found.name, "");
  EXPECT_EQ(found.seed, "");
  EXPECT_EQ(found.seed_json.dump(), R"({"a":1})");
  EXPECT_EQ(found.epochs, 0);
  EXPECT_EQ(found.batch_size, "");
  EXPECT_EQ(found.control_steps, 0);
  EXPECT_THAT(found.objectives, IsEmpty());
  EXPECT_EQ(found.encoder, "");
  EXPECT_EQ(found.task, "");
  for (const char* split : {"train", "test", "valid"}) {
    EXPECT_EQ(found.data_of(split).name, "") << split;
    EXPECT_THAT(found.data_of(split).options, IsEmpty()) << split;
  }
  EXPECT_THAT(found.protocols, IsEmpty());
  EXPECT_EQ(found.groups_predictions, "auto");
  EXPECT_EQ(found.select, "");
  EXPECT_THAT(found.expected, IsEmpty());
  EXPECT_EQ(facts("{data: 3, train: {epochs: -4, batch_size: [1], control_steps: many}, evaluate: knn}").epochs, 0);
  EXPECT_EQ(facts("train: {epochs: 4.5}").epochs, 0);
  EXPECT_EQ(facts("train: {control_steps: 5 000}").control_steps, 0);
  EXPECT_EQ(read_recipe_facts(Config()).name, "");
}

TEST(RecipeFacts, HaveAnEntryForEachExpectation) {
  const auto expected = facts(R"(expected:
  - {metric: test.acc1, value: 0.9, spread: 0.01, runs: 3, minutes: 20, epoch: 50, tolerance: 0.02, source: Table 3}
  - {metric: test.knn_acc1, value: high, spread: "", runs: 0, epoch: last}
  - nothing
)")
                            .expected;
  ASSERT_EQ(expected.size(), 3u);
  EXPECT_EQ(expected[0].metric, "test.acc1");
  EXPECT_EQ(expected[0].value, 0.9);
  EXPECT_EQ(expected[0].spread, 0.01);
  EXPECT_EQ(expected[0].runs, 3);
  EXPECT_EQ(expected[0].minutes, 20);
  EXPECT_EQ(expected[0].epoch, 50);
  EXPECT_EQ(expected[0].tolerance, 0.02);
  EXPECT_EQ(expected[0].source, "Table 3");
  EXPECT_EQ(expected[1].metric, "test.knn_acc1");
  EXPECT_TRUE(std::isnan(expected[1].value));
  EXPECT_FALSE(expected[1].spread || expected[1].runs || expected[1].tolerance || expected[1].minutes);
  EXPECT_EQ(expected[1].epoch, 0);
  EXPECT_EQ(expected[2].metric, "");
  EXPECT_TRUE(std::isnan(expected[2].value));
}

TEST(RecipeFacts, TellExpectationsApartByAllTheirKeys) {
  const auto expected = [](const std::string& entry) { return facts("expected: [" + entry + "]").expected_section; };
  EXPECT_EQ(expected("{metric: a, value: 1}"), expected("{metric: a, value: 1}"));
  EXPECT_NE(expected("{metric: a, value: 1}"), expected("{metric: a, value: 1, cost: 2}"));
  EXPECT_NE(expected("{metric: a, value: 1}"), expected("{metric: a, value: \"1\"}"));
  EXPECT_EQ(expected(""), facts("seed: 1").expected_section);
}

}  // namespace debias::recipe_facts_test

// What every registered protocol finds, from its record through a file to whoever reads it.
#include "debias/results/evaluation_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "debias/core/registry.h"
#include "debias/evaluate/protocol_registry.h"
#include "tests/evaluate/sentence_toy.h"
#include "tests/evaluate/toy.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace evaluation_record_test {

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

INSTANTIATE_TEST_SUITE_P(Protocols, EveryRegisteredProtocol, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& entry : protocol_registry()) names.push_back(entry.name);
                           return names;
                         }()),
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

}  // namespace evaluation_record_test
}  // namespace debias

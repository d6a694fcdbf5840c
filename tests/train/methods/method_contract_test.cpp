// What every registered method does, on the first of some small recipes that it takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "debias/core/registry.h"
#include "debias/train/methods/method.h"
#include "tests/support/file_text.h"
#include "tests/support/small_corpus.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/method_parts.h"
#include "tests/train/methods/rivals/glyph_classifier.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace method_contract_test {

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const MethodEntry& entry : method_registry()) names.push_back(entry.name);
  return names;
}

class EveryMethod : public testing::TestWithParam<std::string> {
 protected:
  EveryMethod() : entry_(find_entry(method_registry(), GetParam(), "method")) { write_small_corpus(folder_.path()); }

  // Two epochs of two steps, on sentences of twelve. A method that takes none of the recipes needs one more here.
  Config recipe() const {
    std::string refusals;
    for (Config root : recipes()) {
      root.assign("train.epochs=2");
      try {
        const TrainInput input = input_for(root);
        make_run_parts(input.recipe, input.dataset);
        return root;
      } catch (const Error& error) {
        refusals += std::string("\n") + error.what();
      }
    }
    ADD_FAILURE() << "no recipe fits:" << refusals;
    return Config();
  }

  const MethodEntry& entry_;
  TemporaryFolder folder_;

 private:
  std::vector<Config> recipes() const {
    const std::string& name = entry_.name;
    Config views = small_config("x");
    views.assign("data.train.train_count=32");
    views.assign("method=" + name);
    Config features = views, halves = views;
    features.assign("head=none");
    halves.assign("views={preset: cmc_lab, count: 1, random_resized_crop: {size: 16}}");
    halves.assign("head={name: linear, output_dim: 4}");
    halves.assign("objective=infonce");
    Config classifier = glyph_classifier("x", name);
    classifier.assign("data.train.train_count=32");
    std::vector<Config> all = {views, features, halves, classifier};
    if (entry_.takes_bias_encoder) {
      classifier.assign("method={name: " + name + ", bias_encoder: {name: simple_convnet, kernel: 1}}");
      all.push_back(classifier);
    }
    Config sentences = parse_yaml(
        "{seed: 3, encoder: {name: bag_of_words, features: 6}, objective: {name: infonce, temperature: 1}, "
        "train: {batch_size: 10, device: cpu, threads: 1}}",
        "sentences.yaml");
    sentences.assign("data={train: " + small_corpus_section(folder_.path()) + "}");
    sentences.assign("method=" + name);
    all.push_back(sentences);
    return all;
  }
};

TEST_P(EveryMethod, LearnsAndDescribesEachMetricThatItReports) {
  MethodWithBatch made(recipe());
  for (int64_t step = 1; step <= 2; ++step) {
    const StepReport report = made.parts.method->run(made.batch, step);
    EXPECT_TRUE(std::isfinite(report.loss)) << step;
    EXPECT_GT(report.grad_norm, 0) << step;
    for (const MethodMetric& reported : report.diagnostics.of_method) {
      const auto is_reported = [&](const Metric& known) { return describes(known, reported.name); };
      EXPECT_TRUE(std::ranges::any_of(entry_.metrics, is_reported)) << reported.name;
    }
  }
}

TEST_P(EveryMethod, ReportsItsMetricsAndResumesByteForByte) {
  Config root = recipe();
  root.set("output", Config::string(folder_ / "whole"));
  train(input_for(root));
  const std::string metrics = file_text(folder_ / "whole/metrics.jsonl");
  for (const Metric& metric : entry_.metrics) EXPECT_NE(metrics.find('"' + metric.name), std::string::npos) << metric.name;
  train_in_two(root, folder_ / "stopped", 3);
  expect_same_run(folder_ / "whole", folder_ / "stopped");
}

TEST_P(EveryMethod, TakesPartsOfABatchOrSaysWhatToDo) {
  Config root = recipe();
  root.assign("train.micro_batch=4");
  if (!entry_.takes_micro_batch) {
    return expect_refused(root, fmt::format("method '{}' takes no train.micro_batch{}", entry_.name, entry_.micro_batch_advice));
  }
  MethodWithBatch made(root), whole(recipe());
  const StepReport of_parts = made.parts.method->run(made.batch, 1), of_all = whole.parts.method->run(whole.batch, 1);
  EXPECT_GT(of_parts.grad_norm, 0);
  EXPECT_NE(of_parts.loss, of_all.loss);  // of fewer negatives
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryMethod, testing::ValuesIn(method_names()), [](const auto& test) { return test.param; });

TEST(Methods, AreNamedByAPropertyOfTheirEntries) {
  EXPECT_THAT(methods_with(&MethodEntry::gives_keys), testing::ElementsAre("moco", "cmc"));
  EXPECT_THAT(methods_with(&MethodEntry::takes_any_terms), testing::ElementsAre("simclr"));
  EXPECT_THAT(methods_with(&MethodEntry::takes_micro_batch), testing::ElementsAre("simclr"));
}

}  // namespace method_contract_test
}  // namespace debias

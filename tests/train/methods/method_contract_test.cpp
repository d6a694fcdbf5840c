// What every registered method does, on the first of some small recipes that it takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "debias/core/registry.h"
#include "debias/train/methods/method.h"
#include "tests/support/file_text.h"
#include "tests/support/registry_names.h"
#include "tests/support/small_corpus.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/method_parts.h"
#include "tests/train/methods/rivals/classifiers.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace method_contract_test {

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
    const Config views = changed(small_config("x"), {"data.train.train_count=32", "method=" + name}),
                 features = changed(views, {"head=none"}),
                 halves = changed(views, {"views={preset: cmc_lab, count: 1, random_resized_crop: {size: 16}}",
                                          "head={name: linear, output_dim: 4}", "objective=infonce"}),
                 classifier = changed(glyph_classifier("x", name), {"data.train.train_count=32"});
    std::vector<Config> all = {views, features, halves, classifier};
    if (entry_.takes_bias_encoder) {
      all.push_back(changed(classifier, {"method={name: " + name + ", bias_encoder: {name: simple_convnet, kernel: 1}}"}));
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
    const StepReport report = made.run(step);
    EXPECT_TRUE(std::isfinite(report.loss)) << step;
    EXPECT_GT(report.grad_norm, 0) << step;
    for (const MethodMetric& reported : report.diagnostics.of_method) {
      const auto is_reported = [&](const Metric& known) { return describes(known, reported.name); };
      EXPECT_TRUE(std::ranges::any_of(entry_.metrics, is_reported)) << reported.name;
    }
  }
}

TEST_P(EveryMethod, ReportsItsMetricsAndResumesByteForByte) {
  expect_resumes(folder_, recipe(), {3});
  const std::string metrics = file_text(folder_ / "whole/metrics.jsonl");
  for (const Metric& metric : entry_.metrics) EXPECT_NE(metrics.find('"' + metric.name), std::string::npos) << metric.name;
}

TEST_P(EveryMethod, TakesPartsOfABatchOrSaysWhatToDo) {
  Config root = recipe();
  root.assign("train.micro_batch=4");
  if (!entry_.takes_micro_batch) {
    return expect_refused(root, fmt::format("method '{}' takes no train.micro_batch{}", entry_.name, entry_.micro_batch_advice));
  }
  MethodWithBatch made(root), whole(recipe());
  const StepReport of_parts = made.run(), of_all = whole.run();
  EXPECT_GT(of_parts.grad_norm, 0);
  EXPECT_NE(of_parts.loss, of_all.loss);  // of fewer negatives
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryMethod, testing::ValuesIn(names_of(method_registry())),
                         [](const auto& test) { return test.param; });

TEST(Methods, AreNamedByAPropertyOfTheirEntries) {
  EXPECT_THAT(methods_with(&MethodEntry::gives_keys), testing::ElementsAre("moco", "cmc"));
  EXPECT_THAT(methods_with(&MethodEntry::takes_any_terms), testing::ElementsAre("simclr"));
  EXPECT_THAT(methods_with(&MethodEntry::takes_micro_batch), testing::ElementsAre("simclr"));
}

}  // namespace method_contract_test
}  // namespace debias

// Calls of a training step that make the host wait for a device: each reads a number, or a size, out of a tensor.
//
// A device is not needed to count them. On one, terms over pairs go to the blocked engine.
#include <ATen/record_function.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string_view>

#include "debias/data/dataset_registry.h"
#include "debias/train/loop/run_parts.h"
#include "tests/support/waiting_operators.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace step_calls_test {

std::map<std::string, int>* counted = nullptr;

std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& call) {
  const std::string_view name = call.name();
  if (is_waited_for(name) || name == "debias::read_numbers") ++(*counted)[call.name()];
  return nullptr;
}

// What the second step of the recipe calls, all together, as on a device.
std::map<std::string, int> waits_of(const std::vector<std::string>& words) {
  Config root = small_config("");
  root.assign("optimizer={name: sgd, learning_rate: 0.01}");  // the CPU's kernel of Adam reads the step's number, a device's does not
  for (const auto& word : words) root.assign(word);
  const Recipe recipe = read_recipe(root);
  const std::shared_ptr<const Dataset> dataset = recipe.train_data.make_images();
  RunParts parts = make_run_parts(recipe, dataset);
  std::vector<Term> terms = make_terms(recipe, *dataset);
  for (auto& term : terms) term.load(*dataset, recipe.views.count, false, {});
  const auto method = method_of(recipe).make(
      recipe, *dataset,
      {.model = parts.model, .terms = std::move(terms), .optimizers = *parts.optimizers, .forward = {}, .pair_engine = Engine::kBlocked});
  parts.model.train(true);
  parts.source->start(0);
  method->run(*parts.source->next(), 1);
  std::map<std::string, int> calls;
  counted = &calls;
  const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(count).scopes({at::RecordScope::FUNCTION}));
  method->run(*parts.source->next(), 2);
  at::removeCallback(handle);
  return calls;
}

// As docs/gpu.md has them: a step's numbers are read together, before the optimizer moves, and nothing else is read.
TEST(StepCalls, ReadNumbersOnceAndNothingElse) {
  const std::map<std::string, int> once = {{"debias::read_numbers", 1}};
  for (const char* objective : {"infonce", "debiased_negatives", "debiased_positives", "combined_debiased", "hard_negatives", "supcon",
                                "eps_supinfonce", "eps_supcon", "eps_infonce", "unbiased"}) {
    EXPECT_EQ(waits_of({fmt::format("objective={{name: {}}}", objective)}), once) << objective;
  }
  // The probe's Adam has two tensors.
  const std::map<std::string, int> with_probe = {{"aten::_local_scalar_dense", 2}, {"debias::read_numbers", 1}};
  EXPECT_EQ(waits_of({"classifier={name: linear}"}), with_probe);
  // Where a queue begins, and whether its keys hold different numbers of an anchor's sample.
  const std::map<std::string, int> with_queue = {{"aten::_local_scalar_dense", 1}, {"aten::_unique", 1}, {"debias::read_numbers", 1}};
  EXPECT_EQ(waits_of({"method=moco"}), with_queue);
}

}  // namespace step_calls_test
}  // namespace debias

// Calls of a training step that make the host wait for a device: each reads a number, or a size, out of a tensor.
//
// A device is not needed to count them. On one, terms over pairs go to the blocked engine.
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "debias/data/dataset_registry.h"
#include "debias/train/run_parts.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace {

std::map<std::string, int>* counted = nullptr;

std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& call) {
  constexpr std::array<std::string_view, 8> kWaits = {
      "aten::_local_scalar_dense", "aten::nonzero", "aten::_unique",  "aten::_unique2",
      "aten::unique_dim",          "aten::equal",   "aten::bincount", "aten::masked_select"};
  if (std::find(kWaits.begin(), kWaits.end(), call.name()) != kWaits.end()) ++(*counted)[call.name()];
  return nullptr;
}

// What the second step of the recipe calls, all together, as on a device.
int waits_of(const std::vector<std::string>& words) {
  Config root = small_config("");
  for (const auto& word : words) root.assign(word);
  const Recipe recipe = read_recipe(root);
  const std::shared_ptr<const Dataset> dataset = make_dataset(recipe.train_data);
  RunParts parts = make_run_parts(recipe, dataset);
  std::vector<Term> terms = make_terms(recipe, *dataset);
  for (auto& term : terms) term.load(*dataset, recipe.views.count(), false, {});
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
  int all = 0;
  for (const auto& [call, times] : calls) all += times;
  return all;
}

// As docs/devices.md has them. One more is a wait more in every step of everybody: take one away and lower the number.
TEST(StepCalls, ThatWaitAreAsManyAsThePageSays) {
  const std::map<std::string, int> expected = {{"infonce", 10}, {"debiased_negatives", 12}, {"hard_negatives", 16}, {"supcon", 21}};
  for (const auto& [name, waits] : expected) EXPECT_EQ(waits_of({"objective={name: " + name + "}"}), waits) << name;
  EXPECT_EQ(waits_of({"classifier={name: linear}"}), 17);
}

}  // namespace
}  // namespace debias

// Every objective against tests/golden/objectives.json: what its paper's formula comes to in NumPy's double precision, and its gradient by
// complex steps (tests/golden/naive.py). Sums have at most 24 terms of double precision; gradients and losses of anchors have 12 digits.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "debias/core/registry.h"
#include "debias/losses/objective.h"
#include "tests/support/golden_folder.h"

namespace debias {
namespace objectives_test {

const nlohmann::json& golden() {
  static const auto loaded = nlohmann::json::parse(std::ifstream(golden_folder(".") + "/objectives.json"));
  return loaded;
}

// The numbers of nested lists in the lists' shape; null is NaN.
at::Tensor numbers(const nlohmann::json& lists, at::ScalarType type) {
  std::vector<int64_t> shape;
  for (const auto* inner = &lists; inner->is_array(); inner = &inner->front()) shape.push_back(static_cast<int64_t>(inner->size()));
  std::vector<double> flat;
  const std::function<void(const nlohmann::json&)> append = [&](const nlohmann::json& of) {
    if (!of.is_array()) return flat.push_back(of.is_null() ? std::numeric_limits<double>::quiet_NaN() : of.get<double>());
    for (const auto& inner : of) append(inner);
  };
  append(lists);
  return at::tensor(flat, at::kDouble).view(shape).to(type);
}

ObjectiveInput input_of(const nlohmann::json& batch) {
  const auto found = [&](const char* name, at::ScalarType type) {
    return batch.contains(name) ? numbers(batch[name], type) : at::Tensor();
  };
  return {.z = found("z", at::kDouble),
          .labels = found("labels", at::kLong),
          .bias = found("bias", at::kLong),
          .weights = found("weights", at::kDouble),
          .samples = found("ids", at::kLong),
          .prior = found("prior", at::kDouble),
          .keys = found("keys", at::kDouble),
          .key_samples = found("key_ids", at::kLong),
          .key_labels = found("key_labels", at::kLong),
          .positives = found("positives", at::kDouble)};
}

std::unique_ptr<Objective> made(const ObjectiveEntry& entry, const nlohmann::json& settings) {
  Config term = Config::map();
  for (const auto& [option, value] : settings.items())
    term.assign(option + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  return entry.make(term, {});
}

void expect_near(double found, double expected, double tolerance, const std::string& what) {
  EXPECT_NEAR(found, expected, tolerance * std::max(1.0, std::abs(expected))) << what;
}

void expect_all_near(const at::Tensor& found, const at::Tensor& expected, const std::string& what) {
  ASSERT_EQ(found.numel(), expected.numel()) << what;
  const double size = std::max(1.0, expected.nan_to_num().abs().max().item<double>());
  EXPECT_TRUE(at::allclose(found.flatten(), expected, 0, 1e-10 * size, /*equal_nan=*/true)) << what << ": " << found << " for " << expected;
}

void expect_diagnostics(const ObjectiveResult& found, const nlohmann::json& expected, const std::string& what) {
  EXPECT_EQ(found.clamped, expected.value("clamped", 0.0)) << what;
  for (const auto& [name, own] :
       {std::pair("min_estimate", found.min_estimate), std::pair("effective_sample_size", found.effective_sample_size)}) {
    ASSERT_EQ(own.has_value(), expected.contains(name)) << what << ": " << name;
    if (own) expect_near(*own, expected[name].get<double>(), 1e-10, what + ": " + name);
  }
}

class Objectives : public testing::TestWithParam<std::string> {
 protected:
  const ObjectiveEntry& entry() const { return find_entry(objective_registry(), GetParam(), "objective"); }
  std::vector<Engine> engines() const {
    if (entry().kind == InputKind::kLogits) return {Engine::kDense};
    if (entry().kind == InputKind::kPairs) return {Engine::kDense, Engine::kBlocked};
    return {Engine::kDense, Engine::kAuto};
  }
};

TEST_P(Objectives, AreTheirFormulas) {
  int64_t cases = 0;
  for (const auto& known : golden()["cases"]) {
    if (known["objective"] != GetParam()) continue;
    ++cases;
    const std::string batch = known["batch"];
    const auto objective = made(entry(), known["settings"]);
    for (const Engine engine : engines()) {
      const std::string what = fmt::format("{} on {} by {}", known["settings"].dump(), batch, enum_name(engine));
      ObjectiveInput input = input_of(golden()["batches"][batch]);
      input.z.requires_grad_(true);
      input.engine = engine;
      const ObjectiveResult found = (*objective)(input);
      expect_near(found.value.item<double>(), known["value"].get<double>(), 1e-11, what);
      const at::Tensor losses = numbers(known["per_anchor"], at::kDouble);
      expect_all_near(found.per_anchor.detach(), losses, what);
      EXPECT_EQ(found.anchors, losses.numel()) << what;
      EXPECT_EQ(found.anchors_used, losses.isnan().logical_not().sum().item<int64_t>()) << what;
      if (entry().kind == InputKind::kPairs) expect_diagnostics(found, known, what);
      if (found.value.requires_grad()) found.value.backward();
      const at::Tensor gradient = input.z.grad().defined() ? input.z.grad() : at::zeros_like(input.z);
      expect_all_near(gradient, numbers(known["gradient"], at::kDouble), what + ", gradient");
    }
  }
  EXPECT_GT(cases, 0);
}

std::vector<std::string> objectives() {
  std::vector<std::string> names;
  for (const auto& entry : objective_registry()) names.push_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Golden, Objectives, testing::ValuesIn(objectives()), [](const auto& each) { return each.param; });

}  // namespace objectives_test
}  // namespace debias

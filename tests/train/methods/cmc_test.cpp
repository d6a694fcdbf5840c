// Contrastive multiview coding: its first step written out, its banks, every objective that takes keys, and resuming.
#include "debias/train/methods/cmc.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/runtime/unit_rows.h"
#include "debias/train/methods/memory_bank.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/method_parts.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace cmc_test {

Config cmc_config(const std::string& output, const std::string& objective = "{name: infonce, temperature: 0.07}") {
  Config root =
      changed(small_config(output), {"views={preset: cmc_lab, count: 1, random_resized_crop: {size: 16}}",
                                     "head={name: linear, output_dim: 4}", "method={name: cmc, negatives: 20}", "objective=" + objective});
  return root;
}

TEST(Cmc, TheFirstStepScoresEachHalfAgainstTheOthersBank) {
  MethodWithBatch made(cmc_config("x"));
  const auto before = made.state();
  const at::Tensor own = at::tensor(made.batch.indices, at::kLong);
  at::Tensor features;
  {
    const at::NoGradGuard no_grad;
    const ModelOutput output = forward(made.parts.model, made.batch.images(), ForwardOptions{});
    EXPECT_EQ(output.features.size(2), 2 * 64);
    features = unit_rows(output.projection.select(1, 0).unflatten(1, {2, -1}));
  }
  const at::Tensor ids = draw_bank_ids(own, 20, 96, 3, 1).to(at::kLong);
  double expected = 0;
  for (int64_t half = 0; half < 2; ++half) {
    const at::Tensor& bank = before.at(half == 0 ? "bank.second" : "bank.first");
    const at::Tensor scores = (bank.index({ids}) * features.select(1, half).unsqueeze(1)).sum(2) / 0.07;
    expected += at::cross_entropy_loss(scores, at::zeros({16}, at::kLong)).item<double>();
  }
  EXPECT_NEAR(made.parts.method->run(made.batch, 1).loss, expected, 1e-4);

  const auto after = made.state();  // each half's own features, half of the row kept
  for (int64_t half = 0; half < 2; ++half) {
    const char* name = half == 0 ? "bank.first" : "bank.second";
    const at::Tensor rows = after.at(name).index_select(0, own);
    EXPECT_TRUE(at::allclose(rows, unit_rows(0.5 * before.at(name).index_select(0, own) + 0.5 * features.select(1, half)), 1e-4, 1e-5));
    EXPECT_EQ(after.at(name).ne(before.at(name)).any(1).sum().item<int64_t>(), 16);
  }
}

TEST(Cmc, TheTwoNetworksBeginWithOtherWeights) {
  MethodWithBatch made(cmc_config("x"));
  const auto named = made.parts.model.encoder->named_parameters();
  EXPECT_EQ(named["first.conv1.weight"].size(1), 1);
  EXPECT_EQ(named["second.conv1.weight"].size(1), 2);
  EXPECT_FALSE(named["first.layer1.0.conv1.weight"].equal(named["second.layer1.0.conv1.weight"]));
}

TEST(Cmc, DebiasedFallsBackAndSaysHowOften) {
  MethodWithBatch biased(cmc_config("x")),
      debiased(cmc_config("x", "{name: debiased_negatives, temperature: 0.07, tau_plus: 0.3, clamp: fallback}"));
  const StepReport a = biased.parts.method->run(biased.batch, 1), b = debiased.parts.method->run(debiased.batch, 1);
  EXPECT_NE(a.loss, b.loss);
  EXPECT_EQ(b.diagnostics.terms[0].anchors, 32);
  EXPECT_GT(b.diagnostics.terms[0].clamped, 0);
  EXPECT_TRUE(b.diagnostics.terms[0].min_estimate.has_value());
  EXPECT_GT(b.diagnostics.metric_of_method("false_negative_share")->count, 0);
}

TEST(Cmc, ResumesByteForByteWithEveryLoss) {
  std::vector<std::pair<std::string, std::string>> losses = {{"{name: infonce, temperature: 0.07}", "nce"},
                                                             {"{name: debiased_negatives, tau_plus: 0.1, clamp: fallback}", "softmax"}};
  for (const auto& entry : objective_registry()) {
    if (entry.takes_keys) losses.emplace_back(entry.name, "softmax");
  }
  for (const auto& [objective, loss] : losses) {
    const TemporaryFolder folder;
    Config root = changed(cmc_config(folder.path() + "/whole", objective), {"method.loss=" + loss, "train.epochs=2"});
    train(input_for(root));
    train_in_two(root, folder.path() + "/stopped", 7);
    expect_same_run(folder.path() + "/whole", folder.path() + "/stopped");
    const auto lines = metric_lines(folder.path() + "/whole");
    EXPECT_TRUE(std::isfinite(lines.back().at("train_loss").get<double>())) << objective;
    EXPECT_TRUE(lines.back().contains("false_negative_share")) << objective;
  }
}

TEST(Cmc, BaseTemperatureScalesTheLossOfScores) {
  MethodWithBatch plain(cmc_config("x")), scaled(cmc_config("x", "{name: infonce, temperature: 0.07, base_temperature: 0.14}"));
  EXPECT_NEAR(scaled.parts.method->run(scaled.batch, 1).loss, plain.parts.method->run(plain.batch, 1).loss / 2, 1e-5);
}

TEST(Cmc, SupconFindsItsPositivesWithoutLabels) {
  Config root = cmc_config("x", "supcon");
  EXPECT_NO_THROW(MethodWithBatch{root});
}

TEST(Cmc, ABankOfOtherDataIsRefused) {
  const TemporaryFolder folder;
  Config root = changed(cmc_config(folder.path() + "/run"), {"train.epochs=1"});
  train(input_for(root));
  root.assign("data.train.train_count=64");
  MethodWithBatch other(root);
  const auto file = SafetensorsFile::open(folder.path() + "/run/checkpoints/last.safetensors");
  const std::string message = data_error_of([&] { other.parts.method->load(file); });  // a bank of 96 rows for 64 images
  EXPECT_NE(message.find("bank.first"), std::string::npos) << message;
}

TEST(Cmc, WhatItCannotUseIsRefusedInOneLine) {
  expect_refused(changed(cmc_config("x"), {"views.count=2"}), "views.count is 2");
  expect_refused(changed(cmc_config("x"), {"views={preset: sim32, count: 1, random_resized_crop: {size: 16}}"}), "rgb_to_lab");
  expect_refused(changed(cmc_config("x"), {"train.micro_batch=8"}), "micro_batch");
  expect_refused(changed(cmc_config("x", "{name: hard_negatives}"), {"method.loss=nce"}),
                 "loss: nce: objective 'hard_negatives' does not take noise-contrastive estimation; choose infonce, or write loss");
  expect_refused(changed(cmc_config("x", "{name: infonce, temperature: 0.001}"), {"method.loss=nce"}),
                 "temperature: draws from a bank take 0.002 or more, found 0.001");
  expect_refused(changed(cmc_config("x"), {"data.train.correlation=0.9", "objective=biascon"}), "'biascon' compares rows of a batch");
  expect_refused(changed(cmc_config("x", "[{name: infonce, temperature: 0.1}, {name: infonce, temperature: 0.5}]"), {"method.loss=nce"}),
                 "several terms");
  expect_refused(changed(cmc_config("x"), {"encoder.weights=w.safetensors"}), "encoder.weights is w.safetensors");
  expect_refused(cmc_config("x", "{name: eps_supinfonce, form: d}"), "form d");
  expect_refused(changed(cmc_config("x"), {"method.negatives=0"}), "negatives");
}

}  // namespace cmc_test
}  // namespace debias

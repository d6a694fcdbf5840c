// Contrastive multiview coding: its first step written out, its banks, every objective that takes keys, and resuming.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/encoders/state.h"
#include "debias/runtime/unit_rows.h"
#include "debias/train/methods/cmc.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/method_parts.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace cmc_test {

Config cmc_config(const std::string& output, const std::string& objective = "{name: infonce, temperature: 0.07}") {
  return changed(small_config(output),
                 {"views={preset: cmc_lab, count: 1, random_resized_crop: {size: 16}}", "head={name: linear, output_dim: 4}",
                  "method={name: cmc, negatives: 20}", "objective=" + objective});
}

TEST(Cmc, TheFirstStepScoresEachHalfAgainstTheOthersBank) {
  MethodWithBatch made(cmc_config("x"));
  const auto before = made.state();
  const at::Tensor own = at::tensor(made.batch.indices, at::kLong);
  const ModelOutput output = made.output();
  EXPECT_EQ(output.features.size(2), 2 * 64);
  const at::Tensor features = unit_rows(output.projection.select(1, 0).unflatten(1, {2, -1})).detach();
  const at::Tensor ids = draw_bank_ids(own, 20, 96, 3, 1).to(at::kLong);
  double expected = 0;
  for (int64_t half = 0; half < 2; ++half) {
    const at::Tensor& bank = before.at(half == 0 ? "bank.second" : "bank.first");
    const at::Tensor scores = (bank.index({ids}) * features.select(1, half).unsqueeze(1)).sum(2) / 0.07;
    expected += at::cross_entropy_loss(scores, at::zeros({16}, at::kLong)).item<double>();
  }
  EXPECT_NEAR(made.run().loss, expected, 1e-4);

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
  const StepReport a = biased.run(), b = debiased.run();
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
    expect_resumes(folder, changed(cmc_config("", objective), {"method.loss=" + loss, "train.epochs=2"}), {7});
    const auto lines = metric_lines(folder.path() + "/whole");
    EXPECT_TRUE(std::isfinite(lines.back().at("train_loss").get<double>())) << objective;
    EXPECT_TRUE(lines.back().contains("false_negative_share")) << objective;
  }
}

TEST(Cmc, BaseTemperatureScalesTheLossOfScores) {
  MethodWithBatch plain(cmc_config("x")), scaled(cmc_config("x", "{name: infonce, temperature: 0.07, base_temperature: 0.14}"));
  EXPECT_NEAR(scaled.run().loss, plain.run().loss / 2, 1e-5);
}

TEST(Cmc, SupconFindsItsPositivesWithoutLabels) { EXPECT_NO_THROW(MethodWithBatch(cmc_config("x", "supcon"))); }

TEST(Cmc, ABankOfOtherDataIsRefused) {
  const TemporaryFolder folder;
  Config root = changed(cmc_config(folder.path() + "/run"), {"train.epochs=1"});
  train(input_for(root));
  root.assign("data.train.train_count=64");
  MethodWithBatch other(root);
  const auto file = SafetensorsFile::open(folder.path() + "/run/checkpoints/last.safetensors");
  const std::string message = data_error_of([&] { other.parts.method->load(file); });  // a bank of 96 rows for 64 images
  EXPECT_THAT(message, testing::HasSubstr("bank.first"));
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

at::Tensor ids(std::initializer_list<int64_t> values) { return at::tensor(at::ArrayRef<int64_t>(values), at::kLong); }

TEST(MemoryBank, BeginsUniformWithMeanSquareLengthOne) {
  const at::Tensor rows = MemoryBank(4000, 128, 5).rows();
  const double bound = 1 / std::sqrt(128.0 / 3);
  EXPECT_NEAR(bound, 0.15309, 1e-5);
  EXPECT_LE(rows.abs().max().item<double>(), bound);
  EXPECT_GT(rows.abs().max().item<double>(), 0.999 * bound);
  EXPECT_NEAR(rows.mean().item<double>(), 0, 1e-3);
  EXPECT_NEAR(rows.square().sum(1).mean().item<double>(), 1, 0.01);
  EXPECT_NEAR(rows.square().mean(0).std().item<double>(), 0, 5e-4);  // all columns alike
}

TEST(MemoryBank, BeginsFromSeedAndNumberAlone) {
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor rows = MemoryBank(700, 9, 5).rows();
  at::set_num_threads(3);
  EXPECT_TRUE(at::equal(MemoryBank(700, 9, 5).rows(), rows));
  at::set_num_threads(before);
  EXPECT_FALSE(at::equal(MemoryBank(700, 9, 6).rows(), rows));
  EXPECT_FALSE(at::equal(MemoryBank(700, 9, 5, 1).rows(), rows));
}

TEST(MemoryBank, UpdateIsTheNormalisedMeanOfOldAndNew) {
  MemoryBank bank(5, 3, 1);
  const at::Tensor before = bank.rows().clone();
  const at::Tensor features = at::sin(at::arange(6, at::kFloat)).view({2, 3}).set_requires_grad(true);
  bank.update(ids({4, 1}), features);
  for (const auto& [row, feature] : {std::pair{4, 0}, {1, 1}}) {
    const at::Tensor mixed = 0.5 * before[row] + 0.5 * features[feature].detach();
    EXPECT_TRUE(at::allclose(bank.rows()[row], mixed / mixed.norm(), 1e-6, 1e-7)) << row;
  }
  for (const int64_t row : {0, 2, 3}) EXPECT_TRUE(at::equal(bank.rows()[row], before[row])) << row;
  EXPECT_FALSE(bank.rows().requires_grad());

  bank.update(ids({0}), features[0].detach().unsqueeze(0), 0.9);
  const at::Tensor mixed = 0.9 * before[0] + 0.1 * features[0].detach();
  EXPECT_TRUE(at::allclose(bank.rows()[0], mixed / mixed.norm(), 1e-6, 1e-7));
}

TEST(MemoryBank, LastFeatureOfASampleCounts) {
  MemoryBank bank(5, 3, 1), once(5, 3, 1);
  const at::Tensor features = at::sin(at::arange(9, at::kFloat)).view({3, 3});
  bank.update(ids({2, 0, 2}), features);
  once.update(ids({0, 2}), features.narrow(0, 1, 2));
  EXPECT_TRUE(at::equal(bank.rows(), once.rows()));
}

TEST(MemoryBank, SamplesItDoesNotHaveAreRefused) {
  MemoryBank bank(5, 3, 1);
  EXPECT_EQ(data_error_of([&] {
              bank.update(ids({1, 5}), at::zeros({2, 3}));
            }),
            "memory bank: samples 1 to 5 in the batch, and the bank has rows 0 to 4");
  EXPECT_EQ(data_error_of([] { draw_bank_ids(ids({-1}), 2, 5, 1, 1); }),
            "memory bank: samples -1 to -1 in the batch, and the bank has rows 0 to 4");
}

TEST(MemoryBank, SurvivesAFile) {
  const TemporaryFolder folder;
  MemoryBank bank(6, 4, 1);
  const std::string path = folder.path() + "/bank.safetensors";
  write_safetensors(path, {bytes_of("bank.l", bank.rows())}, {});
  MemoryBank other(6, 4, 2);
  other.load(SafetensorsFile::open(path), "bank.l");
  EXPECT_TRUE(at::equal(other.rows(), bank.rows()));
}

TEST(MemoryBank, ThatOfOtherDataIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "bank.safetensors";
  write_safetensors(path, {bytes_of("bank.l", MemoryBank(6, 4, 1).rows())}, {});
  const SafetensorsFile file = SafetensorsFile::open(path);
  for (const auto& [samples, dim] : {std::pair{7, 4}, {6, 5}}) {
    MemoryBank bank(samples, dim, 2);
    const at::Tensor before = bank.rows().clone();
    EXPECT_EQ(
        data_error_of([&] { bank.load(file, "bank.l"); }),
        fmt::format("{}: memory bank 'bank.l' is [6, 4], and the data and the head ask for [{}, {}]; resume with the data and the head "
                    "it began with",
                    path, samples, dim));
    EXPECT_TRUE(at::equal(bank.rows(), before));
  }
  MemoryBank bank(6, 4, 2);
  EXPECT_EQ(data_error_of([&] { bank.load(file, "bank.ab"); }), path + ": no memory bank 'bank.ab' in it; resume a run of this method");
}

TEST(MemoryBank, RowsThatAreNotFiniteAreRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/bank.safetensors";
  const at::Tensor rows = at::ones({6, 4});
  rows[2][1] = NAN;
  write_safetensors(path, {bytes_of("bank.l", rows)}, {});
  MemoryBank bank(6, 4, 2);
  EXPECT_EQ(data_error_of([&] { bank.load(SafetensorsFile::open(path), "bank.l"); }),
            path + ": memory bank 'bank.l' has numbers that are not finite");
}

TEST(BankDraws, OwnIdComesFirstAndTheRestIsUniformOverAll) {
  const at::Tensor own = ids({3, 0, 9}), drawn = draw_bank_ids(own, 20000, 10, 1, 4);
  EXPECT_EQ(drawn.sizes(), (at::IntArrayRef{3, 20001}));
  EXPECT_EQ(drawn.scalar_type(), at::kInt);
  EXPECT_TRUE(at::equal(drawn.select(1, 0).to(at::kLong), own));
  for (int64_t i = 0; i < 3; ++i) {  // 2000 expected of each, its own too; the deviation of a count is 42
    const at::Tensor counts = at::bincount(drawn[i].slice(0, 1), {}, 10);
    EXPECT_LT((counts - 2000).abs().max().item<int64_t>(), 250) << counts;
  }
}

TEST(BankDraws, AreAFunctionOfSeedAndStep) {
  const at::Tensor own = at::arange(20, at::kLong);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor drawn = draw_bank_ids(own, 50, 1000, 1, 4);
  at::set_num_threads(3);
  EXPECT_TRUE(at::equal(draw_bank_ids(own, 50, 1000, 1, 4), drawn));
  at::set_num_threads(before);
  EXPECT_FALSE(at::equal(draw_bank_ids(own, 50, 1000, 1, 5), drawn));
  EXPECT_FALSE(at::equal(draw_bank_ids(own, 50, 1000, 2, 4), drawn));
  EXPECT_FALSE(at::equal(drawn[0].slice(0, 1), drawn[1].slice(0, 1)));
}

at::Tensor waves() { return at::sin(at::arange(12, at::kDouble)).view({2, 6}) * 3; }

TEST(BankNce, FirstBatchSetsTheNormaliserForGood) {
  BankNce loss(100);
  EXPECT_FALSE(loss.normaliser().has_value());
  const double normaliser = nce_normaliser(waves(), 100);
  EXPECT_TRUE(at::equal(loss(waves()).loss, nce_losses(waves(), 100, normaliser).loss));
  EXPECT_TRUE(at::equal(loss(waves() + 1).loss, nce_losses(waves() + 1, 100, normaliser).loss));
}

TEST(BankNce, NormaliserSurvivesAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/loss.safetensors";
  BankNce fresh(100), loss = fresh, again = fresh;
  loss(waves());
  const at::Tensor unset = normaliser_state(fresh), set = normaliser_state(loss), wrong = at::full({1}, -1, at::kDouble);
  write_safetensors(path, {bytes_of("fresh", unset), bytes_of("seen", set), bytes_of("wrong", wrong)}, {});
  const SafetensorsFile file = SafetensorsFile::open(path);
  load_normaliser(again, file, "seen");
  EXPECT_EQ(again.normaliser(), loss.normaliser());
  load_normaliser(again, file, "fresh");
  EXPECT_FALSE(again.normaliser().has_value());
  EXPECT_EQ(data_error_of([&] { load_normaliser(again, file, "z"); }),
            path + ": no normaliser 'z' of a memory bank in it; resume a run of this method");
  EXPECT_EQ(data_error_of([&] { load_normaliser(again, file, "wrong"); }),
            path + ": normaliser 'wrong' of a memory bank is -1, where 0 or more was expected");
}

}  // namespace cmc_test
}  // namespace debias

#include "debias/train/methods/memory_bank.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/encoders/state.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace memory_bank_test {

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
  const std::string path = folder.path() + "/bank.safetensors";
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

}  // namespace memory_bank_test
}  // namespace debias

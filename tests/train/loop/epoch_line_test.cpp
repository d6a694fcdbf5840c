#include "debias/train/loop/epoch_line.h"

#include <gtest/gtest.h>

namespace debias {
namespace epoch_line_test {

TEST(EpochLine, NumbersAreReadable) {
  EXPECT_EQ(epoch_number(0), "0.0000");
  EXPECT_EQ(epoch_number(0.70123), "0.7012");
  EXPECT_EQ(epoch_number(-12.5), "-12.5000");
  EXPECT_EQ(epoch_number(10000), "10000");
  EXPECT_EQ(epoch_number(500000), "500000");
  EXPECT_EQ(epoch_number(1234.56), "1234.6");
  EXPECT_EQ(epoch_number(0.0001234), "0.0001234");
  EXPECT_EQ(epoch_number(1.5e-7), "1.5e-07");
  EXPECT_EQ(epoch_number(-30167920030440033878016.0), "-3.017e+22");
}

TEST(EpochLine, ShortOneBeginsWithTheLossThenWhatWasEvaluated) {
  const EpochSummary summary{3, 80, {{"grad_norm", 1.5}, {"train_loss", 5.31234}, {"test.knn_acc1", 0.7}}, 3700};
  EXPECT_EQ(short_epoch_line(summary), "epoch 3/80: train_loss 5.3123, test.knn_acc1 0.7000, grad_norm 1.5000, 1:01:40 left");
  EXPECT_EQ(whole_epoch_line(summary), "epoch 3/80, grad_norm 1.5000, train_loss 5.3123, test.knn_acc1 0.7000, 1:01:40 left");
  EXPECT_EQ(short_epoch_line({80, 80, {{"train_loss", 5}}, std::nullopt}), "epoch 80/80: train_loss 5.0000");
  EXPECT_EQ(short_epoch_line({1, 2, {}, std::nullopt}), "epoch 1/2");
}

TEST(EpochLine, ShortOneFitsAHundredColumnsAndCountsTheRest) {
  EpochSummary summary{12, 400, {{"train_loss", 5}}, 360000};
  for (int i = 0; i < 40; ++i) {
    summary.metrics.emplace_back("debiased_negatives.some_diagnostic_" + std::to_string(i), 1e9);
    const std::string line = short_epoch_line(summary);
    EXPECT_LE(line.size(), 100u) << line;
    EXPECT_TRUE(line.ends_with(", 100:00:00 left")) << line;
    EXPECT_TRUE(line.starts_with("epoch 12/400: train_loss 5.0000, ")) << line;
  }
  EXPECT_EQ(short_epoch_line(summary), "epoch 12/400: train_loss 5.0000, 40 more in metrics.csv, 100:00:00 left");
}

}  // namespace epoch_line_test
}  // namespace debias

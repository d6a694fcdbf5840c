#include "debias/report/charts/axis.h"
#include "tests/report/reports.h"

namespace debias::axis_test {

TEST(Axis, TicksAreRoundNumbersInsideTheRange) {
  EXPECT_EQ(linear_ticks(0, 1, 5).labels, (std::vector<std::string>{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(linear_ticks(4.78, 5.41, 5).labels, (std::vector<std::string>{"4.8", "5.0", "5.2", "5.4"}));
  EXPECT_EQ(linear_ticks(-3, 12, 4).labels, (std::vector<std::string>{"0", "5", "10"}));
  EXPECT_EQ(linear_ticks(1, 6, 6).labels, (std::vector<std::string>{"1", "2", "3", "4", "5", "6"}));
  EXPECT_EQ(linear_ticks(0, 0.1, 5, true).labels, (std::vector<std::string>{"0 %", "2 %", "4 %", "6 %", "8 %", "10 %"}));
  EXPECT_EQ(linear_ticks(0.12, 0.19, 3, true).labels, (std::vector<std::string>{"12.5 %", "15.0 %", "17.5 %"}));
}

TEST(Axis, ALabelThatWouldBeLongIsAPowerOfTen) {
  EXPECT_EQ(linear_ticks(0, 4e7, 4).labels, (std::vector<std::string>{"0", "1e7", "2e7", "3e7", "4e7"}));
  EXPECT_EQ(linear_ticks(0, 1e-3, 5).labels, (std::vector<std::string>{"0", "2e-4", "4e-4", "6e-4", "8e-4", "1e-3"}));
  EXPECT_EQ(linear_ticks(8.71e-3, 8.73e-3, 2).labels, (std::vector<std::string>{"0.00871", "0.00872", "0.00873"}));
  EXPECT_EQ(linear_ticks(0, 2e-6, 2).labels, (std::vector<std::string>{"0", "1e-6", "2e-6"}));
}

TEST(Axis, EpochsAreWhole) {
  EXPECT_EQ(linear_ticks(1, 4, 6, false, true).labels, (std::vector<std::string>{"1", "2", "3", "4"}));
  EXPECT_EQ(linear_ticks(1, 13, 5, false, true).labels, (std::vector<std::string>{"3", "6", "9", "12"}));
  EXPECT_EQ(linear_ticks(1, 100, 6, false, true).labels, (std::vector<std::string>{"20", "40", "60", "80", "100"}));
}

TEST(Axis, LogTicksArePowersOfTenOrOneTwoFive) {
  EXPECT_EQ(log_ticks(1e-5, 1e-1, 5).labels, (std::vector<std::string>{"1e-5", "0.0001", "0.001", "0.01", "0.1"}));
  EXPECT_EQ(log_ticks(1e-12, 1e2, 5).values.size(), 5u);
  EXPECT_EQ(log_ticks(4, 60, 5).labels, (std::vector<std::string>{"5", "10", "20", "50"}));
  EXPECT_EQ(log_ticks(2.1, 4.4, 3).labels, (std::vector<std::string>{"3", "4"}));  // none but a linear one fits
}

TEST(Axis, WhatIsNotFiniteDoesNotCount) {
  const PlacedAxis axis = place_axis({}, {kNaN, 3, kInfinity, 5, -kInfinity}, Ends::kTight, 5);
  EXPECT_EQ(axis.low, 3);
  EXPECT_EQ(axis.high, 5);
  EXPECT_FALSE(axis.has_place(kNaN));
  EXPECT_FALSE(axis.has_place(kInfinity));
  EXPECT_TRUE(axis.has_place(-7));
  EXPECT_DOUBLE_EQ(axis.place(4, 100, 0), 50);
}

TEST(Axis, OfALogAxisOnlyPositiveNumbersCount) {
  Axis log;
  log.scale = Scale::kLog;
  const PlacedAxis axis = place_axis(log, {0, -1, 1e-3, 10}, Ends::kTight, 5);
  EXPECT_EQ(axis.low, 1e-3);
  EXPECT_FALSE(axis.has_place(0));
  EXPECT_DOUBLE_EQ(axis.place(0.1, 0, 1), 0.5);
}

TEST(Axis, EqualEndsAreMovedApart) {
  for (const auto& values : std::vector<std::vector<double>>{{}, {0}, {7, 7}, {-2}, {1e300, 1e300}, {5e15, 5e15 + 1}}) {
    const PlacedAxis axis = place_axis({}, values, Ends::kTicks, 5);
    EXPECT_LT(axis.low, axis.high);
    EXPECT_GE(axis.ticks.values.size(), 2u);
    for (const double value : values) EXPECT_TRUE(axis.low <= value && value <= axis.high) << value;
  }
  Axis log;
  log.scale = Scale::kLog;
  EXPECT_GE(place_axis(log, {0.3}, Ends::kTicks, 5).ticks.values.size(), 2u);
  EXPECT_EQ(place_axis(log, {}, Ends::kTight, 5).ticks.labels, (std::vector<std::string>{"1", "2", "5", "10"}));
}

TEST(Axis, AShareOfZeroStandsOnTheGround) {
  Axis share;
  share.low = 0;
  share.percent = true;
  const PlacedAxis axis = place_axis(share, {0, 0}, Ends::kTicks, 5);
  EXPECT_EQ(axis.low, 0);
  EXPECT_DOUBLE_EQ(axis.high, 0.1);
}

TEST(Axis, ReachesAsFarAsItsLimitsAndTheDataGo) {
  Axis axis;
  axis.low = 0;
  axis.high = 0.5;
  const PlacedAxis placed = place_axis(axis, {0.2, 0.9}, Ends::kTight, 5);
  EXPECT_EQ(placed.low, 0);
  EXPECT_EQ(placed.high, 0.9);
  const PlacedAxis ticked = place_axis({}, {4.78, 5.41}, Ends::kTicks, 5);
  EXPECT_DOUBLE_EQ(ticked.low, 4.6);
  EXPECT_DOUBLE_EQ(ticked.high, 5.6);
}

TEST(Axis, NumbersInText) {
  EXPECT_EQ(short_number(0.87321), "0.8732");
  EXPECT_EQ(short_number(60000), "60000");
  EXPECT_EQ(short_number(1.23456e-5), "1.235e-5");
  EXPECT_EQ(short_number(-0.0), "0");
  EXPECT_EQ(short_number(kNaN), "n/a");
  EXPECT_EQ(percent_text(0.8732), "87.3 %");
  EXPECT_EQ(percent_text(kNaN), "n/a");
}

TEST(PlaceAxis, OfSharesEndsAtAHundredPercent) {
  Axis share;
  share.percent = true;
  EXPECT_EQ(place_axis(share, {1, 1}, Ends::kTicks, 5).high, 1);
  EXPECT_EQ(place_axis(share, {0, 0}, Ends::kTicks, 5).low, 0);
  EXPECT_LT(place_axis(share, {1, 1}, Ends::kTicks, 5).low, 1);
  EXPECT_GT(place_axis(share, {1.5, 1.5}, Ends::kTicks, 5).high, 1.5);
}

}  // namespace debias::axis_test

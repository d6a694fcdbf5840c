#include "debias/core/human_units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace debias {
namespace clock_text_test {

TEST(ClockText, CountsSecondsMinutesAndHours) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(7.4), "0:07");
  EXPECT_EQ(clock_text(59.5), "1:00");
  EXPECT_EQ(clock_text(750), "12:30");
  EXPECT_EQ(clock_text(3723), "1:02:03");
  EXPECT_EQ(clock_text(360000), "100:00:00");
}

TEST(ClockText, OfWhatIsNoDurationIsNothing) {
  for (const double none : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) EXPECT_EQ(clock_text(none), "0:00");
  EXPECT_EQ(clock_text(1e300).substr(0, 9), "277777777");
}

TEST(RunClock, TakesTheStepsLeftToLastAsLongAsThoseSoFar) {
  const RunClock::Clock::time_point start{};
  const RunClock clock(100, start);  // resumed at step 100
  const auto after = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  EXPECT_EQ(clock.left(100, 400, after(5)), std::nullopt);
  EXPECT_DOUBLE_EQ(*clock.left(110, 400, after(5)), 145);   // 290 steps of half a second
  EXPECT_DOUBLE_EQ(*clock.left(120, 400, after(30)), 420);  // an evaluation took 20 s
  EXPECT_DOUBLE_EQ(*clock.left(400, 400, after(90)), 0);
  EXPECT_DOUBLE_EQ(*clock.left(401, 400, after(90)), 0);
}

}  // namespace clock_text_test
}  // namespace debias

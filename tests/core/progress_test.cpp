#include "debias/core/progress.h"

#include <gtest/gtest.h>

namespace debias {
namespace progress_test {

TEST(Progress, SilentSinksTakeEverythingAndSayNothing) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Progress::silent().begin("training", 10);
  Progress::silent().advance(1, "loss 5.31");
  Progress::silent().end();
  Log::silent().info("a line");
  Log::silent().warn("a line");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(&Progress::silent(), &Progress::silent());
}

}  // namespace progress_test
}  // namespace debias

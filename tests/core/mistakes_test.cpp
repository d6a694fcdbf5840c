#include "debias/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace debias {
namespace mistakes_test {

using testing::ElementsAre;

TEST(Mistakes, OneIsReportedAsItIs) {
  Mistakes mistakes;
  EXPECT_TRUE(mistakes.collect([] {}));
  EXPECT_FALSE(mistakes.collect([] { throw usage_error("a: {}", 1); }));
  try {
    mistakes.throw_if_any();
    FAIL();
  } catch (const UsageErrors&) {
    FAIL() << "a single mistake needs no list";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a: 1");
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  }
}

TEST(Mistakes, SeveralAreReportedOnceEachAndThroughAnotherCollection) {
  Mistakes inner, outer;
  for (const char* text : {"a", "b", "a"}) inner.collect([&] { throw usage_error("{}", text); });
  outer.collect([] { throw usage_error("c"); });
  outer.collect([&] { inner.throw_if_any(); });
  try {
    outer.throw_if_any();
    FAIL();
  } catch (const UsageErrors& several) {
    EXPECT_THAT(several.messages(), ElementsAre("c", "a", "b"));
    EXPECT_STREQ(several.what(), "c (and 2 more)");
  }
}

TEST(Mistakes, OtherErrorsPassAndNothingIsThrownWithoutOne) {
  Mistakes mistakes;
  EXPECT_THROW(mistakes.collect([] { throw data_error("missing"); }), Error);
  EXPECT_NO_THROW(mistakes.throw_if_any());
}

}  // namespace mistakes_test
}  // namespace debias

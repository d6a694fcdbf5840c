#include "debias/losses/late_number.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

namespace debias {
namespace late_number_test {

int readings = 0;

std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& call) {
  readings += std::string_view(call.name()) == "debias::read_numbers";
  return nullptr;
}

class LateNumbers : public testing::Test {
 protected:
  LateNumbers() : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(count).scopes({at::RecordScope::FUNCTION}))) {
    readings = 0;
  }
  ~LateNumbers() override { at::removeCallback(handle_); }

 private:
  at::CallbackHandle handle_;
};

LateNumber late(double value) { return LateNumber(at::scalar_tensor(value, at::kDouble)); }

TEST_F(LateNumbers, AreReadTogetherAndOnce) {
  const LateNumber a = late(0.1), b(at::scalar_tensor(7, at::kLong)), c(at::scalar_tensor(true, at::kBool)), known = 3;
  EXPECT_EQ(readings, 0);
  LateNumber::read({&a, &known, &b, &c});
  EXPECT_EQ(readings, 1);
  EXPECT_EQ(a, 0.1);
  EXPECT_EQ(b, 7);
  EXPECT_EQ(c, 1);
  EXPECT_EQ(known, 3);
  EXPECT_EQ(readings, 1);
}

TEST_F(LateNumbers, AreReadByWhoAsks) {
  const LateNumber a = late(2.5);
  EXPECT_EQ(a.value(), 2.5);
  EXPECT_EQ(a.value(), 2.5);
  EXPECT_EQ(readings, 1);
}

// Whether a number is known or not, arithmetic rounds alike: diagnostics must not depend on the device.
TEST_F(LateNumbers, AreAddedAndScaledAsDoubles) {
  const double x = 0.1, y = 0.7;
  for (const bool is_late : {false, true}) {
    LateNumber sum = is_late ? late(x) : LateNumber(x);
    sum += LateNumber(y);
    sum += is_late ? late(y) : LateNumber(y);
    EXPECT_EQ(sum.times(3).over(7), (x + y + y) * 3 / 7) << is_late;
  }
  LateNumber known = x;
  known += late(y);
  EXPECT_EQ(known, x + y);
}

TEST_F(LateNumbers, HaveALesserOne) {
  EXPECT_EQ(LateNumber::lesser(2, 3), 2);
  EXPECT_EQ(LateNumber::lesser(late(2), 3), 2);
  EXPECT_EQ(LateNumber::lesser(3, late(2)), 2);
  EXPECT_EQ(LateNumber::lesser(late(3), late(2)), 2);
  std::optional<LateNumber> least;
  keep_smallest(least, std::nullopt);
  EXPECT_FALSE(least.has_value());
  keep_smallest(least, late(5));
  keep_smallest(least, LateNumber(-1));
  keep_smallest(least, std::nullopt);
  EXPECT_EQ(least->value(), -1);
}

TEST_F(LateNumbers, ThatAreNotFiniteStaySo) {
  LateNumber sum = late(std::nan(""));
  sum += LateNumber(1);
  EXPECT_TRUE(std::isnan(sum));
}

}  // namespace late_number_test
}  // namespace debias

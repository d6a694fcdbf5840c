#include "debias/evaluate/condition.h"

#include <gtest/gtest.h>

#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace condition_test {

TEST(Condition, HoldsByItsOperator) {
  const auto holds = [](const std::string& text, double value) { return parse_condition(text).holds(value); };
  EXPECT_TRUE(holds("a<0.5", 0.4));
  EXPECT_FALSE(holds("a<0.5", 0.5));
  EXPECT_TRUE(holds("a<=0.5", 0.5));
  EXPECT_FALSE(holds("a<=0.5", 0.6));
  EXPECT_TRUE(holds("a>0.5", 0.6));
  EXPECT_FALSE(holds("a>0.5", 0.5));
  EXPECT_TRUE(holds("a>=0.5", 0.5));
  EXPECT_FALSE(holds("a>=0.5", 0.4));
  EXPECT_TRUE(holds("a==0.5", 0.5));
  EXPECT_FALSE(holds("a == 0.5", 0.6));
}

TEST(Condition, ReadsNameAndNumberAroundBlanks) {
  const Condition condition = parse_condition(" test.knn_acc1  <= 7e-1 ");
  EXPECT_EQ(condition.metric, "test.knn_acc1");
  EXPECT_EQ(condition.threshold, 0.7);
}

TEST(Condition, OtherTextIsRefusedWithAnExample) {
  for (const char* text :
       {"", "knn_acc1", "knn_acc1<", "<0.7", "knn_acc1<x", "knn_acc1=0.7", "knn_acc1!=0.7", "a<70%", "a<inf", "a<nan", "a<1<2"}) {
    EXPECT_EQ(usage_error_of([&] { parse_condition(text); }),
              fmt::format("--fail-if '{}': expected METRIC, one of < <= > >= ==, and a number, e.g. 'test.knn_acc1<0.7'", text));
  }
}

TEST(Condition, SpeaksOfAMetricWithOrWithoutItsSplit) {
  const NamedMetrics all = {{"test.knn_acc1", 0.5}, {"valid.knn_acc1", 0.6}, {"test.knn_acc5", 0.9}};
  EXPECT_EQ(metrics_of(parse_condition("test.knn_acc1<1"), all), (NamedMetrics{all[0]}));
  EXPECT_EQ(metrics_of(parse_condition("knn_acc1<1"), all), (NamedMetrics{all[0], all[1]}));
  EXPECT_EQ(usage_error_of([&] { metrics_of(parse_condition("test.knn_acc2<1"), all); }),
            "--fail-if: unknown metric 'test.knn_acc2'; did you mean 'test.knn_acc1'?");
  EXPECT_THROW(metrics_of(parse_condition("acc1<1"), all), Error);  // part of a name is not a name
}

}  // namespace condition_test
}  // namespace debias

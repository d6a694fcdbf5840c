#include "debias/results/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace debias::student_t_test {

// Of the tables in textbooks (Student 1908 and since); 2.5 degrees lie between those of 2 and 3.
TEST(StudentsT, HasTheQuantilesOfTheTables) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.7062047, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.3026527, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 3), 3.1824463, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.7764451, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.95, 10), 1.8124611, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 1e6), 1.9599664, 1e-5);
  EXPECT_EQ(student_t_quantile(0.5, 3), 0);
  EXPECT_NEAR(student_t_quantile(0.025, 2), -4.3026527, 1e-6);
  EXPECT_GT(student_t_quantile(0.975, 2.5), student_t_quantile(0.975, 3));
  EXPECT_LT(student_t_quantile(0.975, 2.5), student_t_quantile(0.975, 2));
  EXPECT_THROW(student_t_quantile(1, 3), std::invalid_argument);
  EXPECT_THROW(student_t_quantile(0.9, 0), std::invalid_argument);
}

// With one degree of freedom the distribution is Cauchy's, whose quantile is a tangent.
TEST(StudentsT, WithOneDegreeIsCauchys) {
  for (const double p : {0.6, 0.75, 0.9, 0.999}) EXPECT_NEAR(student_t_quantile(p, 1), std::tan(M_PI * (p - 0.5)), 1e-9 / (1 - p));
}

// scipy 1.16: 2 * t.sf(t, df).
TEST(StudentsT, HasTheTwoSidedProbabilitiesOfScipy) {
  EXPECT_NEAR(student_t_two_sided(1, 1), 0.5, 1e-12);
  EXPECT_NEAR(student_t_two_sided(-2.5, 2), 0.12961172022151082, 1e-12);
  EXPECT_NEAR(student_t_two_sided(1.3, 7.25), 0.23340363384338914, 1e-12);
  EXPECT_NEAR(student_t_two_sided(40, 3), 3.4380680789158506e-05, 1e-15);
  EXPECT_NEAR(student_t_two_sided(0.001, 4.5), 0.9992449065121516, 1e-12);
  EXPECT_EQ(student_t_two_sided(0, 3), 1);
  EXPECT_THROW(student_t_two_sided(1, 0), std::invalid_argument);
}

}  // namespace debias::student_t_test

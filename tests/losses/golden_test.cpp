// Values computed independently in double precision (NumPy, from the papers' formulas): 2-D unit vectors at the angles below, so that no
// anchor has tied cosines; 4 samples, N = 6, mean over 8 anchors. Printed with nine decimals.
#include <gtest/gtest.h>

#include "debias/losses/debiased.h"
#include "debias/losses/label_free.h"
#include "tests/losses/known_batch.h"
#include "tests/support/embeddings.h"
#include "tests/support/objective_checks.h"
#include "tests/support/with_changes.h"

namespace debias {
namespace golden_test {

constexpr double kPrinted = 6e-10;  // half a unit of the last printed decimal, and some rounding

at::Tensor three_views() { return angles({{0, 41, 133, 205}, {12, 66, 118, 240}, {23, 52, 146, 214}}); }

TEST(Golden, InfoNce) {
  EXPECT_NEAR(value(infonce(two_views())), 0.756893864, kPrinted);
  EXPECT_NEAR(value(infonce(two_views(), InfoNceOptions{.temperature = 0.07})), 0.105501200, kPrinted);
}

TEST(Golden, Unbiased) {
  EXPECT_NEAR(value(unbiased(two_views(), classes(), UnbiasedOptions{.negatives = TrueNegatives::kDrop})), 0.340647031, kPrinted);
  EXPECT_NEAR(value(unbiased(two_views(), classes())), 0.466996736, kPrinted);
  const auto dropped = infonce(two_views(), InfoNceOptions{.drop_false_negatives = true}, classes());
  EXPECT_NEAR(value(dropped), 0.340647031, kPrinted);
}

TEST(Golden, DebiasedNegativesFloor) {
  const auto loss = debiased_negatives(two_views());
  EXPECT_NEAR(value(loss), 0.500208463, kPrinted);
  EXPECT_EQ(loss.clamped, 2);
  EXPECT_EQ(loss.anchors, 8);
  EXPECT_EQ(loss.anchors_used, 8);
}

TEST(Golden, DebiasedNegativesLargePrior) {
  const auto options = DebiasedNegativesOptions{.tau_plus = 0.5};
  const auto floor = debiased_negatives(two_views(), options);
  EXPECT_NEAR(value(floor), 0.122717756, kPrinted);
  EXPECT_EQ(floor.clamped, 8);
  const auto fallback = debiased_negatives(two_views(), with_changes(options, [&](auto& o) { o.clamp = Clamp::kFallback; }));
  EXPECT_NEAR(value(fallback), 0.756893864, kPrinted);
  EXPECT_EQ(fallback.clamped, 8);
}

TEST(Golden, DebiasedNegativesLowTemperature) {
  const auto options = DebiasedNegativesOptions{.temperature = 0.07};
  const auto floor = debiased_negatives(two_views(), options);
  EXPECT_NEAR(value(floor), 0.019346058, kPrinted);
  EXPECT_EQ(floor.clamped, 7);
  const auto fallback = debiased_negatives(two_views(), with_changes(options, [&](auto& o) { o.clamp = Clamp::kFallback; }));
  EXPECT_NEAR(value(fallback), 0.054848945, kPrinted);
  EXPECT_EQ(fallback.clamped, 7);
}

TEST(Golden, DebiasedNegativesThreeViews) {
  const auto loss = debiased_negatives(three_views());
  EXPECT_NEAR(value(loss), 0.501546925, kPrinted);
  EXPECT_EQ(loss.clamped, 2);
  EXPECT_EQ(loss.anchors, 8);
}

TEST(Golden, DebiasedPositives) {
  const auto loss = debiased_positives(two_views());
  EXPECT_NEAR(value(loss), 0.401999982, kPrinted);
  EXPECT_EQ(loss.clamped, 0);
  ASSERT_TRUE(loss.min_estimate.has_value());
  EXPECT_NEAR(*loss.min_estimate, 1.362632789, kPrinted);
  EXPECT_NEAR(value(debiased_positives(two_views(), DebiasedPositivesOptions{.tau_plus = 0.5})), 1.000945879, kPrinted);
  EXPECT_NEAR(value(debiased_positives(two_views(), DebiasedPositivesOptions{.form = PositiveForm::kSum})), 0.267143144, kPrinted);
}

// From the masks of the authors' code, followed by hand: same-class entries zero, the anchor's own among them, the partner put back.
TEST(Golden, DebiasedPositivesAsLastPublished) {
  const auto dropping = DebiasedPositivesOptions{.form = PositiveForm::kFinal, .drop_false_negatives = true};
  const auto loss = debiased_positives(two_views(), dropping, classes());
  EXPECT_NEAR(value(loss), 0.316560592, kPrinted);
  EXPECT_NEAR(*loss.min_estimate, 0.616599144, kPrinted);
  EXPECT_NEAR(value(debiased_positives(two_views(), dropping, integers({0, -1, 1, 1}))), 0.532199579, kPrinted);  // keeps its own entry
  EXPECT_NEAR(value(debiased_positives(two_views(), DebiasedPositivesOptions{.form = PositiveForm::kFinal})), 0.401999982, kPrinted);
}

TEST(Golden, DebiasedPositivesThreeViews) {
  EXPECT_NEAR(value(debiased_positives(three_views())), 0.397493809, kPrinted);
  const auto pairs = debiased_positives(three_views(), DebiasedPositivesOptions{.aggregation = Aggregation::kPairs});
  EXPECT_NEAR(value(pairs), 0.422150826, kPrinted);
  EXPECT_EQ(pairs.anchors, 12);
}

// All negatives at cosine 1 and the positive at cosine -1, for every row of view 0: the worst case of the numerator.
TEST(Golden, NumeratorOfDebiasedPositivesAtItsWorst) {
  const auto worst = [](int64_t negatives) {
    const int64_t samples = negatives / 2 + 1;
    std::vector<double> first(samples, 0), second(samples, 0);
    second[0] = 180;
    return debiased_positives(angles({first, second}), DebiasedPositivesOptions());
  };
  const auto six = worst(6);
  EXPECT_NEAR(*six.min_estimate, -0.167809, 5e-7);
  EXPECT_GE(six.clamped, 1);
  EXPECT_NEAR(*worst(8).min_estimate, 0.013534, 5e-7);  // exactly on the floor: whether the guard counts it is rounding
}

}  // namespace golden_test
}  // namespace debias

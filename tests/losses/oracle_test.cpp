// Each objective against loops over rows, over sizes, temperatures and all values of its options. Sums have at most 2B = 26 terms of double
// precision and logs of order 1, so 1e-12 leaves room for a hundred roundings; per-row scales cancel.
#include <gtest/gtest.h>

#include "tests/support/embeddings.h"
#include "tests/support/naive_objectives.h"

namespace debias {
namespace oracle_test {

constexpr double kTolerance = 1e-12;

struct Case {
  int64_t samples, views, dimensions;
  double temperature;
};

std::vector<Case> cases() {
  return {{2, 2, 1, 0.5}, {2, 2, 3, 1}, {3, 2, 2, 0.2}, {5, 2, 4, 0.5}, {13, 2, 7, 0.1}, {2, 3, 2, 0.5}, {4, 3, 5, 0.3}, {7, 5, 8, 2}};
}

naive::Batch batch_of(const Case& c, bool labelled) {
  naive::Batch batch = {random_embeddings(c.samples, c.views, c.dimensions, 7 + c.samples), {}};
  const std::vector<int64_t> pattern = {0, 1, 0, -1, 2, -1, 1, 0, 3};
  for (int64_t i = 0; labelled && i < c.samples; ++i) batch.labels.push_back(pattern[i % pattern.size()]);
  return batch;
}

at::Tensor labels_of(const naive::Batch& batch) { return batch.labels.empty() ? at::Tensor() : integers(batch.labels); }

void expect_same(const ObjectiveResult& found, const naive::Result& expected, const std::string& what, double tolerance = kTolerance) {
  EXPECT_NEAR(found.value.item<double>(), expected.value, kTolerance) << what;
  ASSERT_EQ(found.anchors, static_cast<int64_t>(expected.per_anchor.size())) << what;
  for (int64_t row = 0; row < found.anchors; ++row) {
    const double own = found.per_anchor[row].item<double>();
    if (std::isnan(expected.per_anchor[row])) {
      EXPECT_TRUE(std::isnan(own)) << what << ", row " << row;
    } else {
      EXPECT_NEAR(own, expected.per_anchor[row], tolerance) << what << ", row " << row;
    }
  }
  EXPECT_EQ(found.anchors_used, expected.used) << what;
  EXPECT_EQ(found.clamped, expected.clamped) << what;
  EXPECT_EQ(found.min_estimate.has_value(), std::isfinite(expected.min_estimate)) << what;
  if (found.min_estimate) {
    EXPECT_NEAR(*found.min_estimate, expected.min_estimate, 1e-12 * std::max(1.0, std::abs(expected.min_estimate)) * 100) << what;
  }
}

template <class Options>
std::string named(const Case& c, const Options& options) {
  return fmt::format("B {} V {} D {}: {}", c.samples, c.views, c.dimensions, config_of(options).to_json().dump());
}

TEST(Oracle, InfoNce) {
  for (const Case& c : cases()) {
    for (bool drop : {false, true}) {
      const auto batch = batch_of(c, drop);
      const auto options = InfoNceOptions{.temperature = c.temperature, .drop_false_negatives = drop};
      const auto expected = naive::evaluate(batch, c.temperature, true, [&](const auto& e) { return naive::infonce(e, options); });
      expect_same(infonce(batch.z, options, labels_of(batch)), expected, named(c, options));
    }
  }
}

TEST(Oracle, Unbiased) {
  for (const Case& c : cases()) {
    for (TrueNegatives negatives : {TrueNegatives::kRescale, TrueNegatives::kDrop}) {
      const auto batch = batch_of(c, true);
      const auto options = UnbiasedOptions{.temperature = c.temperature, .negatives = negatives};
      const auto expected = naive::evaluate(batch, c.temperature, true, [&](const auto& e) { return naive::unbiased(e, options); });
      expect_same(unbiased(batch.z, labels_of(batch), options), expected, named(c, options));
    }
  }
}

TEST(Oracle, DebiasedNegatives) {
  for (const Case& c : cases()) {
    for (Clamp clamp : {Clamp::kFloor, Clamp::kFallback, Clamp::kPositive, Clamp::kNone}) {
      for (double tau_plus : {0.0, 0.02, 0.1, 0.4, 0.9}) {
        for (Aggregation aggregation : {Aggregation::kGrouping, Aggregation::kPairs}) {
          for (bool drop : {false, true}) {
            const auto batch = batch_of(c, drop);
            const auto options = DebiasedNegativesOptions{.temperature = c.temperature,
                                                          .tau_plus = tau_plus,
                                                          .clamp = clamp,
                                                          .aggregation = aggregation,
                                                          .drop_false_negatives = drop};
            const auto expected = naive::evaluate(batch, c.temperature, aggregation == Aggregation::kPairs,
                                                  [&](const auto& e) { return naive::debiased_negatives(e, options); });
            expect_same(debiased_negatives(batch.z, options, labels_of(batch)), expected, named(c, options));
          }
        }
      }
    }
  }
}

TEST(Oracle, DebiasedPositives) {
  for (const Case& c : cases()) {
    for (Guard guard : {Guard::kFloor, Guard::kFallback, Guard::kNone}) {
      for (PositiveForm form : {PositiveForm::kEq12, PositiveForm::kSum, PositiveForm::kFinal}) {
        for (double tau_plus : {0.02, 0.1, 0.4, 0.9}) {
          for (Aggregation aggregation : {Aggregation::kGrouping, Aggregation::kPairs}) {
            for (bool drop : {false, true}) {
              const auto batch = batch_of(c, drop);
              const auto options = DebiasedPositivesOptions{.temperature = c.temperature,
                                                            .tau_plus = tau_plus,
                                                            .form = form,
                                                            .guard = guard,
                                                            .aggregation = aggregation,
                                                            .drop_false_negatives = drop};
              const auto expected = naive::evaluate(batch, c.temperature, aggregation == Aggregation::kPairs,
                                                    [&](const auto& e) { return naive::debiased_positives(e, options); });
              // Unguarded, the last form's mean less its true negatives nearly cancels in some anchors, and its logarithm has the rest.
              const double tolerance = form == PositiveForm::kFinal ? 10 * kTolerance : kTolerance;
              expect_same(debiased_positives(batch.z, options, labels_of(batch)), expected, named(c, options), tolerance);
            }
          }
        }
      }
    }
  }
}

}  // namespace oracle_test
}  // namespace debias

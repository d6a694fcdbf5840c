#include "debias/train/methods/diagnostics.h"

#include <gtest/gtest.h>

#include "debias/core/error.h"

namespace debias {
namespace diagnostics_test {

Diagnostics one(double loss, int64_t clamped, std::optional<double> least, double size) {
  Diagnostics diagnostics;
  diagnostics.terms.push_back({1, loss, 10, clamped, 20, least, size > 0 ? 1 : 0, size});
  diagnostics.classifier = {8, 2, 1, 1.5};
  return diagnostics;
}

TEST(Diagnostics, IsSummedOverSteps) {
  Diagnostics sum;
  sum.add(one(2, 1, -0.5, 30));
  sum.add(one(4, 4, -0.25, 20));
  sum.add(one(6, 0, std::nullopt, 0));
  const Metrics expected = {
      {"clamped_share", 5.0 / 60}, {"min_estimate", -0.5}, {"effective_sample_size", 25}, {"acc1", 0.25}, {"classifier_loss", 1.5}};
  EXPECT_EQ(sum.metrics({"infonce"}), expected);
  EXPECT_EQ(Diagnostics::from_json(nlohmann::ordered_json::parse(sum.to_json().dump())).metrics({"infonce"}), expected);
}

TEST(Diagnostics, OfSeveralTermsCarriesTheirLabels) {
  Diagnostics both;
  both.terms = {{2, 3, 10, 0, 10, std::nullopt, 0, 0}, {2, 5, 10, 2, 2, 0.5, 0, 0}};
  const Metrics expected = {
      {"infonce.loss", 1.5}, {"infonce.clamped_share", 0}, {"end.loss", 2.5}, {"end.clamped_share", 1}, {"end.min_estimate", 0.5}};
  EXPECT_EQ(both.metrics({"infonce", "end"}), expected);
  EXPECT_EQ(Diagnostics::from_json(both.to_json()).metrics({"infonce", "end"}), expected);
}

TEST(Diagnostics, AMethodsOwnMetricsAreRatiosOfSums) {
  Diagnostics sum, step;
  step.of_method = {{"hit_share", 3, 4}, {"entropy", 0.5, 1}, {"rare", 0, 0}};
  sum.add(step);
  step.of_method = {{"hit_share", 1, 4}, {"entropy", 1.5, 1}};
  sum.add(step);
  const Metrics expected = {{"hit_share", 0.5}, {"entropy", 1.0}};  // nothing is known of what was never counted
  EXPECT_EQ(sum.metrics({}), expected);
  EXPECT_EQ(Diagnostics::from_json(nlohmann::ordered_json::parse(sum.to_json().dump())).metrics({}), expected);
  EXPECT_EQ(sum.metric_of_method("hit_share")->count, 8);
  EXPECT_EQ(sum.metric_of_method("other"), nullptr);
  auto damaged = sum.to_json();
  damaged["method"]["entropy"]["count"] = "two";
  EXPECT_THROW(Diagnostics::from_json(damaged), Error);
}

TEST(Diagnostics, OfOlderProgramsHasNoShareInTheEpochThatIsResumed) {
  auto json = one(2, 5, 0.5, 30).to_json();
  json["terms"][0].erase("clampable");
  Diagnostics resumed = Diagnostics::from_json(json);
  resumed.add(one(2, 15, 0.5, 30));
  EXPECT_EQ(resumed.metrics({"fairkl"})[0].second, 0.75);  // 15 of the 20 since
}

TEST(Diagnostics, OfNothingIsZeroOrAbsent) {
  Diagnostics empty;
  empty.terms.resize(1);
  EXPECT_EQ(empty.metrics({"infonce"}), (Metrics{{"clamped_share", 0}}));
}

}  // namespace diagnostics_test
}  // namespace debias

// Running losses of samples and the weights that follow from them.
#include "debias/train/methods/rivals/sample_visits.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/support/finite_differences.h"
#include "tests/train/sample_list.h"

namespace debias {
namespace sample_visits_test {

RunningLosses running(const SampleTable& samples, double momentum) { return {"x", samples, momentum, at::Device(at::kCPU)}; }

TEST(MeanOfSample, JoinsTheVisitsOfASampleInABatch) {
  const at::Tensor found = mean_of_sample(at::tensor({7, 2, 7, 5}, at::kLong), at::tensor({1.0, 4.0, 2.0, 8.0}, at::kDouble));
  EXPECT_TRUE(found.equal(at::tensor({1.5, 4.0, 1.5, 8.0}, at::kDouble)));
}

TEST(RunningLosses, ByHand) {
  const SampleList samples = sample_list({{{0, 0}, 2}, {{1, 0}, 2}});  // samples 0, 1 of class 0 and 2, 3 of class 1
  RunningLosses losses = running(samples, 0.75);
  const at::Tensor first = losses.relative(at::tensor({0, 1, 2}, at::kLong), at::tensor({1.0, 4.0, 2.0}, at::kDouble));
  EXPECT_TRUE(at::allclose(first, at::tensor({0.25f, 1.0f, 1.0f})));  // over 4, 4 and 2
  EXPECT_TRUE(losses.losses().eq(-1).all().item<bool>());             // nothing is kept before the step is done
  losses.commit();
  EXPECT_TRUE(losses.losses().equal(at::tensor({1.0f, 4.0f, 2.0f, -1.0f})));
  const at::Tensor second = losses.relative(at::tensor({1, 3}, at::kLong), at::tensor({0.0, 8.0}, at::kDouble));
  EXPECT_TRUE(at::allclose(second, at::tensor({1.0f, 1.0f})));  // 3 of class 0, where 1 is less; the first visit of 3
  losses.commit();
  EXPECT_TRUE(losses.losses().equal(at::tensor({1.0f, 3.0f, 2.0f, 8.0f})));
}

TEST(RunningLosses, AreThoseOfANaiveLoop) {
  const SampleList samples = sample_list({{{0, 0}, 7}, {{1, 0}, 5}, {{2, 0}, 9}});
  const double momentum = 0.7;
  RunningLosses losses = running(samples, momentum);
  std::map<int64_t, double> kept;
  for (int64_t step = 0; step < 12; ++step) {
    std::vector<int64_t> indices;
    std::vector<double> values;
    for (int64_t i = 0; i < 8; ++i) {
      indices.push_back((step * 5 + i * 3 + i * i) % samples.size());
      values.push_back(1 + std::sin(static_cast<double>(step * 8 + i)));
    }
    std::map<int64_t, std::vector<double>> visits;
    for (size_t i = 0; i < indices.size(); ++i) visits[indices[i]].push_back(values[i]);
    for (const auto& [index, of_sample] : visits) {
      double mean = 0;
      for (const double value : of_sample) mean += value / static_cast<double>(of_sample.size());
      kept[index] = kept.contains(index) ? momentum * kept[index] + (1 - momentum) * mean : mean;
    }
    std::map<int64_t, double> largest;
    for (const auto& [index, value] : kept) {
      const int64_t label = samples.label(index);
      largest[label] = std::max(largest[label], value);
    }
    const at::Tensor found = losses.relative(at::tensor(indices, at::kLong), at::tensor(values, at::kDouble));
    losses.commit();
    for (size_t i = 0; i < indices.size(); ++i) {
      EXPECT_NEAR(found[static_cast<int64_t>(i)].item<double>(), kept[indices[i]] / largest[samples.label(indices[i])], 1e-6)
          << "step " << step << " row " << i;
    }
  }
}

TEST(RunningLosses, OfAClassWithoutLossAreZero) {
  const SampleList samples = sample_list({{{0, 0}, 2}, {{1, 0}, 1}});
  RunningLosses losses = running(samples, 0.5);
  EXPECT_TRUE(losses.relative(at::tensor({0, 1}, at::kLong), at::zeros({2})).eq(0).all().item<bool>());
}

TEST(RelativeDifficulty, IsNearOneWhereTheBiasedNetworkAloneFails) {
  const at::Tensor found =
      relative_difficulty(at::tensor({0.9, 0.1, 0.5, 0.0}, at::kDouble), at::tensor({0.1, 0.9, 0.5, 0.0}, at::kDouble));
  EXPECT_LT(largest_difference(found, at::tensor({0.9, 0.1, 0.5, 0.0}, at::kDouble)), 1e-7);
}

}  // namespace sample_visits_test
}  // namespace debias

// Hand-worked configurations, a naive double loop over pairs, and the protocol on the toy.
#include "debias/evaluate/protocols/geometry.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/philox.h"
#include "debias/evaluate/protocols/bias_probe.h"
#include "debias/evaluate/protocols/geometry_metrics.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace geometry_test {

at::Tensor random_rows(int64_t n, int64_t d, uint64_t seed) {
  Random random({.domain = RngDomain::kTest, .seed = seed});
  at::Tensor rows = at::empty({n, d}, at::kFloat);
  for (int64_t i = 0; i < n * d; ++i) rows.mutable_data_ptr<float>()[i] = static_cast<float>(random.normal());
  return rows;
}

TEST(Geometry, AlignmentIsTheMeanSquaredDistanceOfUnitViews) {
  const at::Tensor first = at::tensor({2.f, 0.f, 0.f, 1.f}).view({2, 2}), second = at::tensor({0.f, 3.f, 0.f, 5.f}).view({2, 2});
  EXPECT_NEAR(alignment(first, second), 1, 1e-7);  // (2 + 0) / 2
  EXPECT_EQ(alignment(first, first), 0);
  EXPECT_EQ(data_error_of([&] { alignment(first, second.narrow(0, 0, 1)); }),
            "alignment: 2 first and 1 second views; give two of each image");
}

TEST(Geometry, RankmeCountsTheDirectionsInUse) {
  EXPECT_NEAR(rankme(at::eye(5, at::kFloat) * 3), 5, 1e-4);
  EXPECT_NEAR(rankme(at::ones({6, 4})), 1, 1e-4);
  EXPECT_NEAR(rankme(at::eye(5, at::kFloat).narrow(0, 0, 3)), 3, 1e-4);  // fewer rows than dimensions
  const at::Tensor two = at::tensor({3.f, 0.f, 0.f, 1.f}).view({2, 2});  // p = 3/4, 1/4
  EXPECT_NEAR(rankme(two), std::exp(-(0.75 * std::log(0.75) + 0.25 * std::log(0.25))), 1e-5);
}

TEST(Geometry, StandardDeviationIsZeroWhenCollapsedAndOneOverRootDWhenSpread) {
  EXPECT_NEAR(std_of_l2_normalized(at::ones({6, 4})), 0, 1e-7);
  EXPECT_NEAR(std_of_l2_normalized(random_rows(4000, 16, 1)), 0.25, 0.005);
  // z = (1, 0), (0, 1): each dimension has standard deviation sqrt(1/2).
  EXPECT_NEAR(std_of_l2_normalized(at::tensor({4.f, 0.f, 0.f, 2.f}).view({2, 2})), std::sqrt(0.5), 1e-6);
}

TEST(Geometry, PairsEqualANaiveDoubleLoop) {
  const int64_t N = 300, bins = 8;  // more than one block
  const at::Tensor rows = random_rows(N, 5, 2);
  Random random({.domain = RngDomain::kTest, .seed = 3});
  std::vector<int64_t> labels, biases;
  for (int64_t i = 0; i < N; ++i) {
    labels.push_back(random.below(4) - (i % 50 == 0 ? 4 : 0) < 0 ? kUnknown : random.below(4));
    biases.push_back(i % 70 == 0 ? kUnknown : random.below(3));
  }
  const at::Tensor z = (rows / at::linalg_vector_norm(rows, 2, {1}, true)).contiguous();
  const float* value = z.const_data_ptr<float>();
  double potential = 0;
  std::map<std::string, std::vector<double>> cosines;
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t j = i + 1; j < N; ++j) {
      double cosine = 0, distance = 0;
      for (int64_t d = 0; d < 5; ++d) {
        cosine += value[i * 5 + d] * value[j * 5 + d];
        distance += std::pow(value[i * 5 + d] - value[j * 5 + d], 2);
      }
      potential += std::exp(-2 * distance);
      if (labels[i] == kUnknown || labels[j] == kUnknown || biases[i] == kUnknown || biases[j] == kUnknown) continue;
      cosines[std::string(labels[i] == labels[j] ? "positive_" : "negative_") + (biases[i] == biases[j] ? "aligned" : "conflicting")]
          .push_back(cosine);
    }
  }
  const PairGeometry found = pair_geometry(rows, labels, biases, bins);
  EXPECT_NEAR(found.uniformity, std::log(potential / (N * (N - 1) / 2.0)), 1e-6);
  ASSERT_EQ(found.distributions.size(), 4u);
  for (const auto& [name, list] : cosines) {
    const SimilarityHistogram& distribution = found.distributions.at(name);
    EXPECT_EQ(distribution.pairs, static_cast<int64_t>(list.size())) << name;
    double mean = 0, squares = 0;
    for (const double c : list) mean += c / static_cast<double>(list.size());
    for (const double c : list) squares += (c - mean) * (c - mean) / static_cast<double>(list.size());
    EXPECT_NEAR(distribution.mean, mean, 1e-6) << name;
    EXPECT_NEAR(distribution.std, std::sqrt(squares), 1e-6) << name;
    std::vector<int64_t> histogram(static_cast<size_t>(bins));
    for (const double c : list) ++histogram[std::min<int64_t>(bins - 1, static_cast<int64_t>((c + 1) / 2 * bins))];
    for (int64_t b = 0; b < bins; ++b) EXPECT_NEAR(distribution.histogram[b], histogram[b], 1) << name;  // a cosine at an edge may round
  }
}

TEST(Geometry, WithoutBiasValuesThereAreTwoSets) {
  const PairGeometry found = pair_geometry(at::eye(3, at::kFloat), {0, 0, 1}, {kUnknown, kUnknown, kUnknown}, 4);
  ASSERT_EQ(found.distributions.size(), 2u);
  EXPECT_EQ(found.distributions.at("positive").pairs, 1);
  EXPECT_EQ(found.distributions.at("negative").pairs, 2);
  EXPECT_NEAR(found.uniformity, -4, 1e-9);  // all at right angles
  const PairGeometry alone = pair_geometry(at::eye(2, at::kFloat), {0, 1}, {0, 1}, 4);
  EXPECT_TRUE(std::isnan(alone.distributions.at("positive_aligned").mean));
}

TEST(Geometry, RefusesTooFewRowsLengthsThatDifferAndRowsThatAreNotFinite) {
  EXPECT_EQ(data_error_of([] { pair_geometry(at::ones({1, 2}), {0}, {0}, 4); }), "geometry: 1 rows; it needs at least two");
  EXPECT_EQ(data_error_of([] {
              pair_geometry(at::ones({2, 2}), {0}, {0, 1}, 4);
            }),
            "geometry: 2 rows and 1 labels; give one label per row");
  EXPECT_EQ(data_error_of([] { pair_geometry(at::ones({2, 2}), {0, 1}, {0}, 4); }), "geometry: 2 rows and 1 bias labels; give one per row");
  EXPECT_EQ(error_of(ErrorKind::kNumeric,
                     [] {
                       rankme(at::full({2, 2}, NAN));
                     }),
            "rankme: a row is not finite; check the encoder's weights");
}

std::shared_ptr<ToyDataset> biased(int64_t size, const std::string& split, int64_t shift) {
  const auto dataset = std::make_shared<ToyDataset>(size, 3, split);
  for (int64_t i = 0; i < size; ++i) dataset->set_bias(i, (i + shift) % 3);
  return dataset;
}

TEST(GeometryProtocol, ReportsEveryMetricAndTheProbeReadsTheBias) {
  EvaluationInput input = toy_input();
  input.train = biased(60, "train", 0);
  input.test = biased(31, "test", 0);
  input.train_views = read_views(options("{preset: sim32, random_resized_crop: {size: 6}}"));
  const EvaluationResult result = evaluated(input, "geometry", "{bins: 10}");
  EXPECT_GT(result.metrics.at("test.alignment"), 0);
  EXPECT_LT(result.metrics.at("test.uniformity"), 0);
  EXPECT_GT(result.metrics.at("test.rankme"), 1);
  EXPECT_GT(result.metrics.at("test.std_of_l2_normalized"), 0);
  EXPECT_EQ(result.metrics.at("test.bias_probe_acc1"), 1);
  EXPECT_NEAR(result.metrics.at("test.bias_majority_rate"), 11.0 / 31, 1e-12);
  EXPECT_NEAR(result.metrics.at("test.bias_uniform_rate"), 1.0 / 3, 1e-12);
  EXPECT_EQ(details(result)["bias_probe"]["converged"], true);
  EXPECT_TRUE(result.notes.empty());
  const auto similarity = details(result)["similarity"]["test"];
  EXPECT_EQ(similarity["positive_aligned"]["histogram"].size(), 10u);
  EXPECT_EQ(similarity["positive_conflicting"]["pairs"], 0);
  EXPECT_TRUE(similarity["positive_conflicting"]["mean"].is_null());
}

TEST(GeometryProtocol, ViewsThatChangeNothingAlignPerfectlyAndFewSamplesAreDrawnBySeed) {
  EvaluationInput input = toy_input();
  input.train_views = read_views(options("{preset: none}"));
  const auto at_seed = [&](int seed) { return evaluated(input, "geometry", fmt::format("{{samples: 7, seed: {}}}", seed)).metrics; };
  EXPECT_NEAR(at_seed(1).at("test.alignment"), 0, 1e-12);
  EXPECT_EQ(at_seed(1), at_seed(1));
  EXPECT_NE(at_seed(1), at_seed(2));
}

// The bias is a channel that hardly varies beside two that do: ten times weaker than what the features are made of, and yet linear.
TEST(GeometryProtocol, ReadsABiasThatIsWeakInTheFeatures) {
  Random random({.domain = RngDomain::kTest, .seed = 5});
  Features train;
  train.values = random_rows(600, 4, 6) * 10;
  for (int64_t i = 0; i < 600; ++i) {
    train.biases.push_back(i % 2 == 0 ? 3 : 7);
    train.values[i][2] = 50 + 1e-3 * static_cast<double>(i % 2) + 1e-4 * random.normal();
  }
  const auto probe = fit_bias_probe(train, 1000, Progress::silent());
  ASSERT_TRUE(probe.has_value());
  EXPECT_TRUE(probe->fit.converged);
  EXPECT_EQ(probe->values, (std::vector<int64_t>{3, 7}));
  EXPECT_EQ(probe->majority, 3);
  EXPECT_GT(read_bias(*probe, train).accuracy, 0.99);
}

TEST(GeometryProtocol, SaysThatTheBiasProbeHasNotConverged) {
  EvaluationInput input = toy_input();
  input.train = biased(60, "train", 0);
  input.test = biased(31, "test", 0);
  const EvaluationResult result = evaluated(input, "geometry", "{probe_iterations: 1}");
  EXPECT_EQ(details(result)["bias_probe"]["converged"], false);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_TRUE(result.notes[0].starts_with("geometry: the bias probe has not converged in 1 iterations (largest gradient "))
      << result.notes[0];
}

// Bias labels that training has not seen are read wrongly, and rows without one do not count.
TEST(BiasProbe, CountsWhatItIsEvaluatedOn) {
  Features train;
  train.values = at::eye(4, at::kFloat);
  train.biases = {5, 5, 2, kUnknown};
  const auto probe = fit_bias_probe(train, 1000, Progress::silent());
  ASSERT_TRUE(probe.has_value());
  EXPECT_EQ(probe->values, (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(probe->majority, 5);
  train.biases = {5, 3, 2, kUnknown};
  const BiasReading reading = read_bias(*probe, train);
  EXPECT_EQ(reading.known, 3);
  EXPECT_DOUBLE_EQ(reading.accuracy, 2.0 / 3);
  EXPECT_DOUBLE_EQ(reading.majority_rate, 1.0 / 3);
  EXPECT_DOUBLE_EQ(reading.uniform_rate, 0.5);
}

TEST(GeometryProtocol, SaysWhyThereIsNoBiasProbe) {
  const EvaluationResult result = evaluated(toy_input(), "geometry", "{samples: 10}");
  EXPECT_FALSE(result.metrics.contains("test.bias_probe_acc1"));
  EXPECT_EQ(result.notes.at(0), "geometry: the training set has fewer than two bias labels, so no bias_probe_acc1");
  EXPECT_TRUE(evaluated(toy_input(), "geometry", "{samples: 10, bias_probe: false}").notes.empty());
}

}  // namespace geometry_test
}  // namespace debias

// Affinities, repulsion and map against naive double loops, scikit-learn's divergences (check_with_sklearn.py), and the protocol on the
// toy.
#include "debias/evaluate/protocols/tsne.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "debias/core/philox.h"
#include "debias/evaluate/maps/neighbour_map.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace tsne_test {

// Unit rows around `clusters` centres: normal noise of deviation 1 about centres of deviation `spread`.
at::Tensor clustered_rows(int64_t n, int64_t dim, int64_t clusters, double spread, uint64_t seed) {
  Random random({.domain = RngDomain::kTest, .seed = seed});
  std::vector<double> centres(static_cast<size_t>(clusters * dim));
  for (double& value : centres) value = spread * random.normal();
  at::Tensor rows = at::empty({n, dim}, at::kFloat);
  float* value = rows.mutable_data_ptr<float>();
  for (int64_t i = 0; i < n * dim; ++i) value[i] = static_cast<float>(centres[i / dim % clusters * dim + i % dim] + random.normal());
  return (rows / at::linalg_vector_norm(rows, 2, {1}, true)).contiguous();
}

std::vector<Point> random_points(int64_t n, double deviation, uint64_t seed) {
  Random random({.domain = RngDomain::kTest, .seed = seed});
  std::vector<Point> points(static_cast<size_t>(n));
  for (Point& point : points) point = {deviation * random.normal(), deviation * random.normal()};
  return points;
}

double perplexity_of(const std::vector<double>& p) {
  double entropy = 0;
  for (const double share : p) entropy -= share > 0 ? share * std::log(share) : 0;
  return std::exp(entropy);
}

using Dense = std::vector<std::vector<double>>;

Dense dense(const Affinities& affinities) {
  const int64_t N = affinities.points();
  Dense p(static_cast<size_t>(N), std::vector<double>(static_cast<size_t>(N)));
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t j = affinities.begin[i]; j < affinities.begin[i + 1]; ++j) p[i][affinities.partner[j]] = affinities.p[j];
  }
  return p;
}

double kernel(const Point& a, const Point& b) { return 1 / (1 + (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y)); }

Repulsion naive_repulsion(const std::vector<Point>& points) {
  Repulsion result{std::vector<Point>(points.size()), 0};
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t j = 0; j < points.size(); ++j) {
      if (i == j) continue;
      const double w = kernel(points[i], points[j]);
      result.normaliser += w;
      result.forces[i].x += w * w * (points[i].x - points[j].x);
      result.forces[i].y += w * w * (points[i].y - points[j].y);
    }
  }
  return result;
}

double naive_divergence(const Dense& p, const std::vector<Point>& points) {
  const double normaliser = naive_repulsion(points).normaliser;
  double sum = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t j = 0; j < points.size(); ++j) {
      if (p[i][j] > 0) sum += p[i][j] * std::log(p[i][j] * normaliser / kernel(points[i], points[j]));
    }
  }
  return sum;
}

// The same descent with all pairs, written out.
std::vector<Point> naive_map(const Dense& p, std::vector<Point> points, int steps) {
  const size_t N = points.size();
  const double late = std::max(static_cast<double>(N) / 48, 50.0);
  std::vector<double> velocity(2 * N), gain(2 * N, 1);
  for (int step = 0; step < steps; ++step) {
    const bool early = step < std::min(250, steps / 4);
    const double exaggeration = early ? 12 : 1, momentum = early ? 0.5 : 0.8, rate = early && N < 600 ? static_cast<double>(N) / 12 : late;
    const Repulsion away = naive_repulsion(points);
    std::vector<double> slope(2 * N);
    for (size_t i = 0; i < N; ++i) {
      for (size_t j = 0; j < N; ++j) {
        const double w = kernel(points[i], points[j]);
        slope[2 * i] += 4 * exaggeration * p[i][j] * w * (points[i].x - points[j].x);
        slope[2 * i + 1] += 4 * exaggeration * p[i][j] * w * (points[i].y - points[j].y);
      }
      slope[2 * i] -= 4 * away.forces[i].x / away.normaliser;
      slope[2 * i + 1] -= 4 * away.forces[i].y / away.normaliser;
    }
    for (size_t c = 0; c < 2 * N; ++c) {
      gain[c] = slope[c] * velocity[c] < 0 ? gain[c] + 0.2 : std::max(0.01, gain[c] * 0.8);
      velocity[c] = momentum * velocity[c] - rate * gain[c] * slope[c];
      (c % 2 == 0 ? points[c / 2].x : points[c / 2].y) += velocity[c];
    }
  }
  return points;
}

Affinities affinities_of(const at::Tensor& rows, double perplexity) {
  return joint_affinities(nearest_points(rows, std::min<int64_t>(rows.size(0) - 1, static_cast<int64_t>(3 * perplexity))), perplexity);
}

std::vector<Point> map_of(const at::Tensor& rows, double perplexity, int64_t steps = 1000) {
  return neighbour_map(affinities_of(rows, perplexity), principal_start(rows, 1), steps, nullptr);
}

std::vector<Point> turned(std::vector<Point> points, double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  for (Point& point : points) point = {c * point.x - s * point.y, s * point.x + c * point.y};
  return points;
}

double distance(const Point& a, const Point& b) { return std::hypot(a.x - b.x, a.y - b.y); }

TEST(ConditionalAffinities, HaveThePerplexityAskedForAndFallWithDistance) {
  Random random({.domain = RngDomain::kTest, .seed = 1});
  for (const double scale : {1e-12, 1.0, 1e6}) {
    std::vector<double> distances(90);
    for (double& distance : distances) distance = scale * (3 + random.uniform());
    for (const double perplexity : {1.5, 5.0, 30.0, 80.0}) {
      const std::vector<double> p = conditional_affinities(distances, perplexity);
      EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-12);
      EXPECT_NEAR(perplexity_of(p), perplexity, 1e-5) << "scale " << scale;
      EXPECT_EQ(std::max_element(p.begin(), p.end()) - p.begin(), std::min_element(distances.begin(), distances.end()) - distances.begin());
    }
  }
}

TEST(ConditionalAffinities, OfNeighboursAtTheSameDistanceAreAlike) {
  for (const double p : conditional_affinities(std::vector<double>(90, 0.0), 30)) EXPECT_DOUBLE_EQ(p, 1.0 / 90);
  std::vector<double> distances(90, 1.0);
  std::fill(distances.begin(), distances.begin() + 40, 0.0);  // 40 equally near: fewer are not distinguishable from them
  const std::vector<double> p = conditional_affinities(distances, 30);
  EXPECT_NEAR(p[0], 1.0 / 40, 1e-9);
  EXPECT_NEAR(p[89], 0, 1e-9);
}

TEST(NearestPoints, AreThoseOfADoubleLoopInDouble) {
  for (const int64_t N : {4, 17, 200}) {
    const at::Tensor rows = clustered_rows(N, 7, 3, 2, 5);
    for (const int64_t k : {int64_t{1}, int64_t{3}, N - 1}) {
      const NearPoints near = nearest_points(rows, k);
      for (int64_t i = 0; i < N; ++i) {
        std::vector<std::pair<double, int64_t>> others;
        for (int64_t j = 0; j < N; ++j) {
          const at::Tensor difference = rows[i].to(at::kDouble) - rows[j].to(at::kDouble);
          if (j != i) others.emplace_back(difference.square().sum().item<double>(), j);
        }
        std::sort(others.begin(), others.end());
        for (int64_t j = 0; j < k; ++j) {
          EXPECT_EQ(near.index[i * k + j], others[j].second) << "point " << i << " of " << N;
          EXPECT_NEAR(near.squared_distance[i * k + j], others[j].first, 1e-12);
        }
      }
    }
  }
}

TEST(JointAffinities, AreTheMeanOfBothDirectionsAndSumToOne) {
  const int64_t N = 60, k = 15;
  const NearPoints near = nearest_points(clustered_rows(N, 5, 4, 1, 3), k);
  Dense expected(static_cast<size_t>(N), std::vector<double>(static_cast<size_t>(N)));
  for (int64_t i = 0; i < N; ++i) {
    const auto p = conditional_affinities({near.squared_distance.data() + i * k, static_cast<size_t>(k)}, 5);
    for (int64_t j = 0; j < k; ++j) {
      expected[i][near.index[i * k + j]] += p[j] / (2 * N);
      expected[near.index[i * k + j]][i] += p[j] / (2 * N);
    }
  }
  const Affinities joint = joint_affinities(near, 5);
  const Dense found = dense(joint);
  for (int64_t i = 0; i < N; ++i) {
    EXPECT_TRUE(std::is_sorted(joint.partner.begin() + joint.begin[i], joint.partner.begin() + joint.begin[i + 1]));
    for (int64_t j = 0; j < N; ++j) {
      EXPECT_NEAR(found[i][j], expected[i][j], 1e-15);
      EXPECT_EQ(found[i][j], found[j][i]);
    }
  }
  EXPECT_NEAR(std::accumulate(joint.p.begin(), joint.p.end(), 0.0), 1, 1e-12);
}

void expect_repulsion(const std::vector<Point>& points, double theta, double tolerance) {
  const Repulsion expected = naive_repulsion(points), found = repulsion(points, theta);
  EXPECT_NEAR(found.normaliser, expected.normaliser, tolerance * expected.normaliser + 1e-12);
  double error = 0, size = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    error += distance(found.forces[i], expected.forces[i]);
    size += distance(expected.forces[i], {});
  }
  EXPECT_LE(error, tolerance * size + 1e-12) << points.size() << " points, theta " << theta;
}

TEST(Repulsion, OfAllPairsIsADoubleLoops) {
  for (const int64_t n : {1, 2, 3, 4, 65, 300}) {
    for (const double deviation : {1e-4, 1.0, 50.0}) expect_repulsion(random_points(n, deviation, 2), 0, 1e-9);
  }
}

TEST(Repulsion, OfSquaresIsCloseToIt) {
  for (const double deviation : {1e-4, 1.0, 50.0}) expect_repulsion(random_points(500, deviation, 3), 0.5, 0.03);
}

TEST(Repulsion, CountsPointsInOnePlaceOneByOne) {
  std::vector<Point> points = random_points(100, 3, 4);
  for (size_t i = 0; i < 40; ++i) points[i] = points[99];
  expect_repulsion(points, 0, 1e-9);
  expect_repulsion(points, 0.5, 0.03);
  expect_repulsion(std::vector<Point>(50, Point{2, 3}), 0.5, 1e-9);
}

TEST(MapDivergence, IsThatOfADoubleLoop) {
  const Affinities affinities = affinities_of(clustered_rows(80, 6, 4, 1, 7), 10);
  const std::vector<Point> points = random_points(80, 5, 8);
  EXPECT_NEAR(map_divergence(affinities, points), naive_divergence(dense(affinities), points), 1e-9);
}

TEST(NeighbourMap, EndsWhereTheDescentOverAllPairsEnds) {
  const at::Tensor rows = clustered_rows(120, 8, 4, 1, 9);
  const Affinities affinities = affinities_of(rows, 10);
  const std::vector<Point> start = principal_start(rows, 1);
  double found = 0, expected = 0;  // where a descent ends depends on where it starts: means over turns of the start
  for (int i = 0; i < 12; ++i) {
    found += map_divergence(affinities, neighbour_map(affinities, turned(start, i), 1000, nullptr)) / 12;
    expected += naive_divergence(dense(affinities), naive_map(dense(affinities), turned(start, i), 1000)) / 12;
  }
  EXPECT_NEAR(found, expected, 0.02 * expected);
  // A step at a time, before small differences have grown.
  const std::vector<Point> few = neighbour_map(affinities, start, 8, nullptr), naive = naive_map(dense(affinities), start, 8);
  double error = 0, size = 0;
  for (size_t i = 0; i < few.size(); ++i) {
    error += std::hypot(few[i].x - few[0].x - (naive[i].x - naive[0].x), few[i].y - few[0].y - (naive[i].y - naive[0].y));
    size += distance(naive[i], naive[0]);
  }
  EXPECT_LE(error, 0.01 * size);
}

TEST(NeighbourMap, KeepsWellSeparatedClustersApart) {
  const int64_t N = 200, clusters = 4;
  const std::vector<Point> points = map_of(clustered_rows(N, 10, clusters, 8, 11), 15);
  double widest = 0, closest = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      const double d = distance(points[i], points[j]);
      if (i % clusters == j % clusters) widest = std::max(widest, d);
      if (i % clusters != j % clusters) closest = std::min(closest, d);
    }
  }
  EXPECT_LT(widest, closest);
}

TEST(NeighbourMap, IsTheSameOnTwoThreadsAndAboutTheOrigin) {
  const at::Tensor rows = clustered_rows(500, 40, 5, 1, 13);
  const std::vector<Point> one = map_of(rows, 30, 300);
  at::set_num_threads(2);
  const std::vector<Point> two = map_of(rows, 30, 300);
  at::set_num_threads(1);
  Point sum;
  for (size_t i = 0; i < one.size(); ++i) {
    ASSERT_EQ(one[i].x, two[i].x) << "point " << i;
    ASSERT_EQ(one[i].y, two[i].y) << "point " << i;
    sum = {sum.x + one[i].x, sum.y + one[i].y};
  }
  EXPECT_NEAR(sum.x, 0, 1e-9);
  EXPECT_NEAR(sum.y, 0, 1e-9);
}

TEST(PrincipalStart, LiesAlongTheDirectionsOfLargestSpread) {
  const at::Tensor rows = clustered_rows(300, 20, 3, 3, 17);
  const std::vector<Point> start = principal_start(rows, 1);
  const at::Tensor centred = (rows - rows.mean(0, true)).to(at::kDouble);
  const auto [u, s, vh] = at::linalg_svd(centred, false);
  const double scale = 1e-4 / (s[0].item<double>() / std::sqrt(300.0));
  double sign[2] = {0, 0};
  for (int64_t i = 0; i < 300; ++i) {
    for (int64_t c = 0; c < 2; ++c) {
      const double expected = (u[i][c] * s[c]).item<double>() * scale, found = c == 0 ? start[i].x : start[i].y;
      if (i == 0) sign[c] = expected * found > 0 ? 1 : -1;
      EXPECT_NEAR(found, sign[c] * expected, 1e-8);
    }
  }
}

// Rows of check_with_sklearn.py, number for number.
at::Tensor drawn_rows(int64_t count, int64_t dim, int64_t clusters, int64_t spread) {
  uint64_t state = 1;
  const auto following = [&] {  // in [-1024, 1024), the sum of two uniform numbers
    int64_t sum = -1024;
    for (int i = 0; i < 2; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      sum += static_cast<int64_t>((state >> 33) % 1024);
    }
    return sum;
  };
  std::vector<int64_t> centres;
  for (int64_t i = 0; i < clusters * dim; ++i) centres.push_back(spread * following());
  at::Tensor rows = at::empty({count, dim}, at::kFloat);
  float* value = rows.mutable_data_ptr<float>();
  for (int64_t i = 0; i < count * dim; ++i) value[i] = static_cast<float>(centres[i / dim % clusters * dim + i % dim] + 2 * following());
  return (rows / at::linalg_vector_norm(rows, 2, {1}, true)).contiguous();
}

struct SklearnCase {
  int64_t count, dim, clusters, spread;
  double perplexity, divergence;
};

class AgainstSklearn : public testing::TestWithParam<SklearnCase> {};

TEST_P(AgainstSklearn, TheDivergenceIsAtMostTwoPercentHigher) {
  const SklearnCase& known = GetParam();
  const at::Tensor rows = drawn_rows(known.count, known.dim, known.clusters, known.spread);
  const Affinities affinities = affinities_of(rows, known.perplexity);
  double found = 0;
  for (int i = 0; i < 8; ++i) {
    const std::vector<Point> start = turned(principal_start(rows, 1), 0.7 * i);
    found += map_divergence(affinities, neighbour_map(affinities, start, 1000, nullptr)) / 8;
  }
  EXPECT_LE(found, 1.02 * known.divergence);
  EXPECT_GE(found, 0.95 * known.divergence);
}

INSTANTIATE_TEST_SUITE_P(Maps, AgainstSklearn,
                         testing::Values(SklearnCase{300, 8, 5, 1, 20, 1.18002}, SklearnCase{500, 16, 10, 2, 30, 0.92924},
                                         SklearnCase{1000, 32, 10, 1, 30, 2.09014}, SklearnCase{200, 8, 4, 4, 5, 0.65329}));

TEST(TsneProtocol, GivesAPlaceToEachImageOfEachEvaluatedSplit) {
  EvaluationInput input = toy_input();
  input.valid = std::make_shared<ToyDataset>(20, 3, "held_out");
  const EvaluationResult result = evaluated(input, "tsne", "{iterations: 60}");
  EXPECT_TRUE(result.metrics.contains("valid.tsne_kl"));
  EXPECT_EQ(details(result)["protocol"], "tsne");
  EXPECT_EQ(details(result)["counts"]["test"], 31);
  const auto map = details(result)["map"]["test"];
  EXPECT_EQ(map["kl"], result.metrics.at("test.tsne_kl"));
  EXPECT_GT(map["kl"], 0);
  EXPECT_DOUBLE_EQ(map["perplexity"], 31.0 / 3);
  ASSERT_EQ(map["points"].size(), 31u);
  ASSERT_EQ(map["ids"].size(), 31u);
  EXPECT_EQ(map["points"][30].size(), 2u);
  EXPECT_EQ(map["ids"][30], 30);
  EXPECT_EQ(map["labels"][30], 0);
  EXPECT_FALSE(map.contains("bias"));
  EXPECT_EQ(details(result)["map"]["valid"]["points"].size(), 20u);
}

TEST(TsneProtocol, ShowsAChoiceOfImagesByTheSeedWithTheirBias) {
  EvaluationInput input = toy_input();
  const auto test = std::make_shared<ToyDataset>(31, 3, "test");
  for (int i = 0; i < 31; ++i) test->set_bias(i, i % 2);
  input.test = test;
  const auto ids = [&](const std::string& yaml) { return details(evaluated(input, "tsne", yaml))["map"]["test"]["ids"]; };
  const auto map = details(evaluated(input, "tsne", "{samples: 10, iterations: 5}"))["map"]["test"];
  ASSERT_EQ(map["ids"].size(), 10u);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(map["bias"][i], map["ids"][i].get<int>() % 2);
    EXPECT_EQ(map["labels"][i], map["ids"][i].get<int>() % 3);
  }
  EXPECT_EQ(ids("{samples: 10, iterations: 1, seed: 1}"), map["ids"]);
  EXPECT_NE(ids("{samples: 10, iterations: 1, seed: 2}"), map["ids"]);
}

TEST(TsneProtocol, GivesTheSameAgainOnTwoThreadsAndWorkers) {
  EvaluationInput input = toy_input();
  const auto first = details(evaluated(input, "tsne", "{iterations: 100}"));
  at::set_num_threads(2);
  input.workers = 2;
  EXPECT_EQ(details(evaluated(input, "tsne", "{iterations: 100}")), first);
  at::set_num_threads(1);
}

TEST(TsneProtocol, NeedsFourImagesAndAPerplexityBelowTheirNumber) {
  EvaluationInput input = toy_input();
  EXPECT_EQ(usage_error_of([&] { evaluated(input, "tsne", "{perplexity: 30}"); }),
            "tsne: perplexity: 30 for 31 images of split 'test'; give less than 30");
  EXPECT_NO_THROW(evaluated(input, "tsne", "{perplexity: 29.9, iterations: 3}"));
  EXPECT_NO_THROW(evaluated(input, "tsne", "{perplexity: 1.01, iterations: 3}"));
  EXPECT_THAT(usage_error_of([&] { evaluated(input, "tsne", "{perplexity: 1}"); }), testing::HasSubstr("perplexity"));
  input.test = std::make_shared<ToyDataset>(4, 3, "test");
  EXPECT_NO_THROW(evaluated(input, "tsne"));
  input.test = std::make_shared<ToyDataset>(3, 3, "test");
  EXPECT_EQ(data_error_of([&] { evaluated(input, "tsne"); }), "tsne: split 'test' of toy has 3 images; a t-SNE plot needs at least 4");
}

TEST(TsneProtocol, OfFeaturesThatAreAllTheSameIsFinite) {
  class ConstantEncoder : public ToyEncoder {
   public:
    explicit ConstantEncoder(double value) : value_(value) {}
    torch::Tensor forward(const torch::Tensor& images) override { return at::full({images.size(0), 6}, value_); }

   private:
    double value_;
  };
  EvaluationInput input = toy_input();
  for (const double value : {0.0, 0.3}) {
    input.encoder = std::make_shared<ConstantEncoder>(value);
    const auto result = evaluated(input, "tsne");
    EXPECT_TRUE(std::isfinite(result.metrics.at("test.tsne_kl")));
    const auto record = details(result);
    for (const auto& point : record["map"]["test"]["points"]) {
      EXPECT_TRUE(point[0].is_number() && point[1].is_number());
      EXPECT_LT(std::abs(point[0].get<double>()), 1e3);
    }
  }
}

}  // namespace tsne_test
}  // namespace debias

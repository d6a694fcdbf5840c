#include "debias/evaluate/maps/neighbour_map.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "debias/core/philox.h"
#include "debias/evaluate/neighbours/nearest_rows.h"

namespace debias {
namespace {

constexpr int64_t kSpare = 16;  // neighbours beyond k, which distances in double may bring nearer
constexpr double kTolerance = 1e-9;
constexpr int kHalvings = 200;

double squared_distance(const float* a, const float* b, int64_t dim) {
  double sum = 0;
  for (int64_t d = 0; d < dim; ++d) {
    const double difference = static_cast<double>(a[d]) - b[d];
    sum += difference * difference;
  }
  return sum;
}

// Entropy of exp(-precision * excess) / total; `weights` receives the numerators.
double entropy(std::span<const double> excess, double precision, std::vector<double>& weights) {
  double total = 0, weighted = 0;
  for (size_t j = 0; j < excess.size(); ++j) {
    weights[j] = std::exp(-precision * excess[j]);
    total += weights[j];
    weighted += weights[j] * excess[j];
  }
  return std::log(total) + precision * weighted / total;
}

}  // namespace

NearPoints nearest_points(const at::Tensor& rows, int64_t k) {
  const int64_t N = rows.size(0), D = rows.size(1);
  UnitRows unit{rows.const_data_ptr<float>(), D, std::vector<int64_t>(static_cast<size_t>(N)),
                std::vector<float>(static_cast<size_t>(N), 1)};
  std::iota(unit.rows.begin(), unit.rows.end(), int64_t{0});
  NearPoints near{N, k, std::vector<int64_t>(static_cast<size_t>(N * k)), std::vector<double>(static_cast<size_t>(N * k))};
  // The screened search sums every product in one order; a matrix product's order may depend on the threads.
  const KnnBlock block{.search = KnnSearch::kScreened};
  nearest_rows(unit, unit, std::min(N, k + 1 + kSpare), block, [&](int64_t i, const std::vector<Neighbour>& found) {
    std::vector<std::pair<double, int64_t>> others;
    for (const Neighbour& neighbour : found) {
      if (neighbour.row != i) others.emplace_back(squared_distance(unit.row(i), unit.row(neighbour.row), D), neighbour.row);
    }
    std::partial_sort(others.begin(), others.begin() + k, others.end());
    for (int64_t j = 0; j < k; ++j) std::tie(near.squared_distance[i * k + j], near.index[i * k + j]) = others[j];
  });
  return near;
}

std::vector<double> conditional_affinities(std::span<const double> squared_distance, double perplexity) {
  const double least = *std::min_element(squared_distance.begin(), squared_distance.end());
  std::vector<double> excess(squared_distance.begin(), squared_distance.end()), weights(excess.size());
  for (double& d : excess) d -= least;
  const double mean = std::accumulate(excess.begin(), excess.end(), 0.0) / static_cast<double>(excess.size());
  double low = 0, high = std::numeric_limits<double>::infinity(), precision = mean > 0 ? 1 / mean : 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double above = entropy(excess, precision, weights) - std::log(perplexity);
    if (std::abs(above) < kTolerance) break;
    (above > 0 ? low : high) = precision;
    precision = std::isinf(high) ? 2 * precision : (low + high) / 2;
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= total;
  return weights;
}

Affinities joint_affinities(const NearPoints& near, double perplexity) {
  const int64_t N = near.points, k = near.neighbours;
  std::vector<std::vector<std::pair<int32_t, double>>> rows(static_cast<size_t>(N));
  for (int64_t i = 0; i < N; ++i) {
    const std::vector<double> conditional =
        conditional_affinities({near.squared_distance.data() + i * k, static_cast<size_t>(k)}, perplexity);
    for (int64_t j = 0; j < k; ++j) {
      const int64_t partner = near.index[i * k + j];
      const double half = conditional[j] / static_cast<double>(2 * N);
      rows[i].emplace_back(partner, half);
      rows[partner].emplace_back(i, half);
    }
  }
  Affinities joint{{0}, {}, {}};
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    for (const auto& [partner, half] : row) {
      const bool is_new = joint.begin.back() == static_cast<int64_t>(joint.p.size()) || joint.partner.back() != partner;
      if (is_new) joint.partner.push_back(partner);
      if (is_new) joint.p.push_back(0);
      joint.p.back() += half;
    }
    joint.begin.push_back(static_cast<int64_t>(joint.p.size()));
  }
  return joint;
}

namespace {

constexpr int kMaxDepth = 32;
constexpr int64_t kPointsOfATask = 64;

struct Square {
  Point mean;
  double count = 0;  // of its points
  double squared_width = 0;
  size_t next = 0;  // the first square, in order, that is not part of this one
};

// Squares in the order in which they are visited: each before its parts.
class Tree {
 public:
  explicit Tree(const std::vector<Point>& points) : points_(points), order_(points.size()) {
    std::iota(order_.begin(), order_.end(), int64_t{0});
    const auto [left, right] = std::minmax_element(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
    const auto [low, high] = std::minmax_element(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.y < b.y; });
    const double width = std::max(right->x - left->x, high->y - low->y);
    add({order_.begin(), order_.end()}, {(left->x + right->x) / 2, (low->y + high->y) / 2}, width, 0);
  }

  const std::vector<int64_t>& order() const { return order_; }  // of the points: those of a square are adjacent

  // Adds to `force`, and returns the sum of w over all points but `at` itself.
  double visit(const Point& at, double theta, Point& force) const {
    double sum = 0;
    for (size_t s = 0; s < squares_.size();) {
      const Square& square = squares_[s];
      const double x = at.x - square.mean.x, y = at.y - square.mean.y, squared = x * x + y * y;
      if (square.next != s + 1 && square.squared_width >= theta * theta * squared) {
        ++s;
        continue;
      }
      const double w = 1 / (1 + squared), weight = square.count * w;
      sum += weight;
      force.x += weight * w * x;
      force.y += weight * w * y;
      s = square.next;
    }
    return sum - 1;
  }

 private:
  struct Range {
    std::vector<int64_t>::iterator begin, end;
  };

  void add(Range range, const Point& centre, double width, int depth) {
    if (range.begin == range.end) return;
    const size_t own = squares_.size();
    squares_.push_back({mean(range), static_cast<double>(range.end - range.begin), width * width, 0});
    if (range.end - range.begin > 1 && depth < kMaxDepth) {
      const auto is_low = [&](int64_t i) { return points_[i].y < centre.y; };
      const auto is_left = [&](int64_t i) { return points_[i].x < centre.x; };
      const auto middle = std::partition(range.begin, range.end, is_low);
      const auto lower = std::partition(range.begin, middle, is_left), upper = std::partition(middle, range.end, is_left);
      const double half = width / 2, quarter = width / 4;
      add({range.begin, lower}, {centre.x - quarter, centre.y - quarter}, half, depth + 1);
      add({lower, middle}, {centre.x + quarter, centre.y - quarter}, half, depth + 1);
      add({middle, upper}, {centre.x - quarter, centre.y + quarter}, half, depth + 1);
      add({upper, range.end}, {centre.x + quarter, centre.y + quarter}, half, depth + 1);
    }
    squares_[own].next = squares_.size();
  }

  Point mean(Range range) const {
    Point sum;
    for (auto i = range.begin; i != range.end; ++i) {
      sum.x += points_[*i].x;
      sum.y += points_[*i].y;
    }
    const auto count = static_cast<double>(range.end - range.begin);
    return {sum.x / count, sum.y / count};
  }

  const std::vector<Point>& points_;
  std::vector<int64_t> order_;
  std::vector<Square> squares_;
};

}  // namespace

Repulsion repulsion(const std::vector<Point>& points, double theta) {
  const Tree tree(points);
  Repulsion result{std::vector<Point>(points.size()), 0};
  std::vector<double> sums(points.size());
  at::parallel_for(0, static_cast<int64_t>(points.size()), kPointsOfATask, [&](int64_t low, int64_t high) {
    for (int64_t place = low; place < high; ++place) {
      const int64_t i = tree.order()[place];
      sums[i] = tree.visit(points[i], theta, result.forces[i]);
    }
  });
  result.normaliser = std::accumulate(sums.begin(), sums.end(), 0.0);
  return result;
}

namespace {

constexpr double kTheta = 0.35, kExaggeration = 12, kUsualRate = 50, kStartDeviation = 1e-4, kLeastGain = 0.01;
constexpr double kNoSpread = 1e-9;  // of unit rows that differ in nothing but rounding
constexpr double kSettled = 1e-15;
constexpr int64_t kExaggeratedSteps = 250, kPowerSteps = 1000, kTask = 64;
constexpr uint16_t kStartStep = 11;  // its own stream among those of evaluation

Random start_stream(uint64_t seed) { return Random({RngDomain::kEvaluate, seed, 0, 0, 0, 0, kStartStep}); }

using Direction = std::vector<double>;

double product(const Direction& a, const Direction& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// Rows less their mean, and what power iteration needs of them. Sums run in one order whatever the threads.
class CentredRows {
 public:
  explicit CentredRows(const at::Tensor& rows)
      : count_(rows.size(0)), dim_(rows.size(1)), values_(rows.const_data_ptr<float>()), mean_(static_cast<size_t>(dim_)) {
    mean_ = weighted_sum(std::vector<double>(static_cast<size_t>(count_), 1 / static_cast<double>(count_)));
  }

  int64_t dim() const { return dim_; }

  // [N] the rows' coordinates along `direction`.
  std::vector<double> along(const Direction& direction) const {
    const double offset = product(mean_, direction);
    std::vector<double> coordinates(static_cast<size_t>(count_));
    at::parallel_for(0, count_, kTask, [&](int64_t low, int64_t high) {
      for (int64_t i = low; i < high; ++i) {
        for (int64_t d = 0; d < dim_; ++d) coordinates[i] += values_[i * dim_ + d] * direction[d];
        coordinates[i] -= offset;
      }
    });
    return coordinates;
  }

  // [D] the sum of rows times weights.
  Direction weighted_sum(const std::vector<double>& weights) const {
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    Direction total(static_cast<size_t>(dim_));
    at::parallel_for(0, dim_, kTask, [&](int64_t low, int64_t high) {
      for (int64_t i = 0; i < count_; ++i) {
        for (int64_t d = low; d < high; ++d) total[d] += values_[i * dim_ + d] * weights[i];
      }
      for (int64_t d = low; d < high; ++d) total[d] -= all * mean_[d];
    });
    return total;
  }

 private:
  int64_t count_, dim_;
  const float* values_;
  Direction mean_;
};

// Both to unit length, the second at right angles to the first; zero where nothing is left.
void orthonormalise(std::array<Direction, 2>& axes) {
  const auto normalise = [](Direction& axis, double least) {
    const double length = std::sqrt(product(axis, axis));
    for (double& entry : axis) entry = length > least ? entry / length : 0;
  };
  normalise(axes[0], 0);
  const double length = std::sqrt(product(axes[1], axes[1])), share = product(axes[0], axes[1]);
  for (size_t d = 0; d < axes[1].size(); ++d) axes[1][d] -= share * axes[0][d];
  normalise(axes[1], 1e-12 * length);
}

// The plane of the two largest variances, by orthogonal iteration.
std::array<Direction, 2> principal_plane(const CentredRows& rows, uint64_t seed) {
  Random random = start_stream(seed);
  std::array<Direction, 2> axes = {Direction(static_cast<size_t>(rows.dim())), Direction(static_cast<size_t>(rows.dim()))};
  for (Direction& axis : axes) {
    for (double& entry : axis) entry = random.normal();
  }
  orthonormalise(axes);
  double turned = 1;
  for (int64_t step = 0; step < kPowerSteps && turned > kSettled; ++step) {
    const std::array<Direction, 2> before = axes;
    for (Direction& axis : axes) axis = rows.weighted_sum(rows.along(axis));
    orthonormalise(axes);
    turned = 2;
    for (const Direction& old : before) {
      for (const Direction& axis : axes) turned -= std::pow(product(old, axis), 2);
    }
  }
  return axes;
}

// Turns the axes of their plane to the directions of most and of least variance, the largest entry of each positive.
void turn_to_principal(const CentredRows& rows, std::array<Direction, 2>& axes) {
  const std::vector<double> x = rows.along(axes[0]), y = rows.along(axes[1]);
  const double angle = std::atan2(2 * product(x, y), product(x, x) - product(y, y)) / 2, c = std::cos(angle), s = std::sin(angle);
  for (size_t d = 0; d < axes[0].size(); ++d) {
    const double first = axes[0][d], second = axes[1][d];
    axes[0][d] = c * first + s * second;
    axes[1][d] = c * second - s * first;
  }
  for (Direction& axis : axes) {
    const double largest = *std::max_element(axis.begin(), axis.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    for (double& entry : axis) entry *= largest < 0 ? -1 : 1;
  }
}

double deviation(const std::vector<double>& values) {
  const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// sum over j of p_ij w_ij (y_i - y_j).
Point attraction(const Affinities& affinities, const std::vector<Point>& points, int64_t i) {
  Point force;
  for (int64_t j = affinities.begin[i]; j < affinities.begin[i + 1]; ++j) {
    const Point& other = points[affinities.partner[j]];
    const double x = points[i].x - other.x, y = points[i].y - other.y, pw = affinities.p[j] / (1 + x * x + y * y);
    force.x += pw * x;
    force.y += pw * y;
  }
  return force;
}

std::vector<Point> gradient(const Affinities& affinities, const std::vector<Point>& points, double exaggeration) {
  const Repulsion away = repulsion(points, kTheta);
  std::vector<Point> result(points.size());
  at::parallel_for(0, static_cast<int64_t>(points.size()), kTask, [&](int64_t low, int64_t high) {
    for (int64_t i = low; i < high; ++i) {
      const Point together = attraction(affinities, points, i);
      result[i].x = 4 * (exaggeration * together.x - away.forces[i].x / away.normaliser);
      result[i].y = 4 * (exaggeration * together.y - away.forces[i].y / away.normaliser);
    }
  });
  return result;
}

struct Motion {
  double velocity = 0, gain = 1;

  // The step of one coordinate (Jacobs 1988: faster while the gradient keeps its sign).
  double step(double slope, double momentum, double rate) {
    gain = slope * velocity < 0 ? gain + 0.2 : std::max(gain * 0.8, kLeastGain);
    velocity = momentum * velocity - rate * gain * slope;
    return velocity;
  }
};

void centre(std::vector<Point>& points) {
  Point mean;
  for (const Point& point : points) {
    mean.x += point.x / static_cast<double>(points.size());
    mean.y += point.y / static_cast<double>(points.size());
  }
  for (Point& point : points) point = {point.x - mean.x, point.y - mean.y};
}

}  // namespace

std::vector<Point> principal_start(const at::Tensor& rows, uint64_t seed) {
  const CentredRows centred(rows);
  std::array<Direction, 2> axes = principal_plane(centred, seed);
  turn_to_principal(centred, axes);
  const std::vector<double> x = centred.along(axes[0]), y = centred.along(axes[1]);
  std::vector<Point> points(x.size());
  const double spread = deviation(x);
  Random random = start_stream(seed);
  for (size_t i = 0; i < points.size(); ++i) {
    points[i] = spread > kNoSpread ? Point{x[i] / spread, y[i] / spread} : Point{random.normal(), random.normal()};
    points[i] = {points[i].x * kStartDeviation, points[i].y * kStartDeviation};
  }
  return points;
}

std::vector<Point> neighbour_map(const Affinities& affinities, std::vector<Point> points, int64_t steps,
                                 const std::function<void(int64_t done)>& after_step) {
  const int64_t exaggerated = std::min(kExaggeratedSteps, steps / 4);
  const double share = static_cast<double>(points.size()) / kExaggeration;
  const double rate = std::max(share / 4, kUsualRate), early_rate = std::max(share / 4, std::min(share, kUsualRate));
  std::vector<Motion> across(points.size()), upward(points.size());
  for (int64_t step = 0; step < steps; ++step) {
    const bool early = step < exaggerated;
    const std::vector<Point> slope = gradient(affinities, points, early ? kExaggeration : 1);
    const double momentum = early ? 0.5 : 0.8, length = early ? early_rate : rate;
    for (size_t i = 0; i < points.size(); ++i) {
      points[i].x += across[i].step(slope[i].x, momentum, length);
      points[i].y += upward[i].step(slope[i].y, momentum, length);
    }
    if (after_step) after_step(step + 1);
  }
  centre(points);
  return points;
}

double map_divergence(const Affinities& affinities, const std::vector<Point>& points) {
  const double log_normaliser = std::log(repulsion(points, 0).normaliser);
  double divergence = 0;
  for (int64_t i = 0; i < affinities.points(); ++i) {
    for (int64_t j = affinities.begin[i]; j < affinities.begin[i + 1]; ++j) {
      if (affinities.p[j] == 0) continue;
      const Point& other = points[affinities.partner[j]];
      const double x = points[i].x - other.x, y = points[i].y - other.y;
      divergence += affinities.p[j] * (std::log(affinities.p[j]) + std::log1p(x * x + y * y) + log_normaliser);
    }
  }
  return divergence;
}

}  // namespace debias

#include "debias/evaluate/maps/neighbour_map.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "debias/core/philox.h"

namespace debias {
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

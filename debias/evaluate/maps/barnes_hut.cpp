#include "debias/evaluate/maps/barnes_hut.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace debias {
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

}  // namespace debias

#include "debias/data/builders/glyph_shapes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace debias {
namespace {

constexpr double kPi = std::numbers::pi;

GlyphShape closed_shape(std::string name, const std::vector<Point>& corners) {
  GlyphShape shape{std::move(name), true, {}};
  for (size_t i = 0; i < corners.size(); ++i) shape.segments.push_back({corners[i], corners[(i + 1) % corners.size()]});
  return shape;
}

std::vector<Point> arc(Point centre, double radius, double from, double to, int points) {
  std::vector<Point> result;
  for (int i = 0; i < points; ++i) {
    const double angle = from + (to - from) * i / (points - 1);
    result.push_back({centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)});
  }
  return result;
}

// n corners on circles whose radii alternate between `outer` and `inner`.
std::vector<Point> spokes(int n, double outer, double inner) {
  std::vector<Point> result;
  for (int i = 0; i < n; ++i) {
    const double angle = -kPi / 2 + 2 * kPi * i / n;
    const double radius = i % 2 == 0 ? outer : inner;
    result.push_back({radius * std::cos(angle), radius * std::sin(angle)});
  }
  return result;
}

std::vector<Point> heart() {
  std::vector<Point> result;
  constexpr int kPoints = 28;
  for (int i = 0; i < kPoints; ++i) {
    const double t = 2 * kPi * i / kPoints;
    const double x = 16 * std::pow(std::sin(t), 3);
    const double y = 13 * std::cos(t) - 5 * std::cos(2 * t) - 2 * std::cos(3 * t) - std::cos(4 * t);
    result.push_back({x / 16, -(y + 2.5) / 16});
  }
  return result;
}

// The unit disk less a disk of radius q about (d, 0): the outer arc, then the inner one back.
std::vector<Point> crescent() {
  constexpr double d = 0.5;
  constexpr double q = 0.76;
  const double x = (1 - q * q + d * d) / (2 * d);
  const double outer = std::acos(x);
  const double inner = std::atan2(std::sqrt(1 - x * x), x - d);
  std::vector<Point> result = arc({0, 0}, 1, outer, 2 * kPi - outer, 22);
  std::vector<Point> back = arc({d, 0}, q, 2 * kPi - inner, inner, 16);
  result.insert(result.end(), back.begin() + 1, back.end() - 1);
  for (Point& point : result) point.x += 0.25;
  return result;
}

}  // namespace

const std::vector<GlyphShape>& glyph_shapes() {
  static const std::vector<GlyphShape> shapes = {
      closed_shape("circle", spokes(32, 0.9, 0.9)),
      closed_shape("triangle", spokes(3, 1.05, 1.05)),
      closed_shape("square", {{-0.75, -0.75}, {0.75, -0.75}, {0.75, 0.75}, {-0.75, 0.75}}),
      closed_shape("star", spokes(10, 1.1, 0.45)),
      closed_shape("heart", heart()),
      closed_shape("crescent", crescent()),
      {"cross", false, {{{-1, 0}, {1, 0}}, {{0, -1}, {0, 1}}}},
      {"arrow", false, {{{-1, 0}, {1, 0}}, {{0.25, 0.75}, {1, 0}}, {{0.25, -0.75}, {1, 0}}}},
      {"zigzag", false, {{{-1, 0.5}, {-0.5, -0.5}}, {{-0.5, -0.5}, {0, 0.5}}, {{0, 0.5}, {0.5, -0.5}}, {{0.5, -0.5}, {1, 0.5}}}},
      {"letter_h", false, {{{-0.6, -0.9}, {-0.6, 0.9}}, {{0.6, -0.9}, {0.6, 0.9}}, {{-0.6, 0}, {0.6, 0}}}},
  };
  return shapes;
}

ShapeDistance distance_to_shape(const std::vector<Segment>& segments, Point point) {
  double nearest = std::numeric_limits<double>::infinity();
  bool inside = false;
  for (const auto& [a, b] : segments) {
    const double dx = b.x - a.x;
    const double dy = b.y - a.y;
    const double along = ((point.x - a.x) * dx + (point.y - a.y) * dy) / (dx * dx + dy * dy);
    const double t = std::clamp(along, 0.0, 1.0);
    const double ex = point.x - (a.x + t * dx);
    const double ey = point.y - (a.y + t * dy);
    nearest = std::min(nearest, ex * ex + ey * ey);
    if ((a.y > point.y) != (b.y > point.y) && point.x < a.x + (point.y - a.y) / dy * dx) inside = !inside;
  }
  return {std::sqrt(nearest), inside};
}

}  // namespace debias

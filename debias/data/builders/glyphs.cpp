#include "debias/data/builders/glyphs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "debias/core/input_file.h"
#include "debias/core/philox.h"
#include "debias/data/builders/made_folder.h"
#include "debias/data/data_stream.h"

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

namespace {

struct Colour {
  std::string_view name;
  std::array<double, 3> rgb;
};

// Colours of medium brightness, so that light and dark shapes both contrast.
constexpr std::array<Colour, 10> kPalette = {{{"red", {200, 50, 50}},
                                              {"orange", {215, 120, 30}},
                                              {"olive", {150, 145, 30}},
                                              {"green", {45, 150, 60}},
                                              {"teal", {25, 150, 150}},
                                              {"blue", {50, 90, 205}},
                                              {"purple", {130, 65, 190}},
                                              {"pink", {210, 85, 160}},
                                              {"brown", {115, 75, 45}},
                                              {"grey", {120, 120, 120}}}};
constexpr int64_t kColours = kPalette.size();

constexpr double kColourJitter = 18;   // of 255, per channel and image
constexpr double kLeastRadius = 0.22;  // radius over image side
constexpr double kGreatestRadius = 0.36;
constexpr double kRotation = std::numbers::pi / 3;  // either way
constexpr double kStretch = 1.25;                   // longest over mean axis
constexpr double kThinnest = 0.10;                  // half the stroke width over the radius
constexpr double kThickest = 0.17;
constexpr double kNoisiest = 20;  // standard deviation of pixel noise, of 255

// Appearance of one image; lengths in pixels.
struct Drawing {
  std::vector<Segment> segments;
  bool filled = false;
  double half_stroke = 1;
  std::array<double, 3> background{};
  double shade = 255;
  double noise = 0;
};

Point transformed(Point p, double stretch, double radius, double rotation, Point centre) {
  const double x = p.x * radius * stretch;
  const double y = p.y * radius / stretch;
  return {centre.x + x * std::cos(rotation) - y * std::sin(rotation), centre.y + x * std::sin(rotation) + y * std::cos(rotation)};
}

// A draw between the two bounds, which are the nearer to their middle the smaller the variation.
double varied(double least, double greatest, double variation, Random& random) {
  const double middle = (least + greatest) / 2;
  return random.uniform(std::lerp(middle, least, variation), std::lerp(middle, greatest, variation));
}

Drawing draw_parameters(const GlyphShape& shape, const Colour& colour, double size, double variation, Random& random) {
  Drawing drawing;
  const double radius = size * varied(kLeastRadius, kGreatestRadius, variation, random);
  const double x = varied(radius, size - radius, variation, random);
  const double y = varied(radius, size - radius, variation, random);
  const double rotation = varied(-kRotation, kRotation, variation, random);
  const double stretch = std::pow(kStretch, varied(-1, 1, variation, random));
  for (const Segment& segment : shape.segments) {
    drawing.segments.push_back(
        {transformed(segment.a, stretch, radius, rotation, {x, y}), transformed(segment.b, stretch, radius, rotation, {x, y})});
  }
  const double rarer = variation / 2;  // filled, and dark
  drawing.filled = random.uniform() < rarer && shape.closed;
  drawing.half_stroke = std::max(0.75, radius * varied(kThinnest, kThickest, variation, random));
  drawing.shade = random.uniform() < 1 - rarer ? varied(215, 255, variation, random) : varied(0, 35, variation, random);
  for (int c = 0; c < 3; ++c) drawing.background[c] = colour.rgb[c] + random.uniform(-kColourJitter, kColourJitter);
  drawing.noise = random.uniform(0, kNoisiest * variation);
  return drawing;
}

// Share of the pixel about `point` that is ink: a ramp one pixel wide across the edge.
double coverage(const Drawing& drawing, Point point) {
  const ShapeDistance distance = distance_to_shape(drawing.segments, point);
  double signed_distance = distance.to_outline - drawing.half_stroke;
  if (drawing.filled) signed_distance = distance.inside ? -distance.to_outline : distance.to_outline;
  return std::clamp(0.5 - signed_distance, 0.0, 1.0);
}

struct InkBox {
  double left = 1e9, top = 1e9, right = -1e9, bottom = -1e9;
  bool contains(Point p) const { return p.x >= left && p.x <= right && p.y >= top && p.y <= bottom; }
};

InkBox ink_box(const Drawing& drawing) {
  const double margin = drawing.half_stroke + 1;
  InkBox box;
  for (const Segment& segment : drawing.segments) {
    for (const Point& p : {segment.a, segment.b}) {
      box = {std::min(box.left, p.x - margin), std::min(box.top, p.y - margin), std::max(box.right, p.x + margin),
             std::max(box.bottom, p.y + margin)};
    }
  }
  return box;
}

// The sum of four random bytes, scaled to mean 0 and deviation 1: nearly normal, and the same on every platform.
double cheap_normal(Random& random) {
  const uint32_t bits = random.bits();
  const uint32_t sum = (bits & 255) + (bits >> 8 & 255) + (bits >> 16 & 255) + (bits >> 24);
  constexpr double kDeviation = 147.8005413;  // sqrt(4 (256^2 - 1) / 12)
  return (static_cast<double>(sum) - 510) / kDeviation;
}

Image paint(const Drawing& drawing, int size, Random& random) {
  Image image;
  image.height = image.width = size;
  image.pixels.resize(static_cast<size_t>(size) * size * 3);
  const InkBox box = ink_box(drawing);
  uint8_t* out = image.pixels.data();
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      const Point point{x + 0.5, y + 0.5};
      const double ink = box.contains(point) ? coverage(drawing, point) : 0;
      for (int c = 0; c < 3; ++c) {
        const double value = drawing.background[c] + ink * (drawing.shade - drawing.background[c]) + drawing.noise * cheap_normal(random);
        *out++ = static_cast<uint8_t>(std::clamp(value, 0.0, 255.0) + 0.5);
      }
    }
  }
  return image;
}

DatasetInfo info_of(const GlyphsOptions& options, FolderSplit split) {
  DatasetInfo info;
  info.name = "glyphs";
  info.split = enum_name(split);
  for (int64_t i = 0; i < options.classes; ++i) info.class_names.push_back(glyph_shapes()[static_cast<size_t>(i)].name);
  for (const Colour& colour : kPalette) info.bias_names.emplace_back(colour.name);
  info.height = info.width = static_cast<int>(options.size);
  info.mean = info.std = {0.5, 0.5, 0.5};
  return info;
}

class Glyphs : public Dataset {
 public:
  Glyphs(const GlyphsOptions& options, FolderSplit split) : options_(options), split_(split), info_(info_of(options, split)) {}

  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return split_ == FolderSplit::kTest ? options_.test_count : options_.train_count; }

  int64_t label(int64_t index) const override {
    require_index(*this, index);
    return index % options_.classes;
  }

  int64_t bias(int64_t index) const override {
    const int64_t own = label(index);
    const int64_t k = index / options_.classes;
    const int64_t aligned_before = aligned_among(k);
    if (aligned_among(k + 1) > aligned_before) return own;
    const int64_t conflicting_before = k - aligned_before;
    return (own + 1 + conflicting_before % (kColours - 1)) % kColours;
  }

  Sample get(int64_t index) const override {
    Sample sample;
    sample.id = index;
    sample.label = label(index);
    sample.bias = bias(index);
    RngKey key = {.domain = RngDomain::kData,
                  .seed = static_cast<uint64_t>(options_.hold_out.seed),
                  .epoch = split_ == FolderSplit::kTest ? uint64_t{1} : 0,
                  .sample = static_cast<uint64_t>(index),
                  .step = static_cast<uint16_t>(DataStream::kGlyph)};
    Random random(key);
    const Drawing drawing = draw_parameters(glyph_shapes()[static_cast<size_t>(sample.label)], kPalette[static_cast<size_t>(sample.bias)],
                                            static_cast<double>(options_.size), options_.variation, random);
    sample.image = paint(drawing, static_cast<int>(options_.size), random);
    return sample;
  }

  std::string source(int64_t index) const override {
    require_index(*this, index);
    return fmt::format("{}/{}", split_ == FolderSplit::kTest ? "test" : "train", index);
  }

 private:
  int64_t aligned_among(int64_t first) const {
    return static_cast<int64_t>(std::floor(static_cast<double>(first) * options_.correlation + 1e-9));
  }

  GlyphsOptions options_;
  FolderSplit split_;
  DatasetInfo info_;
};

}  // namespace

std::unique_ptr<Dataset> make_glyphs(const GlyphsOptions& options) {
  const FolderSplit split = options.split;
  if (!options.root.empty()) {
    require_root(options.root, "data set 'glyphs'", "a folder that data make wrote");
    return read_made_folder(info_of(options, split), options.root, split, options.hold_out);
  }
  if (split == FolderSplit::kValid) {
    throw usage_error("data set 'glyphs': split valid exists only in a folder written by data make; without a root, write split: held_out");
  }
  if (split == FolderSplit::kTest) return std::make_unique<Glyphs>(options, split);
  return take_hold_out_part(std::make_unique<Glyphs>(options, FolderSplit::kTrain), options.hold_out,
                            split == FolderSplit::kHeldOut ? HoldOutPart::kHeldOut : HoldOutPart::kKept);
}

}  // namespace debias

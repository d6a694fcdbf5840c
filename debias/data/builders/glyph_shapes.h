// The outlines that glyphs are drawn from.
#pragma once

#include <string>
#include <vector>

namespace debias {

struct Point {
  double x = 0;
  double y = 0;
};

struct Segment {
  Point a;
  Point b;
};

// Line segments within about the unit disk. A closed outline has an inside (even-odd rule) and may be filled.
struct GlyphShape {
  std::string name;
  bool closed = false;
  std::vector<Segment> segments;
};

const std::vector<GlyphShape>& glyph_shapes();  // ten; the class index is the position

struct ShapeDistance {
  double to_outline = 0;  // >= 0, in the units of the segments
  bool inside = false;    // by the even-odd rule
};

ShapeDistance distance_to_shape(const std::vector<Segment>& segments, Point point);

}  // namespace debias

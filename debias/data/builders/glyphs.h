// Glyphs: a data set without files whose classes are synthetic shapes and whose background colour is the bias.
//
// Image i of a split has label i mod `classes`; position, size, rotation, stretch, stroke or filling, shade and pixel noise are random.
// A share `correlation` of each class has the class's own background colour (bias label = class), the others have the other nine
// colours in turn; with 0.1 every colour is equally likely in every class. `variation` below 1 narrows what is random towards an upright
// light outline in the middle. Each image is a pure function of (seed, split, index, size, classes, correlation, variation): the first
// images of a longer train_count are those of a shorter one.
//
// Membership is low-discrepancy, not drawn: the k-th image of a class is aligned iff floor((k+1) c) > floor(k c), so that every
// prefix has the asked share up to one image.
//
// With a `root`, a folder that `debias data make glyphs` wrote is read instead, and the options of drawing have no effect.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/data/hold_out.h"
#include "debias/data/readers/named_images.h"

namespace debias {

// The outlines that glyphs are drawn from.
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

struct GlyphsOptions {
  std::string root = "";
  FolderSplit split = FolderSplit::kTrain;
  int64_t classes = 10;
  int64_t size = 32;
  double correlation = 0.1;
  double variation = 1;
  int64_t train_count = 10000;
  int64_t test_count = 2000;
  HoldOutOptions hold_out = {};
  void describe(OptionVisitor& o) {
    o("root", root, "folder that debias data make wrote; without one, images are generated");
    o("split", split, "split to read; only a generated folder has valid");
    o("classes", classes, Range::closed(2, 10), "number of shapes");
    o("size", size, Range::closed(16, 256), "height and width");
    o("correlation", correlation, Range::closed(0, 1), "share of images on their class's own background colour; 0.1 means no bias");
    o("variation", variation, Range::closed(0, 1),
      "amount of random variation of position, size, rotation, stretch, stroke, fill, shade and noise; 0: none");
    o("train_count", train_count, Range::closed(1, 1e9), "number of training images, before hold_out");
    o("test_count", test_count, Range::closed(1, 1e9), "number of test images");
    hold_out.describe(o);
  }
};

// A usage error for split valid without a root; with one, errors are those of made_folder.h.
std::unique_ptr<Dataset> make_glyphs(const GlyphsOptions& options);

}  // namespace debias

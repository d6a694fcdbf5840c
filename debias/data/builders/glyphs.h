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

#include "debias/data/dataset.h"
#include "debias/data/hold_out.h"
#include "debias/data/readers/named_images.h"

namespace debias {

class GlyphsOptions : public HoldOutOptions {
 public:
  DEBIAS_OPTION(GlyphsOptions, std::string, root, "")
  DEBIAS_OPTION(GlyphsOptions, FolderSplit, split, FolderSplit::kTrain)
  DEBIAS_OPTION(GlyphsOptions, int64_t, classes, 10)
  DEBIAS_OPTION(GlyphsOptions, int64_t, size, 32)
  DEBIAS_OPTION(GlyphsOptions, double, correlation, 0.1)
  DEBIAS_OPTION(GlyphsOptions, double, variation, 1)
  DEBIAS_OPTION(GlyphsOptions, int64_t, train_count, 10000)
  DEBIAS_OPTION(GlyphsOptions, int64_t, test_count, 2000)
  static const OptionTable<GlyphsOptions>& table();
};

// A usage error for split valid without a root; with one, errors are those of made_folder.h.
std::unique_ptr<Dataset> make_glyphs(const GlyphsOptions& options);

}  // namespace debias

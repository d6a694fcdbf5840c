// A copy of a class folder with a shortcut planted in it: what an audit finds is known.
//
// The image files of the folder's splits (folder_layout.h) are written to the new folder under their relative paths. In the training split
// the share `correlation` of each class has its own class's value, the rest the other values (bias_assignment.h); valid and test have every
// value equally often. OUT/planted.csv (path,label,bias) gives the values, named by the class of each; kind `column` writes
// OUT/columns.csv (path,label,site) as well, whose column `site` is the shortcut. Kinds that draw on pixels write PNG, so that the format
// reveals nothing; the others keep the bytes. The same seed gives the same files.
#pragma once

#include <cstdint>
#include <string>

#include "debias/core/options.h"
#include "debias/core/progress.h"

namespace debias {

enum class PlantKind { kSquare, kSquareAnywhere, kText, kBorder, kScene, kBlur, kJpeg, kNoise, kSize, kName, kExif, kColumn, kTint };
constexpr auto enum_words(PlantKind) {
  return named("square", "square_anywhere", "text", "border", "scene", "blur", "jpeg", "noise", "size", "name", "exif", "column", "tint");
}

struct PlantOptions {
  double correlation = 0.95;
  int64_t seed = 1;
  void describe(OptionVisitor& o) {
    o("correlation", correlation, Range::closed(0, 1), "share of training images with their class's value");
    o("seed", seed, Range::at_least(0), "seed of the values and of the marks");
  }
};

struct PlantedFolder {
  int64_t images = 0, aligned = 0;  // of the training split
  int64_t others = 0;               // of valid and test
};

// Usage errors: an `out` that exists or is in the folder. Data errors: fewer than two classes, an unreadable image. Nothing is left
// of `out` then.
PlantedFolder plant_shortcut(PlantKind kind, const PlantOptions& options, const std::string& folder, const std::string& out,
                             Progress& progress = Progress::silent());

}  // namespace debias

// Garments on scenes: Fashion-MNIST's garments in front of photographs, whose class is the bias. A Waterbirds that anyone can build.
//
// Garment k correlates with scene class k: the share `correlation` of the training images of each garment has a scene of its own class, the
// rest scenes of the others (bias_assignment.h); test images have every scene class equally often. With K the smaller of ten and the number
// of scene classes, the first K garments and the first K scene classes (by name) are used.
//
//   train/<garment>/<number>.png, test/<garment>/<number>.png   number: the index among Fashion-MNIST's images of that split
//   planted.csv                                                 path,label,bias; bias is the scene class
//
// An image is a scene, cropped to a square and resized to `size`, under the garment at 7/8 of the size in its middle. A garment pixel of
// ink i has that grey and the opacity min(1, i / 64). Scenes of train and test come from these splits of the folder where it has both.
// The same seed gives the same files. Source of the garments: Xiao et al., "Fashion-MNIST", 2017 (arXiv 1708.07747); of the idea: Sagawa et
// al., "Distributionally robust neural networks", 2020 (arXiv 1911.08731).
#pragma once

#include <cstdint>
#include <string>

#include "debias/core/options.h"
#include "debias/core/progress.h"
#include "debias/data/builders/made_folder.h"

namespace debias {

struct GarmentsOnScenesOptions {
  std::string root = "";
  std::string scenes = "";
  double correlation = 0.95;
  int64_t size = 32;
  int64_t train_count = 0;
  int64_t test_count = 0;
  int64_t seed = 1;
  void describe(OptionVisitor& o) {
    o("root", root, "folder with Fashion-MNIST's IDX files, plain or .gz");
    o("scenes", scenes, "images in class folders, in train and test or not");
    o("correlation", correlation, Range::closed(0, 1), "share of training images with a scene of their garment's own class");
    o("size", size, Range::closed(16, 512), "height and width in pixels");
    o("train_count", train_count, Range::at_least(0), "number of training images; 0: all");
    o("test_count", test_count, Range::at_least(0), "number of test images; 0: all");
    o("seed", seed, Range::at_least(0), "seed of the scenes");
  }
};

// Usage errors: no `root` or `scenes`, an `out` that exists. Data errors: files that are missing or damaged (mnist.h), scenes in fewer than
// two class folders. Nothing is left of `out` then.
MadeCounts make_garments_on_scenes(const GarmentsOnScenesOptions& options, const std::string& out, Progress& progress = Progress::silent());

}  // namespace debias

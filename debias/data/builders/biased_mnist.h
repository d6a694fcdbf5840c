// Biased-MNIST: MNIST digits in white on a background whose colour is correlated with the digit.
//
// Every pixel that is not 0 becomes white, the others get the colour of the image's bias label: 28x28 RGB. The share `correlation` of the
// images of digit c have colour c, with exact counts (bias_assignment.h); the colours (red green blue yellow magenta cyan orange rose
// violet) are followed by grey in palette `bahng` and by (50, 255, 128) in palette `usc`. Source: Bahng et al., "Learning de-biased
// representations with biased representations" (ReBias), 2020; palette `usc`: the released code of Barbano et al., "Unbiased supervised
// contrastive learning", 2023.
//
// hold_out images are taken from the 60,000 before any is coloured, so that train and held_out have their own, exact correlations.
// Colours depend on (seed, split, hold_out, correlation); the seed is the data set's, so that runs of several seeds share one data set.
// A root that `debias data make biased_mnist` wrote is read as it is, splits train, valid, test and held_out (of train); the correlation
// and palette then are those it was made with.
#pragma once

#include <memory>
#include <string>

#include "debias/data/dataset.h"
#include "debias/data/readers/named_images.h"

namespace debias {

enum class MnistPalette { kUsc, kBahng };

constexpr auto enum_words(MnistPalette) { return named("usc", "bahng"); }

struct BiasedMnistOptions {
  std::string root = "";
  FolderSplit split = FolderSplit::kTrain;
  double correlation = 0.1;
  MnistPalette palette = MnistPalette::kUsc;
  HoldOutOptions hold_out = {};
  void describe(OptionVisitor& o) {
    o("root", root, "folder with MNIST's IDX files, or one that debias data make wrote");
    o("split", split, "split to read; only a generated folder has valid");
    o("correlation", correlation, Range::closed(0, 1),
      "share of images on their digit's own background colour; 0.1 means no bias; a generated folder keeps its own");
    o("palette", palette, "tenth background colour: grey (bahng), or (50, 255, 128) (usc)");
    hold_out.describe(o);
  }
};

// A data error naming the path, as of mnist.h and made_folder.h; a usage error for split valid of MNIST's own files.
std::unique_ptr<Dataset> make_biased_mnist(const BiasedMnistOptions& options);

}  // namespace debias

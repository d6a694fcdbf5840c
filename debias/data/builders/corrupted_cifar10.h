// Corrupted CIFAR-10: photographs of ten classes, most of each class damaged by the corruption that is the class's own bias.
//
// Read from a folder, of two kinds: one that `debias data make corrupted_cifar10` wrote (made_folder.h), or the archive that Lee et al.
// (2021) publish, whose root holds a folder per share of bias-conflicting images, chosen by `ratio`, and one test/ for all of them:
//   root/{0.5pct,1pct,2pct,5pct}/{align,conflict,valid}/..., root/test/...
// `data make` writes that one, too, if `ratios` are given.
// The construction is that of Nam et al., "Learning from failure" (2020).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/data/builders/made_folder.h"
#include "debias/data/dataset.h"
#include "debias/data/readers/named_images.h"

namespace debias {

enum class ConflictRatio { kMade, k05, k1, k2, k5 };

constexpr auto enum_words(ConflictRatio) { return named("made", "0.5pct", "1pct", "2pct", "5pct"); }

struct CorruptedCifar10Options {
  std::string root = "";
  FolderSplit split = FolderSplit::kTrain;
  ConflictRatio ratio = ConflictRatio::kMade;
  std::optional<double> correlation = std::nullopt;
  HoldOutOptions hold_out = {};
  void describe(OptionVisitor& o) {
    o("root", root, "folder that debias data make wrote, or that of the published archive");
    o("split", split, "split to read");
    o("ratio", ratio, "share of bias-conflicting images in a published archive; made: a folder of debias data make");
    o("correlation", correlation, Range::closed(0, 1),
      "share of images with their class's own corruption, for debias data make; ignored for an existing folder");
    hold_out.describe(o);
  }
};

// A data error naming the path, as of made_folder.h and named_images.h; a usage error for a published archive without a ratio.
std::unique_ptr<Dataset> make_corrupted_cifar10(const CorruptedCifar10Options& options);

// Options of `debias data make corrupted_cifar10`, which builds from CIFAR-10.
struct CorruptedCifar10Recipe {
  std::string root = "";
  double correlation = 0.95;
  std::vector<std::string> ratios = {};
  double valid_fraction = 0.1;
  int64_t severity = 5;
  std::string corruptions = "type0";
  std::string frost = "";
  int64_t seed = 0;
  void describe(OptionVisitor& o) {
    o("root", root, "folder with CIFAR-10");
    o("correlation", correlation, Range::closed(0, 1), "share of images with their class's own corruption");
    o("ratios", ratios, "shares of conflicting images in one folder, in place of correlation: some of 0.5pct, 1pct, 2pct and 5pct");
    o("valid_fraction", valid_fraction, Range::half_open(0, 1), "share of train held out as valid");
    o("severity", severity, Range::closed(1, 5), "severity of every corruption");
    o("corruptions", corruptions, "type0, type1 or a list of ten, in the order of the classes");
    o("frost", frost, "folder with the textures frost1 to frost5; without one they are drawn");
    o("seed", seed, Range::closed(0, 9e15), "seed of valid and of every draw");
  }
};

// With n_c images of class c in the source's order, the first round(n_c p_0) get corruption 0, the next ones up to round(n_c (p_0 + p_1))
// corruption 1, and so on, where p_c = correlation and the other nine have (1 - correlation) / 9 each; halves are rounded to even. Train
// and valid (a seeded, stratified valid_fraction of it, removed first) have that correlation, test has 0.1. Draws of an image depend on
// the seed, its split and its index alone.
// Usage errors: a list of corruptions that is not ten known names. Data errors: those of cifar.h and of frost_textures.h.
MadeParts corrupted_cifar10_parts(const CorruptedCifar10Recipe& recipe);

// Returns the parts of each of `ratios`: correlation is 1 - the share of conflicting images. Usage errors: an unknown or repeated one.
std::vector<std::pair<std::string, MadeParts>> corrupted_cifar10_shares(const CorruptedCifar10Recipe& recipe);

// Corruption of each image by that rule; `labels[i]` in [0, 10).
std::vector<int64_t> ordered_biases(const std::vector<int64_t>& labels, double correlation);

}  // namespace debias

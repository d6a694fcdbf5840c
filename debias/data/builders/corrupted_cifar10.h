// Corrupted CIFAR-10: photographs of ten classes, most of each class damaged by the corruption that is the class's own bias.
//
// Read from a folder, of two kinds: one that `debias data make corrupted_cifar10` wrote (made_folder.h), or the archive that Lee et al.
// (2021) publish, whose root holds a folder per share of bias-conflicting images, chosen by `ratio`, and one test/ for all of them:
//   root/{0.5pct,1pct,2pct,5pct}/{align,conflict,valid}/..., root/test/...
// `data make` writes that one, too, if `ratios` are given.
// The construction is that of Nam et al., "Learning from failure" (2020).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/data/builders/made_folder.h"
#include "debias/data/dataset.h"
#include "debias/data/readers/named_images.h"

namespace debias {

enum class ConflictRatio { kMade, k05, k1, k2, k5 };

template <>
struct EnumNames<ConflictRatio> {
  static constexpr std::array<std::pair<std::string_view, ConflictRatio>, 5> values = {{{"made", ConflictRatio::kMade},
                                                                                        {"0.5pct", ConflictRatio::k05},
                                                                                        {"1pct", ConflictRatio::k1},
                                                                                        {"2pct", ConflictRatio::k2},
                                                                                        {"5pct", ConflictRatio::k5}}};
};

class CorruptedCifar10Options : public HoldOutOptions {
 public:
  DEBIAS_OPTION(CorruptedCifar10Options, std::string, root, "")
  DEBIAS_OPTION(CorruptedCifar10Options, FolderSplit, split, FolderSplit::kTrain)
  DEBIAS_OPTION(CorruptedCifar10Options, ConflictRatio, ratio, ConflictRatio::kMade)
  DEBIAS_OPTION(CorruptedCifar10Options, std::optional<double>, correlation, std::nullopt)
  static const OptionTable<CorruptedCifar10Options>& table();
};

// A data error naming the path, as of made_folder.h and named_images.h; a usage error for a published archive without a ratio.
std::unique_ptr<Dataset> make_corrupted_cifar10(const CorruptedCifar10Options& options);

// Options of `debias data make corrupted_cifar10`, which builds from CIFAR-10.
class CorruptedCifar10Recipe {
 public:
  DEBIAS_OPTION(CorruptedCifar10Recipe, std::string, root, "")
  DEBIAS_OPTION(CorruptedCifar10Recipe, double, correlation, 0.95)
  DEBIAS_OPTION(CorruptedCifar10Recipe, std::vector<std::string>, ratios, {})
  DEBIAS_OPTION(CorruptedCifar10Recipe, double, valid_fraction, 0.1)
  DEBIAS_OPTION(CorruptedCifar10Recipe, int64_t, severity, 5)
  DEBIAS_OPTION(CorruptedCifar10Recipe, std::string, corruptions, "type0")
  DEBIAS_OPTION(CorruptedCifar10Recipe, std::string, frost, "")
  DEBIAS_OPTION(CorruptedCifar10Recipe, int64_t, seed, 0)
  static const OptionTable<CorruptedCifar10Recipe>& table();
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

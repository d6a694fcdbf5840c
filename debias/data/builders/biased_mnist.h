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

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "debias/data/dataset.h"
#include "debias/data/readers/named_images.h"

namespace debias {

enum class MnistPalette { kUsc, kBahng };

template <>
struct EnumNames<MnistPalette> {
  static constexpr std::array<std::pair<std::string_view, MnistPalette>, 2> values = {
      {{"usc", MnistPalette::kUsc}, {"bahng", MnistPalette::kBahng}}};
};

class BiasedMnistOptions : public HoldOutOptions {
 public:
  DEBIAS_OPTION(BiasedMnistOptions, std::string, root, "")
  DEBIAS_OPTION(BiasedMnistOptions, FolderSplit, split, FolderSplit::kTrain)
  DEBIAS_OPTION(BiasedMnistOptions, double, correlation, 0.1)
  DEBIAS_OPTION(BiasedMnistOptions, MnistPalette, palette, MnistPalette::kUsc)
  static const OptionTable<BiasedMnistOptions>& table();
};

// A data error naming the path, as of mnist.h and made_folder.h; a usage error for split valid of MNIST's own files.
std::unique_ptr<Dataset> make_biased_mnist(const BiasedMnistOptions& options);

}  // namespace debias

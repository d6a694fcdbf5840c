#include "debias/data/settled_pixels.h"

#include <algorithm>
#include <array>

#include "debias/data/readers/image_folder.h"

namespace debias {
namespace {

constexpr std::array<const char*, 3> kPixelOptions = {"transparency", "bits", "window"};

}  // namespace

ChosenData with_settled_bits(const ChosenData& train) {
  const auto* options = train.as<ImageFolderOptions>();
  const SampleBits bits = options == nullptr ? SampleBits::kAuto : settled_bits(*options);
  if (bits == SampleBits::kAuto) return train;
  return train.with(Config::map({{"bits", Config::scalar(std::string(enum_name(bits)))}}));
}

ChosenData with_pixels_of(const ChosenData& train, const ChosenData& evaluated) {
  if (train.as<ImageFolderOptions>() == nullptr || evaluated.as<ImageFolderOptions>() == nullptr) return evaluated;
  Config pixels = Config::map();
  for (const char* option : kPixelOptions) {
    if (evaluated.section.find(option) != nullptr) return evaluated;
    if (const Config* given = train.section.find(option)) pixels.set(option, *given);
  }
  return pixels.entries().empty() ? evaluated : evaluated.with(pixels);
}

}  // namespace debias

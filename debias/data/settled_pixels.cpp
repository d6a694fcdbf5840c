#include "debias/data/settled_pixels.h"

#include <algorithm>
#include <array>

#include "debias/core/error.h"
#include "debias/data/readers/image_folder.h"

namespace debias {
namespace {

constexpr std::array<const char*, 3> kPixelOptions = {"transparency", "bits", "window"};

}  // namespace

Config pixel_options(const std::vector<std::string>& words, const std::string& who, const std::string& also) {
  Config given = Config::map();
  for (const std::string& word : words) {
    const auto names = [&word](const char* option) { return word.starts_with(std::string(option) + "="); };
    if (std::ranges::none_of(kPixelOptions, names)) {
      throw usage_error("{}: '{}': expected {}transparency=, bits= or window=[LOW, HIGH]; other keys are for debias train", who, word,
                        also);
    }
    given.assign(word);
  }
  options_from<ImageFolderOptions>(given, who);
  return given;
}

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

#include "debias/data/builders/corruptions/corruption.h"

#include "debias/core/error.h"
#include "debias/data/builders/corruptions/corruption_kinds.h"

namespace debias {
namespace {

namespace kinds = corruptions;
using Fixed = Planes (*)(const Planes&, int);
using Drawn = Planes (*)(const Planes&, int, Random&);

template <Fixed function>
Corruption fixed(std::string name, std::vector<std::string> aliases = {}) {
  return {std::move(name), std::move(aliases),
          [](const Planes& image, int severity, Random&, const FrostTextures&) { return function(image, severity - 1); }};
}

template <Drawn function>
Corruption drawn(std::string name, std::vector<std::string> aliases = {}) {
  return {std::move(name), std::move(aliases),
          [](const Planes& image, int severity, Random& random, const FrostTextures&) { return function(image, severity - 1, random); }};
}

}  // namespace

const std::vector<Corruption>& corruption_registry() {
  static const std::vector<Corruption> registry = {
      drawn<kinds::gaussian_noise>("gaussian_noise"),
      drawn<kinds::shot_noise>("shot_noise"),
      drawn<kinds::impulse_noise>("impulse_noise"),
      drawn<kinds::speckle_noise>("speckle_noise"),
      fixed<kinds::gaussian_blur>("gaussian_blur"),
      drawn<kinds::glass_blur>("glass_blur"),
      fixed<kinds::defocus_blur>("defocus_blur"),
      drawn<kinds::motion_blur>("motion_blur"),
      fixed<kinds::zoom_blur>("zoom_blur"),
      drawn<kinds::snow>("snow"),
      {"frost",
       {},
       [](const Planes& image, int severity, Random& random, const FrostTextures& textures) {
         return kinds::frost(image, severity - 1, random, textures);
       }},
      drawn<kinds::fog>("fog"),
      fixed<kinds::brightness>("brightness"),
      fixed<kinds::contrast>("contrast"),
      drawn<kinds::spatter>("spatter"),
      fixed<kinds::saturate>("saturate"),
      fixed<kinds::jpeg>("jpeg", {"jpeg_compression"}),
      fixed<kinds::pixelate>("pixelate"),
      drawn<kinds::elastic>("elastic", {"elastic_transform"}),
      {"original", {}, [](const Planes& image, int, Random&, const FrostTextures&) { return image; }},
  };
  return registry;
}

Image corrupted(const Image& image, const Corruption& corruption, int severity, Random& random, const FrostTextures& frost) {
  if (image.height != kCorruptionSide || image.width != kCorruptionSide || image.channels != 3) {
    throw usage_error("corruption {}: expected a 32x32 RGB image, found {}x{} with {} channels", corruption.name, image.height, image.width,
                      image.channels);
  }
  if (severity < 1 || severity > 5) throw usage_error("corruption {}: severity {} is not 1 to 5", corruption.name, severity);
  return image_of(corruption.apply(planes_of(image), severity, random, frost));
}

}  // namespace debias

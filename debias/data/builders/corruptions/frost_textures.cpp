#include "debias/data/builders/corruptions/frost_textures.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/data/data_stream.h"
#include "debias/image/image_decode.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr int kTextures = 5;
constexpr int kShrink = 5;
constexpr int kLeastSide = 33;  // of a shrunk side: one more than an image, so that a corner can be drawn

std::string texture_path(const std::string& folder, int number) {
  for (const char* extension : {".png", ".jpg", ".jpeg"}) {
    const std::string path = (fs::path(folder) / fmt::format("frost{}{}", number, extension)).string();
    std::error_code failure;
    if (fs::exists(path, failure)) return path;
  }
  throw FileError(folder, fmt::format("frost: found no frost{}.png or .jpg in it; the five textures are frost1 to frost5", number));
}

Planes shrunk(const std::string& path) {
  const Image image = read_image(path);
  const int height = static_cast<int>(std::nearbyint(image.height / static_cast<double>(kShrink)));
  const int width = static_cast<int>(std::nearbyint(image.width / static_cast<double>(kShrink)));
  if (height < kLeastSide || width < kLeastSide) {
    throw FileError(path, fmt::format("is {}x{} pixels; a texture needs {} a side", image.height, image.width, kShrink * kLeastSide));
  }
  Planes planes;
  for (size_t c = 0; c < 3; ++c) {
    planes[c] = Plane(height, width);
    for (int y = 0; y < height; ++y) {
      const uint8_t* row = image.row(std::min(kShrink * y + 2, image.height - 1));
      for (int x = 0; x < width; ++x) {
        planes[c].at(y, x) = row[3 * static_cast<size_t>(std::min(kShrink * x + 2, image.width - 1)) + c] / 255.0;
      }
    }
  }
  return planes;
}

}  // namespace

FrostTextures read_frost_textures(const std::string& folder) {
  require_root(folder, "frost", "frost1 ... frost5 (.png or .jpg)");
  FrostTextures frost;
  for (int number = 1; number <= kTextures; ++number) frost.textures.push_back(shrunk(texture_path(folder, number)));
  return frost;
}

FrostTextures procedural_frost_textures() {
  FrostTextures frost;
  frost.procedural = true;
  for (uint64_t number = 0; number < kTextures; ++number) {
    RngKey key = {.domain = RngDomain::kData, .sample = number, .step = static_cast<uint16_t>(DataStream::kFrost)};
    Random random(key);
    const Plane pattern = plasma(128, 1.5, random);
    Planes texture = {pattern, pattern, pattern};
    constexpr std::array<double, 3> kTint = {0.80, 0.92, 1.0};
    for (size_t c = 0; c < 3; ++c) {
      for (double& value : texture[c].values) value = kTint[c] * value * value;  // mostly dark with bright crystals, as the photographs
    }
    frost.textures.push_back(std::move(texture));
  }
  return frost;
}

Plane plasma(int side, double decay, Random& random) {
  Plane map(side, side);
  double wibble = 100;
  const auto at = [&](int y, int x) { return map.at((y + side) % side, (x + side) % side); };
  const auto noise = [&] { return wibble * random.uniform(-wibble, wibble); };
  for (int step = side; step >= 2; step /= 2, wibble /= decay) {
    const int half = step / 2;
    for (int y = 0; y < side; y += step) {
      for (int x = 0; x < side; x += step) {
        map.at(y + half, x + half) = (at(y, x) + at(y + step, x) + at(y, x + step) + at(y + step, x + step)) / 4 + noise();
      }
    }
    for (int y = 0; y < side; y += step) {
      for (int x = 0; x < side; x += step) {
        map.at(y, x + half) = (at(y + half, x + half) + at(y - half, x + half) + at(y, x) + at(y, x + step)) / 4 + noise();
        map.at(y + half, x) = (at(y + half, x + half) + at(y + half, x - half) + at(y, x) + at(y + step, x)) / 4 + noise();
      }
    }
  }
  const auto [low, high] = std::minmax_element(map.values.begin(), map.values.end());
  const double floor = *low, range = *high - *low;
  for (double& value : map.values) value = (value - floor) / range;
  return map;
}

}  // namespace debias

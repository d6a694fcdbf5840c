#include "debias/data/readers/clear_images.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "debias/core/error.h"
#include "debias/data/parallel_blocks.h"

namespace debias {
namespace {

constexpr int64_t kFew = 32, kMost = 2048;

bool is_of_one_colour(const Image& image) {
  const auto channels = static_cast<size_t>(image.channels);
  return std::memcmp(image.pixels.data(), image.pixels.data() + channels, image.pixels.size() - channels) == 0;
}

// The ground on which an image has more than one colour that has one without its transparency; none: it has lost nothing.
std::optional<Transparency> ground_that_shows(const std::string& path, ImageReading reading) {
  try {
    if (!is_of_one_colour(read_image(path, reading))) return std::nullopt;
    for (const Transparency ground : {Transparency::kWhite, Transparency::kBlack}) {
      reading.transparency = ground;
      if (!is_of_one_colour(read_image(path, reading))) return ground;
    }
  } catch (const FileError&) {  // it is reported where it is read
  }
  return std::nullopt;
}

LostContent lost_among(const std::string& root, const std::vector<std::string>& images, const ImageReading& reading, int64_t most) {
  LostContent found{.looked = std::min<int64_t>(std::ssize(images), most)};
  const auto image = [&](int64_t i) { return images[static_cast<size_t>(i * std::ssize(images) / found.looked)]; };
  std::vector<std::optional<Transparency>> shows(static_cast<size_t>(found.looked));
  for_each_block(
      found.looked, 1,
      [&](int64_t i, int64_t) {
        shows[static_cast<size_t>(i)] = ground_that_shows((std::filesystem::path(root) / image(i)).string(), reading);
      },
      [](int64_t) {});
  for (int64_t i = 0; i < found.looked; ++i) {
    const auto ground = shows[static_cast<size_t>(i)];
    if (!ground || found.lost++ > 0) continue;
    found.first = image(i);
    found.shows = *ground;
  }
  return found;
}

}  // namespace

LostContent lost_content(const std::string& root, const std::vector<std::string>& images, const ImageReading& reading) {
  const LostContent few = lost_among(root, images, reading, kFew);
  return few.lost == 0 ? few : lost_among(root, images, reading, kMost);
}

}  // namespace debias

#include "debias/image/orientation.h"

#include <algorithm>
#include <array>
#include <utility>

namespace debias {
namespace {

int divided(int size, int denominator) { return (size + denominator - 1) / denominator; }

// A box of the shown image of that size to the stored one, or back: both are the same but for the order of the two steps.
Box stored_box(const Box& box, const Orientation& orientation, int stored_height, int stored_width) {
  Box stored = orientation.transposed ? Box{box.left, box.top, box.width, box.height} : box;
  if (orientation.rows_flipped) stored.top = stored_height - stored.top - stored.height;
  if (orientation.columns_flipped) stored.left = stored_width - stored.left - stored.width;
  return stored;
}

Box shown_box(Box box, const Orientation& orientation, int stored_height, int stored_width) {
  if (orientation.rows_flipped) box.top = stored_height - box.top - box.height;
  if (orientation.columns_flipped) box.left = stored_width - box.left - box.width;
  return orientation.transposed ? Box{box.left, box.top, box.width, box.height} : box;
}

Image turned_pixels(const Image& stored, const Orientation& orientation) {
  Image shown{stored.height, stored.width, stored.channels, std::vector<uint8_t>(stored.pixels.size())};
  if (orientation.transposed) std::swap(shown.height, shown.width);
  const ptrdiff_t pixel = stored.channels, row = pixel * stored.width;
  const uint8_t* first = stored.pixels.data();
  if (orientation.rows_flipped) first += row * (stored.height - 1);
  if (orientation.columns_flipped) first += pixel * (stored.width - 1);
  ptrdiff_t down = orientation.rows_flipped ? -row : row, right = orientation.columns_flipped ? -pixel : pixel;
  if (orientation.transposed) std::swap(down, right);
  constexpr int kBlock = 32;  // rows and columns at once, so that a transposition stays within the cache
  for (int top = 0; top < shown.height; top += kBlock) {
    for (int left = 0; left < shown.width; left += kBlock) {
      const int columns = std::min(kBlock, shown.width - left);
      for (int y = top; y < std::min(top + kBlock, shown.height); ++y) {
        const uint8_t* from = first + down * y + right * left;
        uint8_t* to = shown.pixels.data() + (static_cast<ptrdiff_t>(y) * shown.width + left) * pixel;
        for (int x = 0; x < columns; ++x, from += right, to += pixel) std::copy_n(from, pixel, to);
      }
    }
  }
  return shown;
}

}  // namespace

Orientation orientation_of(int64_t tag) {
  constexpr std::array<Orientation, 9> kKnown = {{{},
                                                  {},
                                                  {false, false, true},
                                                  {false, true, true},
                                                  {false, true, false},
                                                  {true, false, false},
                                                  {true, true, false},
                                                  {true, true, true},
                                                  {true, false, true}}};
  return tag >= 1 && tag <= 8 ? kKnown[static_cast<size_t>(tag)] : Orientation{};
}

PartialImage turned(PartialImage part, const Orientation& orientation) {
  if (orientation.upright()) return part;
  const int denominator = part.region.denominator;
  const Box box = shown_box(part.region.box, orientation, divided(part.height, denominator), divided(part.width, denominator));
  if (orientation.transposed) std::swap(part.height, part.width);
  return {turned_pixels(part.image, orientation), {box, denominator}, part.height, part.width};
}

RegionChooser of_stored(const RegionChooser& choose, const Orientation& orientation) {
  return [&choose, orientation](int height, int width) {
    const ImageRegion shown = orientation.transposed ? choose(width, height) : choose(height, width);
    const int denominator = shown.denominator;
    return ImageRegion{stored_box(shown.box, orientation, divided(height, denominator), divided(width, denominator)), denominator};
  };
}

}  // namespace debias

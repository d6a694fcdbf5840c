#include "debias/image/contact_sheet.h"

#include <algorithm>

#include "debias/core/error.h"
#include "debias/image/image_decode.h"

namespace debias {
namespace {

Image as_rgb(const Image& image) {
  if (image.channels == 3) return image;
  Image rgb{image.height, image.width, 3, {}};
  for (const uint8_t value : image.pixels) rgb.pixels.insert(rgb.pixels.end(), 3, value);
  return rgb;
}

}  // namespace

Image contact_sheet(const std::vector<std::vector<Image>>& rows) {
  constexpr int kGap = 2;
  int height = 0, width = 0;
  for (const auto& row : rows) {
    for (const auto& image : row) height = std::max(height, image.height), width = std::max(width, image.width);
  }
  const int columns = static_cast<int>(rows.front().size());
  Image sheet{static_cast<int>(rows.size()) * (height + kGap) + kGap, columns * (width + kGap) + kGap, 3, {}};
  if (int64_t{sheet.height} * sheet.width > kLargestImage)
    throw usage_error("contact sheet: it would have {} x {} pixels; show fewer", sheet.height, sheet.width);
  sheet.pixels.assign(static_cast<size_t>(sheet.height) * sheet.width * 3, 128);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < rows[r].size(); ++c) {
      const Image cell = as_rgb(rows[r][c]);
      const int top = kGap + static_cast<int>(r) * (height + kGap), left = kGap + static_cast<int>(c) * (width + kGap);
      for (int y = 0; y < cell.height; ++y) {
        std::copy_n(cell.row(y), cell.width * 3, sheet.pixels.begin() + (static_cast<ptrdiff_t>(top + y) * sheet.width + left) * 3);
      }
    }
  }
  return sheet;
}

}  // namespace debias

#include "debias/audit/picture_features.h"

#include <algorithm>
#include <cmath>

namespace debias {
namespace {

constexpr int kBlock = 8;  // JPEG's
constexpr float kFloor = 1e-3F;

struct ColourSums {
  std::array<int64_t, 3> sum{}, square{};
  int64_t count = 0;

  void add(const uint8_t* pixel) {
    for (size_t c = 0; c < 3; ++c) {
      const int64_t value = pixel[c];
      sum[c] += value;
      square[c] += value * value;
    }
    ++count;
  }

  CellColour colour() const {
    CellColour out{};
    const double n = static_cast<double>(count);
    for (size_t c = 0; c < 3; ++c) {
      const double mean = static_cast<double>(sum[c]) / n;
      const double variance = std::max(0.0, static_cast<double>(square[c]) / n - mean * mean);
      out[c] = static_cast<float>(mean / 255);
      out[3 + c] = static_cast<float>(std::sqrt(variance) / 255);
    }
    return out;
  }
};

// Cell i of 16 has the pixels [i n / 16, (i + 1) n / 16), and at least one.
struct Run {
  int first, last;
};
Run run_of(int cell, int extent) {
  const int first = cell * extent / kFineGrid;
  return {first, std::max(first + 1, (cell + 1) * extent / kFineGrid)};
}

CellColour cell_colour(const Image& image, int x, int y) {
  const Run rows = run_of(y, image.height), columns = run_of(x, image.width);
  ColourSums sums;
  for (int row = rows.first; row < rows.last; ++row) {
    const uint8_t* pixels = image.row(row);
    for (int column = columns.first; column < columns.last; ++column) sums.add(pixels + 3 * column);
  }
  return sums.colour();
}

struct Mean {
  double sum = 0;
  int64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  float value() const { return count == 0 ? 0.0F : static_cast<float>(sum / static_cast<double>(count)); }
};

float log_ratio(float a, float b) { return std::log((a + kFloor) / (b + kFloor)); }

// Squared differences of pixels `lag` apart, along both directions.
float squared_differences(const Luma& luma, int lag) {
  Mean mean;
  for (int y = 0; y < luma.height; ++y) {
    for (int x = 0; x < luma.width; ++x) {
      const float value = luma.at(y, x);
      if (x + lag < luma.width) mean.add((luma.at(y, x + lag) - value) * (luma.at(y, x + lag) - value));
      if (y + lag < luma.height) mean.add((luma.at(y + lag, x) - value) * (luma.at(y + lag, x) - value));
    }
  }
  return mean.value();
}

struct Differences {
  Mean all, across, within;  // of neighbours; across edges of blocks, and within blocks
};

Differences absolute_differences(const Luma& luma) {
  Differences found;
  const auto add = [&](float difference, int position) {
    found.all.add(difference);
    (position % kBlock == 0 ? found.across : found.within).add(difference);
  };
  for (int y = 0; y < luma.height; ++y) {
    for (int x = 0; x < luma.width; ++x) {
      if (x > 0) add(std::abs(luma.at(y, x) - luma.at(y, x - 1)), x);
      if (y > 0) add(std::abs(luma.at(y, x) - luma.at(y - 1, x)), y);
    }
  }
  return found;
}

// Immerkaer's estimate in the block whose first inner pixel is (top, left).
float block_noise(const Luma& luma, int top, int left) {
  Mean mean;
  for (int y = top; y < top + kBlock - 2; ++y) {
    for (int x = left; x < left + kBlock - 2; ++x) {
      const float corners = luma.at(y - 1, x - 1) + luma.at(y - 1, x + 1) + luma.at(y + 1, x - 1) + luma.at(y + 1, x + 1);
      const float sides = luma.at(y - 1, x) + luma.at(y, x - 1) + luma.at(y, x + 1) + luma.at(y + 1, x);
      mean.add(std::abs(corners - 2 * sides + 4 * luma.at(y, x)));
    }
  }
  return mean.value() * std::sqrt(std::acos(-1.0F) / 2) / 6;
}

float noise_of(const Luma& luma) {
  std::vector<float> blocks;
  for (int y = 0; y + kBlock <= luma.height; y += kBlock) {
    for (int x = 0; x + kBlock <= luma.width; x += kBlock) blocks.push_back(block_noise(luma, y + 1, x + 1));
  }
  if (blocks.empty()) return 0;
  const auto quarter = blocks.begin() + std::ssize(blocks) / 4;
  std::nth_element(blocks.begin(), quarter, blocks.end());
  return *quarter;
}

float chroma_of(const Image& image) {
  Mean mean;
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    const uint8_t* p = image.pixels.data() + i;
    mean.add(std::max({p[0], p[1], p[2]}) - std::min({p[0], p[1], p[2]}));
  }
  return mean.value() / 255;
}

std::array<float, 3> gradient_by_channel(const Image& image) {
  std::array<Mean, 3> means;
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* row = image.row(y);
    for (int i = 3; i < 3 * image.width; ++i) means[static_cast<size_t>(i % 3)].add(std::abs(row[i] - row[i - 3]));
  }
  return {means[0].value(), means[1].value(), means[2].value()};
}

std::array<float, kGlobalProperties> global_properties(const Image& image, const Luma& luma) {
  Mean brightness, square;
  for (const float value : luma.values) {
    brightness.add(value / 255);
    square.add((value / 255) * (value / 255));
  }
  const float variance = std::max(0.0F, square.value() - brightness.value() * brightness.value());
  const auto by_channel = gradient_by_channel(image);
  const Differences differences = absolute_differences(luma);
  return {brightness.value(),
          std::sqrt(variance),
          chroma_of(image),
          log_ratio(by_channel[0], by_channel[1]),
          log_ratio(by_channel[2], by_channel[1]),
          std::log(differences.all.value() + kFloor),
          log_ratio(squared_differences(luma, 1), squared_differences(luma, 2)),
          std::log(noise_of(luma) + kFloor),
          log_ratio(differences.across.value(), differences.within.value())};
}

}  // namespace

std::string_view name_of(GlobalProperty property) {
  constexpr std::array<std::string_view, kGlobalProperties> kNames = {
      "brightness", "contrast", "chroma", "colour cast (red)", "colour cast (blue)", "gradient energy", "sharpness", "noise", "blockiness"};
  return kNames[static_cast<size_t>(property)];
}

CellColour PictureFeatures::colour(int x, int y, int width, int height) const {
  std::array<double, 3> mean{}, square{};
  for (int row = y; row < y + height; ++row) {
    for (int column = x; column < x + width; ++column) {
      const CellColour& cell = cells[static_cast<size_t>(row * kFineGrid + column)];
      for (size_t c = 0; c < 3; ++c) {
        mean[c] += cell[c];
        square[c] += cell[c] * cell[c] + cell[3 + c] * cell[3 + c];
      }
    }
  }
  CellColour out{};
  const double n = width * height;
  for (size_t c = 0; c < 3; ++c) {
    const double m = mean[c] / n;
    out[c] = static_cast<float>(m);
    out[3 + c] = static_cast<float>(std::sqrt(std::max(0.0, square[c] / n - m * m)));
  }
  return out;
}

PictureFeatures picture_features(const Image& whole, const Image& detail) {
  PictureFeatures features;
  for (int y = 0; y < kFineGrid; ++y) {
    for (int x = 0; x < kFineGrid; ++x) features.cells[static_cast<size_t>(y * kFineGrid + x)] = cell_colour(whole, x, y);
  }
  const Luma luma = luma_of(detail);
  features.global = global_properties(detail, luma);
  features.texture = texture_features(whole, detail, luma);
  return features;
}

}  // namespace debias

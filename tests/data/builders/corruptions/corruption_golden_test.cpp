// The corruptions against images and moments made with the libraries of the released CIFAR-10-C (tests/golden/make_corruptions.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "debias/core/input_file.h"
#include "debias/core/registry.h"
#include "debias/data/builders/corruptions/corruption.h"
#include "debias/image/image_decode.h"
#include "tests/support/golden_folder.h"

namespace debias {
namespace corruption_golden_test {

constexpr int kSide = kCorruptionSide;

std::string golden(const std::string& file) { return golden_folder("corruptions") + "/" + file; }

const nlohmann::json& about() {
  static const auto loaded = nlohmann::json::parse(read_file_bytes(golden("about.json")));
  return loaded;
}

FrostTextures drawn_textures() {  // as the script has them
  FrostTextures frost;
  for (int number = 0; number < 5; ++number) {
    Planes texture = {Plane(40, 36), Plane(40, 36), Plane(40, 36)};
    for (int c = 0; c < 3; ++c) {
      for (int y = 0; y < 40; ++y) {
        for (int x = 0; x < 36; ++x) texture[static_cast<size_t>(c)].at(y, x) = (y * 7 + x * 13 + c * 29 + number * 41) % 256 / 255.0;
      }
    }
    frost.textures.push_back(std::move(texture));
  }
  return frost;
}

Image damaged(const std::string& name, int severity, uint64_t sample) {
  static const FrostTextures frost = drawn_textures();
  static const Image input = read_image(golden("input.png"));
  Random random({.sample = sample});
  return corrupted(input, find_entry(corruption_registry(), name, "corruption"), severity, random, frost);
}

// Some of the libraries compute in float32, and what is cut to a whole level then may fall on its other side.
constexpr int kLargest = 1;
constexpr double kShare = 0.01;  // of the values that may differ at all

class CorruptionGolden : public testing::TestWithParam<std::string> {};

TEST_P(CorruptionGolden, HasTheReferencesPixels) {
  const Image sheet = read_image(golden("pixels.png"));
  const auto& rows = about().at("rows");
  const auto row = static_cast<int>(std::find(rows.begin(), rows.end(), GetParam()) - rows.begin());
  for (int severity = 1; severity <= 5; ++severity) {
    const Image out = damaged(GetParam(), severity, static_cast<uint64_t>(severity - 1));
    int largest = 0, different = 0;
    for (int y = 0; y < kSide; ++y) {
      const uint8_t* expected = sheet.row(row * kSide + y) + 3 * kSide * (severity - 1);
      for (int i = 0; i < 3 * kSide; ++i) {
        const int difference = std::abs(out.row(y)[i] - expected[i]);
        largest = std::max(largest, difference);
        different += difference > 0 ? 1 : 0;
      }
    }
    EXPECT_LE(largest, kLargest) << "severity " << severity;
    EXPECT_LE(different, kShare * 3 * kSide * kSide) << "severity " << severity;
  }
}

INSTANTIATE_TEST_SUITE_P(Released, CorruptionGolden, testing::ValuesIn(about().at("rows").get<std::vector<std::string>>()),
                         [](const auto& param) { return param.param; });

TEST(CorruptionGolden, CoversEveryCorruption) {
  std::set<std::string> covered = {"original"};
  for (const auto& name : about().at("rows")) covered.insert(name);
  for (const auto& entry : about().at("moments")) covered.insert(entry.at("kind"));
  for (const Corruption& corruption : corruption_registry()) EXPECT_EQ(covered.count(corruption.name), 1u) << corruption.name;
}

// Errors of the reference's moments are its own standard errors; those of as many images here are alike, and five of both together allowed.
TEST(CorruptionGolden, NoiseHasTheReferencesMoments) {
  const Image input = read_image(golden("input.png"));
  const int images = about().at("images");
  for (const auto& entry : about().at("moments")) {
    const std::string name = entry.at("kind");
    double sum = 0, squares = 0, count = 0;
    for (int sample = 0; sample < images; ++sample) {
      const Image out = damaged(name, entry.at("severity"), static_cast<uint64_t>(sample));
      for (size_t i = 0; i < out.pixels.size(); ++i, ++count) {
        const double change = out.pixels[i] - input.pixels[i];
        sum += change;
        squares += change * change;
      }
    }
    const double mean = sum / count, deviation = std::sqrt(squares / count - mean * mean), allowed = 5 * std::sqrt(2.0);
    EXPECT_NEAR(mean, entry.at("mean"), allowed * entry.at("mean_error").get<double>()) << entry;
    EXPECT_NEAR(deviation, entry.at("deviation"), allowed * entry.at("deviation_error").get<double>()) << entry;
  }
}

}  // namespace corruption_golden_test
}  // namespace debias

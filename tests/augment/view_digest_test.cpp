// The bytes of views do not change: a digest of 64 views of each preset, the same for every instruction set. The digests were taken from
// the scalar code that the vectorised code replaced; those of later presets from their first version.
#include <gtest/gtest.h>

#include <cmath>

#include "debias/augment/chosen.h"
#include "debias/augment/view_pipeline.h"
#include "debias/core/sha256.h"
#include "tests/image/instruction_sets.h"
#include "tests/image/test_images.h"

namespace debias {
namespace view_digest_test {

// Waves with a little noise: neighbouring pixels are alike, and colours cover the cube.
Image wavy_image(int height, int width, int channels) {
  Image image = noise_image(height, width, channels, 17);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const size_t c = i % channels, x = i / channels % width, y = i / channels / width;
    const double wave =
        128 + 110 * std::sin(0.21 * static_cast<double>(x) * (1 + 0.3 * static_cast<double>(c)) + 0.13 * static_cast<double>(y));
    image.pixels[i] = static_cast<uint8_t>(wave + image.pixels[i] % 16);
  }
  return image;
}

std::string digest(const std::string& preset, int channels) {
  const ViewPipeline views = read_views(Config::map({{"preset", Config::string(preset)}})).make({0.5}, {0.25});
  const std::vector<Image> images = {noise_image(32, 32, channels), wavy_image(32, 32, channels),  wavy_image(61, 45, channels),
                                     wavy_image(96, 96, channels),  noise_image(29, 83, channels), wavy_image(250, 331, channels)};
  Sha256 sha;
  for (uint64_t i = 0; i < 64; ++i) {
    RngKey key = sample_key(i);
    key.epoch = 3;
    key.view = static_cast<uint16_t>(i % 2);
    const Image view = views.apply(images[i % images.size()], key);
    const int32_t shape[3] = {view.height, view.width, view.channels};
    sha.update(shape, sizeof(shape));
    sha.update(view.pixels.data(), view.pixels.size());
  }
  return sha.hex().substr(0, 16);
}

struct Known {
  const char* preset;
  const char* rgb;
  const char* grey;
};

void PrintTo(const Known& known, std::ostream* out) { *out << known.preset; }

constexpr Known kKnown[] = {
    {"none", "bf40a036e47b6d4b", "650e1a78a36154ae"},
    {"eval0", "bf40a036e47b6d4b", "650e1a78a36154ae"},
    {"sim32", "7641bcd46ba949f1", "1baa97aeb6113864"},
    {"sim224", "383a4c541766ae1f", "f180d4a35aaba902"},
    {"sup32", "2d1dc523d1710d4a", "c45c1f60d88fa3c3"},
    {"sup224", "8cd48e3c102f62c1", "4beb609496565269"},
    {"lin32", "32cd437a5c0d5997", "b716853595a73d82"},
    {"crop4", "b0873fe31bc4b6b1", "a83426ea19ad15b3"},
    {"mn0", "bf40a036e47b6d4b", "650e1a78a36154ae"},
    {"mn_bc", "9f049373c6cf3cc5", "9d68dab8602647e9"},
    {"bf", "f7db47c97f0085ef", "fb656fd5cb999c09"},
    {"in_std", "ea4b080237c19b4a", "7a828fa4ca844378"},
    {"in100", "3986f449dc711015", "facec31a8c7ba26a"},
    {"cmc", "2b98e685c11849e3", ""},  // which needs colours
    {"cmc_ycbcr", "23e5e39257c79e69", ""},
};

class ViewDigest : public testing::TestWithParam<Known> {};

TEST_P(ViewDigest, IsTheKnownOneUnderEveryInstructionSet) {
  for_each_instruction_set([] {
    EXPECT_EQ(digest(GetParam().preset, 3), GetParam().rgb);
    const std::string grey = GetParam().grey;
    EXPECT_TRUE(grey.empty() || digest(GetParam().preset, 1) == grey);
  });
}

INSTANTIATE_TEST_SUITE_P(Presets, ViewDigest, testing::ValuesIn(kKnown), [](const auto& test) { return std::string(test.param.preset); });

TEST(ViewDigests, AreKnownForEveryPreset) {
  for (const ViewPresetEntry& entry : view_preset_registry()) {
    EXPECT_TRUE(std::any_of(std::begin(kKnown), std::end(kKnown), [&](const Known& known) { return entry.name == known.preset; }))
        << entry.name;
  }
}

}  // namespace view_digest_test
}  // namespace debias

// Where views go: both value types, both orders, and no allocation on the way.
#include "debias/augment/view_target.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <new>

#include "debias/augment/chosen.h"
#include "debias/augment/view_pipeline.h"
#include "debias/core/error.h"
#include "debias/image/colour.h"
#include "tests/augment/written_view.h"
#include "tests/image/test_images.h"

namespace {

thread_local int64_t allocations = 0;

}  // namespace

void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace debias {
namespace {

ViewPipeline preset(const std::string& name) {
  return read_views(Config::map({{"preset", Config::string(name)}})).make({0.4914, 0.4822, 0.4465}, {0.2023, 0.1994, 0.2010});
}

template <class T>
std::vector<T> written(const ViewPipeline& views, const Image& image, int size, ViewTarget::Type type, ViewTarget::Order order) {
  std::vector<T> values(static_cast<size_t>(3) * size * size + 1, T(7));
  write_view(views, image, sample_key(3), {3, size, size, values.data(), type, order});
  EXPECT_EQ(values.back(), T(7));
  values.pop_back();
  return values;
}

TEST(ViewTarget, ChannelsLastHasTheSameValues) {
  const Image image = noise_image(40, 30, 3);
  for (const char* name : {"sim32", "crop4"}) {
    const auto first = written<float>(preset(name), image, 32, ViewTarget::Type::kFloat32, ViewTarget::Order::kChannelsFirst);
    const auto last = written<float>(preset(name), image, 32, ViewTarget::Type::kFloat32, ViewTarget::Order::kChannelsLast);
    for (size_t i = 0; i < 1024; ++i) {
      for (size_t c = 0; c < 3; ++c) ASSERT_EQ(first[c * 1024 + i], last[3 * i + c]);
    }
  }
}

TEST(ViewTarget, Bfloat16IsTheNearest) {
  const Image image = noise_image(40, 30, 3);
  for (const auto order : {ViewTarget::Order::kChannelsFirst, ViewTarget::Order::kChannelsLast}) {
    const auto exact = written<float>(preset("sim32"), image, 32, ViewTarget::Type::kFloat32, order);
    const auto rounded = written<uint16_t>(preset("sim32"), image, 32, ViewTarget::Type::kBfloat16, order);
    for (size_t i = 0; i < exact.size(); ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(exact[i]), below = bits & 0xffff;
      const bool up = below > 0x8000 || (below == 0x8000 && (bits >> 16) % 2 == 1);
      ASSERT_EQ(rounded[i], static_cast<uint16_t>((bits >> 16) + (up ? 1 : 0)));
    }
  }
}

TEST(ViewTarget, Bfloat16TiesGoToTheEvenOne) {
  // White becomes 1 + 1/256 and 1 + 3/256, halfway between 1 and 1 + 1/128, and between that and 1 + 1/64.
  for (const auto& [mean, bits] : std::vector<std::pair<double, uint16_t>>{{-1.0 / 256, 0x3f80}, {-3.0 / 256, 0x3f82}}) {
    const ViewPipeline views = read_views(Config()).make({mean}, {1});
    const Image white{1, 1, 3, {255, 255, 255}};
    const auto values = written<uint16_t>(views, white, 1, ViewTarget::Type::kBfloat16, ViewTarget::Order::kChannelsFirst);
    EXPECT_EQ(values, std::vector<uint16_t>(3, bits));
  }
}

TEST(ViewTarget, TakesTheValuesOfThePixels) {
  const Image image = noise_image(50, 70, 3);
  const ViewPipeline views = preset("sim32");
  const Image pixels = views.apply(image, sample_key(3));
  const auto values = written<float>(views, image, 32, ViewTarget::Type::kFloat32, ViewTarget::Order::kChannelsFirst);
  for (int c = 0; c < 3; ++c) {
    const auto mean = static_cast<float>(views.mean()[c]), std = static_cast<float>(views.std()[c]);
    for (size_t i = 0; i < 1024; ++i) {
      ASSERT_EQ(values[c * 1024 + i], (static_cast<float>(pixels.pixels[3 * i + c]) / 255.0f - mean) / std);
    }
  }
}

TEST(ViewTarget, OtherNumbersOfConstantsThanChannelsAreRefused) {
  std::vector<float> out(16);
  const Image grey = noise_image(4, 4, 1);
  EXPECT_THROW(write_view(preset("none"), grey, sample_key(0), {1, 4, 4, out.data()}), Error);
}

TEST(Views, AreMadeWithoutAllocating) {
  const std::vector<Image> images = {noise_image(32, 32, 3), noise_image(96, 96, 3), noise_image(61, 120, 3)};
  std::vector<float> values(3 * 224 * 224);
  for (const char* name : {"sim32", "sim224", "sup32", "lin32", "crop4", "bf", "in_std", "in100", "cmc", "cmc_ycbcr"}) {
    const ViewPipeline views = preset(name);
    const auto [height, width] = views.output_size(96, 96);
    ViewFrame frame;
    ViewPlan plan;
    int64_t before = 0;
    for (const int round : {0, 1}) {
      before = allocations;
      for (uint64_t i = 0; i < 30; ++i) {
        const Image& image = images[i % images.size()];
        views.draw(image.height, image.width, sample_key(i), plan);
        views.write(whole(image), plan, frame, {3, height, width, values.data()});
      }
      EXPECT_TRUE(round > 0 || allocations > before) << name;  // else nothing is counted
    }
    EXPECT_EQ(allocations, before) << name;
  }
}

TEST(Cmc, ViewsAreLabCoordinatesInTheirRangesWithoutRounding) {
  const ViewPipeline views = preset("cmc");
  EXPECT_EQ(views.output_size(300, 200), std::pair(224, 224));
  const std::vector<std::array<uint8_t, 3>> colours = {{255, 0, 0}, {13, 200, 77}, {1, 1, 2}};
  for (const auto& colour : colours) {
    Image flat{30, 30, 3, {}};
    for (int i = 0; i < 900; ++i) flat.pixels.insert(flat.pixels.end(), colour.begin(), colour.end());
    const auto values = written<float>(views, flat, 224, ViewTarget::Type::kFloat32, ViewTarget::Order::kChannelsFirst);
    const auto [l, a, b] = lab_of(colour.data());
    const double expected[3] = {(l - 50) / 50, (a - (98.233 - 86.183) / 2) / ((98.233 + 86.183) / 2),
                                (b - (94.478 - 107.857) / 2) / ((94.478 + 107.857) / 2)};
    for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(values[c * 224 * 224 + 5000], expected[c], 1e-6);
  }
}

TEST(Cmc, RedIsWhatCieSays) {
  const auto [l, a, b] = lab_of(std::array<uint8_t, 3>{255, 0, 0}.data());
  EXPECT_NEAR(l, 53.24, 0.01);
  EXPECT_NEAR(a, 80.09, 0.01);
  EXPECT_NEAR(b, 67.20, 0.01);
}

// Of one colour, as the network gets it.
std::array<float, 3> seen(const std::string& name, const std::array<uint8_t, 3>& colour) {
  Image flat{30, 30, 3, {}};
  for (int i = 0; i < 900; ++i) flat.pixels.insert(flat.pixels.end(), colour.begin(), colour.end());
  const auto values = written<float>(preset(name), flat, 224, ViewTarget::Type::kFloat32, ViewTarget::Order::kChannelsFirst);
  return {values[5000], values[224 * 224 + 5000], values[2 * 224 * 224 + 5000]};
}

void expect_near(const std::array<float, 3>& found, const std::array<double, 3>& expected, double tolerance) {
  for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(found[c], expected[c], tolerance) << c;
}

TEST(Cmc, RedAndBlueArriveAsTheAuthorsHaveThem) {  // skimage and the constants of their trainer
  for (const char* name : {"cmc", "cmc_lab"}) {
    expect_near(seen(name, {255, 0, 0}), {0.0648, 0.8033, 0.7304}, 6e-5);
    expect_near(seen(name, {0, 0, 255}), {-0.3541, 0.7934, -1.0000}, 6e-5);
  }
}

TEST(Cmc, YcbcrIsThatOfBt601) {
  const auto as_is = [](std::array<uint8_t, 3> colour) { return ycbcr_of(colour.data()); };
  EXPECT_EQ(as_is({0, 0, 0}), (std::array<double, 3>{16, 128, 128}));
  const auto white = as_is({255, 255, 255}), red = as_is({255, 0, 0}), blue = as_is({0, 0, 255});
  const std::array<double, 3> expected_white = {235, 128, 128}, expected_red = {81.481, 90.203, 240},
                              expected_blue = {40.966, 240, 109.786};
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(white[c], expected_white[c], 1e-9);
    EXPECT_NEAR(red[c], expected_red[c], 1e-9);
    EXPECT_NEAR(blue[c], expected_blue[c], 1e-9);
  }
}

TEST(Cmc, YcbcrViewsHaveTheAuthorsNormalisationWithoutRounding) {
  EXPECT_EQ(preset("cmc_ycbcr").output_size(300, 200), std::pair(224, 224));
  const auto normalised = [](std::array<double, 3> v) -> std::array<double, 3> {
    return {(v[0] - 116.151) / 109.5, (v[1] - 121.080) / 111.855, (v[2] - 132.342) / 111.964};
  };
  for (const std::array<uint8_t, 3>& colour : {std::array<uint8_t, 3>{255, 0, 0}, {13, 200, 77}, {1, 1, 2}}) {
    expect_near(seen("cmc_ycbcr", colour), normalised(ycbcr_of(colour.data())), 1e-6);
  }
  expect_near(seen("cmc_ycbcr", {255, 0, 0}), {-0.316621, -0.276045, 0.961541}, 1e-6);
}

TEST(Cmc, AStepAfterLabSeesItsBytes) {
  const ViewPipeline views = read_views(parse_yaml("{steps: [rgb_to_lab, {random_horizontal_flip: {p: 1}}]}", "")).make({}, {});
  const Image image = noise_image(8, 8, 3), pixels = views.apply(image, sample_key(3));
  const auto values = written<float>(views, image, 8, ViewTarget::Type::kFloat32, ViewTarget::Order::kChannelsFirst);
  for (size_t i = 0; i < 64; ++i) EXPECT_FLOAT_EQ(values[i], (static_cast<float>(pixels.pixels[3 * i]) / 255.0f - 0.5f) / 0.5f);
}

}  // namespace
}  // namespace debias

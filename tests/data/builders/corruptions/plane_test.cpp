#include "debias/data/builders/corruptions/plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/data/builders/corruptions/frost_textures.h"

namespace debias {
namespace plane_test {

using testing::ElementsAre;

Plane row(std::vector<double> values) {
  Plane plane(1, static_cast<int>(values.size()));
  plane.values = std::move(values);
  return plane;
}

Plane ramp(int side, double down, double right) {
  Plane plane(side, side);
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) plane.at(y, x) = down * y + right * x;
  }
  return plane;
}

TEST(Planes, AreBytesOver255AndBackTruncated) {
  Image image;
  image.height = 1;
  image.width = 256;
  for (int v = 0; v < 256; ++v) image.pixels.insert(image.pixels.end(), 3, static_cast<uint8_t>(v));
  EXPECT_EQ(image_of(planes_of(image)).pixels, image.pixels);
  const Plane wild = row({-1, 99.9 / 255, 2});
  EXPECT_THAT(image_of({wild, wild, wild}).pixels, ElementsAre(0, 0, 0, 99, 99, 99, 255, 255, 255));
}

TEST(Borders, MirrorAsTheirLibraries) {
  std::vector<int> nearest, mirrored, reflected;
  for (int position = -4; position < 8; ++position) {
    nearest.push_back(folded(position, 4, Border::kNearest));
    mirrored.push_back(folded(position, 4, Border::kReflect101));
    reflected.push_back(folded(position, 4, Border::kReflect));
  }
  EXPECT_THAT(nearest, ElementsAre(0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3));
  EXPECT_THAT(mirrored, ElementsAre(2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1));
  EXPECT_THAT(reflected, ElementsAre(3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0));
}

TEST(Gaussian, SpreadsAPointByItsWeights) {
  Plane point(9, 9);
  point.at(4, 4) = 1;
  const Plane out = gaussian(point, 0.6);  // radius floor(2.9) = 2
  const double beside = std::exp(-0.5 / 0.36), two = std::exp(-2 / 0.36), total = 1 + 2 * beside + 2 * two;
  EXPECT_NEAR(out.at(4, 4), 1 / (total * total), 1e-12);
  EXPECT_NEAR(out.at(4, 5), beside / (total * total), 1e-12);
  EXPECT_NEAR(out.at(2, 5), two * beside / (total * total), 1e-12);
  EXPECT_EQ(out.at(4, 7), 0);
  EXPECT_EQ(gaussian(point, 0.05).values, point.values);
  EXPECT_EQ(gaussian(point, 0).values, point.values);
}

TEST(ClippedZoom, EnlargesTheCentreWithItsCornersFixed) {
  const Plane in = ramp(32, 100, 1);
  EXPECT_EQ(clipped_zoom(in, 1).values, in.values);
  const Plane out = clipped_zoom(in, 1.25);  // crop 26 from 3, enlarged to round(32.5) = 32 (even)
  EXPECT_NEAR(out.at(0, 0), 303, 1e-9);
  EXPECT_NEAR(out.at(31, 31), 100 * 28 + 28, 1e-9);
  EXPECT_NEAR(out.at(0, 1), 303 + 25.0 / 31, 1e-9);
}

TEST(MotionBlur, IsOneSidedAlongTheAngle) {
  Plane in(16, 16);
  in.at(8, 8) = 1;
  const double k0 = 1, k1 = std::exp(-0.5), k2 = std::exp(-2.0), total = k0 + k1 + k2;  // radius 1: three taps
  const auto eighth = [](double value) { return std::floor(255 * value) / 255; };       // but for 1/514 of a level
  const Plane right = motion_blurred(in, 1, 1, 0);
  EXPECT_DOUBLE_EQ(right.at(8, 8), eighth(k0 / total));
  EXPECT_DOUBLE_EQ(right.at(8, 7), eighth(k1 / total));
  EXPECT_DOUBLE_EQ(right.at(8, 6), eighth(k2 / total));
  EXPECT_EQ(right.at(8, 9), 0);
  const Plane down = motion_blurred(in, 1, 1, -90);  // taps upwards
  EXPECT_DOUBLE_EQ(down.at(9, 8), eighth(k1 / total));
  EXPECT_EQ(down.at(7, 8), 0);
}

TEST(BoxResize, AveragesWholePixels) {
  EXPECT_THAT(box_resized(row({0, 10 / 255.0, 20 / 255.0, 31 / 255.0}), 1, 2).values,
              ElementsAre(5 / 255.0, 26 / 255.0));  // 25.5 rounds up
  for (int v = 0; v < 255; ++v) {
    EXPECT_THAT(box_resized(row({v / 255.0, (v + 1) / 255.0}), 1, 1).values, ElementsAre((v + 1) / 255.0)) << v << ".5";
  }
  EXPECT_THAT(box_resized(row({0, 1}), 1, 4).values, ElementsAre(0, 0, 1, 1));
}

TEST(Hsv, GoesThereAndBack) {
  const Planes rgb = {row({1, 0, 0.2, 0.5, 0.3}), row({0, 1, 0.4, 0.5, 0.1}), row({0, 1, 0.9, 0.5, 0.7})};
  const Planes hsv = rgb_to_hsv(rgb);
  EXPECT_NEAR(hsv[0].values[0], 0, 1e-12);
  EXPECT_NEAR(hsv[0].values[1], 0.5, 1e-12);
  EXPECT_NEAR(hsv[1].values[2], 0.7 / 0.9, 1e-12);
  EXPECT_EQ(hsv[1].values[3], 0);
  const Planes back = hsv_to_rgb(hsv);
  for (size_t c = 0; c < 3; ++c) {
    for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(back[c].values[i], rgb[c].values[i], 1e-12);
  }
}

TEST(Plasma, FillsTheUnitInterval) {
  Random random({});
  const Plane map = plasma(32, 2, random);
  EXPECT_EQ(*std::min_element(map.values.begin(), map.values.end()), 0);
  EXPECT_EQ(*std::max_element(map.values.begin(), map.values.end()), 1);
  double neighbours = 0, far = 0;  // a fractal: close pixels are alike
  for (int i = 0; i < 31; ++i) {
    neighbours += std::abs(map.at(i, 5) - map.at(i + 1, 5));
    far += std::abs(map.at(i, 5) - map.at((i + 16) % 32, 21));
  }
  EXPECT_LT(neighbours, far / 2);
}

}  // namespace plane_test
}  // namespace debias

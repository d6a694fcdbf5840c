// Images in real numbers, one plane a channel, and the filters that corruptions are made of.
//
// Each function follows the library that the published corruptions were made with, border rule included; it is named with the function.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "debias/image/image.h"

namespace debias {

struct Plane {
  int height = 0, width = 0;
  std::vector<double> values;  // row-major

  Plane() = default;
  Plane(int rows, int columns, double value = 0) : height(rows), width(columns), values(static_cast<size_t>(rows) * columns, value) {}
  double& at(int y, int x) { return values[static_cast<size_t>(y) * width + x]; }
  double at(int y, int x) const { return values[static_cast<size_t>(y) * width + x]; }
};

using Planes = std::array<Plane, 3>;  // red, green, blue in [0, 1]

Planes planes_of(const Image& image);    // 3 channels, values / 255
Image image_of(const Planes& planes);    // clip(255 v, 0, 255), truncated
Plane grey_of(const Planes& planes);     // .299 R + .587 G + .114 B
Plane truncated_bytes(const Plane& in);  // clip(255 v, 0, 255) truncated, then / 255: a trip through 8 bits

// Padding outside an image: the edge's value, or its mirror image about the edge pixel (cba|bcd, OpenCV's reflect-101) or about the
// edge (abc|abc read backwards, scipy's reflect).
enum class Border { kNearest, kReflect101, kReflect };
int folded(int position, int extent, Border border);

// Weights exp(-x^2 / (2 sigma^2)) for |x| <= floor(truncate sigma + 0.5), normalised; sigma 0 changes nothing (scipy.ndimage, skimage).
Plane gaussian(const Plane& in, double sigma, Border border = Border::kNearest, double truncate = 4);

// Correlation with a square kernel of odd side, reflect-101 (cv2.filter2D).
Plane correlated(const Plane& in, const Plane& kernel);

// Bilinear value at a real position (scipy.ndimage.map_coordinates with order 1).
double bilinear(const Plane& in, double y, double x, Border border);

// The central 1/zoom of a square image enlarged to its size: crop ceil(h / zoom), linear resampling with the corners fixed to
// round(crop * zoom), centre trimmed (hendrycks/robustness, clipped_zoom over scipy.ndimage.zoom). zoom >= 1.
Plane clipped_zoom(const Plane& in, double zoom);

// One-sided Gaussian taps along an angle in degrees, 2 ceil(radius) + 1 of them, edges repeated, rounded to 16 bits and cut to 8
// (ImageMagick's motion blur, written as PNG).
Plane motion_blurred(const Plane& in, double radius, double sigma, double angle);

// Box-filtered resize, 8 bits after each pass, columns after rows (Pillow's resize with BOX).
Plane box_resized(const Plane& in, int height, int width);

// Hue, saturation and value in [0, 1] of the hexcone model (skimage.color).
Planes rgb_to_hsv(const Planes& rgb);
Planes hsv_to_rgb(const Planes& hsv);

}  // namespace debias

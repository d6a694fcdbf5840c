#include "debias/data/builders/corruptions/plane.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace debias {
namespace {

double clipped_byte(double value) { return std::clamp(255 * value, 0.0, 255.0); }

// `out[y][x] = sum over k of weights[k] in[y][x + k - radius]`, or along the columns.
Plane correlated_along(const Plane& in, const std::vector<double>& weights, Border border, bool columns) {
  const int radius = static_cast<int>(weights.size()) / 2;
  Plane out(in.height, in.width);
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      double sum = 0;
      for (int k = -radius; k <= radius; ++k) {
        const double value = columns ? in.at(folded(y + k, in.height, border), x) : in.at(y, folded(x + k, in.width, border));
        sum += weights[static_cast<size_t>(k + radius)] * value;
      }
      out.at(y, x) = sum;
    }
  }
  return out;
}

struct Span {
  int first = 0, last = 0;  // of the inputs averaged, half open
};

std::vector<Span> box_spans(int in, int out) {
  const double scale = static_cast<double>(in) / out;
  const double support = 0.5 * std::max(1.0, scale);
  std::vector<Span> spans;
  for (int i = 0; i < out; ++i) {
    const double centre = (i + 0.5) * scale;
    Span span{std::max(0, static_cast<int>(centre - support + 0.5)), std::min(in, static_cast<int>(centre + support + 0.5))};
    const double stretch = std::max(1.0, scale);
    const auto outside = [&](int k) {
      const double position = (k + 0.5 - centre) / stretch;
      return position <= -0.5 || position > 0.5;
    };
    while (span.last - span.first > 1 && outside(span.first)) ++span.first;
    while (span.last - span.first > 1 && outside(span.last - 1)) --span.last;
    spans.push_back(span);
  }
  return spans;
}

// Halves go up, also where the sum of v / 255 falls short of one.
double rounded_mean(double sum, int count) { return std::floor(255 * sum / count + 0.5 + 1e-9) / 255; }

}  // namespace

Planes planes_of(const Image& image) {
  Planes planes;
  for (size_t c = 0; c < 3; ++c) {
    planes[c] = Plane(image.height, image.width);
    for (size_t i = 0; i < planes[c].values.size(); ++i) planes[c].values[i] = image.pixels[3 * i + c] / 255.0;
  }
  return planes;
}

Image image_of(const Planes& planes) {
  Image image;
  image.height = planes[0].height;
  image.width = planes[0].width;
  image.pixels.resize(3 * planes[0].values.size());
  for (size_t c = 0; c < 3; ++c) {
    for (size_t i = 0; i < planes[c].values.size(); ++i) {
      // 255 (v / 255) may fall short of the whole number v by one unit in the last place; truncation would then take one off.
      image.pixels[3 * i + c] = static_cast<uint8_t>(clipped_byte(planes[c].values[i]) + 1e-9);
    }
  }
  return image;
}

Plane grey_of(const Planes& planes) {
  Plane grey(planes[0].height, planes[0].width);
  for (size_t i = 0; i < grey.values.size(); ++i) {
    grey.values[i] = 0.299 * planes[0].values[i] + 0.587 * planes[1].values[i] + 0.114 * planes[2].values[i];
  }
  return grey;
}

Plane truncated_bytes(const Plane& in) {
  Plane out = in;
  for (double& value : out.values) value = std::floor(clipped_byte(value)) / 255;
  return out;
}

int folded(int position, int extent, Border border) {
  if (border == Border::kNearest) return std::clamp(position, 0, extent - 1);
  if (extent == 1) return 0;
  const int edge = border == Border::kReflect ? 1 : 0;
  const int period = 2 * (extent - 1 + edge);
  const int wrapped = ((position % period) + period) % period;
  return wrapped < extent ? wrapped : period - wrapped - edge;
}

Plane gaussian(const Plane& in, double sigma, Border border, double truncate) {
  const int radius = static_cast<int>(truncate * sigma + 0.5);
  if (radius == 0) return in;
  std::vector<double> weights;
  double total = 0;
  for (int k = -radius; k <= radius; ++k) total += weights.emplace_back(std::exp(-0.5 * k * k / (sigma * sigma)));
  for (double& weight : weights) weight /= total;
  return correlated_along(correlated_along(in, weights, border, true), weights, border, false);
}

Plane correlated(const Plane& in, const Plane& kernel) {
  const int radius = kernel.height / 2;
  Plane out(in.height, in.width);
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      const double weight = kernel.at(dy + radius, dx + radius);
      if (weight == 0) continue;
      for (int y = 0; y < in.height; ++y) {
        for (int x = 0; x < in.width; ++x) {
          out.at(y, x) += weight * in.at(folded(y + dy, in.height, Border::kReflect101), folded(x + dx, in.width, Border::kReflect101));
        }
      }
    }
  }
  return out;
}

double bilinear(const Plane& in, double y, double x, Border border) {
  const int top = static_cast<int>(std::floor(y)), left = static_cast<int>(std::floor(x));
  const double down = y - top, right = x - left;
  const auto value = [&](int row, int column) { return in.at(folded(row, in.height, border), folded(column, in.width, border)); };
  return (1 - down) * ((1 - right) * value(top, left) + right * value(top, left + 1)) +
         down * ((1 - right) * value(top + 1, left) + right * value(top + 1, left + 1));
}

Plane clipped_zoom(const Plane& in, double zoom) {
  const int side = in.height;
  const int crop = static_cast<int>(std::ceil(side / zoom));
  const int first = (side - crop) / 2;
  const int enlarged = static_cast<int>(std::nearbyint(crop * zoom));
  const int trim = (enlarged - side) / 2;
  const double step = enlarged > 1 ? static_cast<double>(crop - 1) / (enlarged - 1) : 0;
  Plane out(side, side);
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      out.at(y, x) = bilinear(in, first + (y + trim) * step, first + (x + trim) * step, Border::kNearest);
    }
  }
  return out;
}

Plane motion_blurred(const Plane& in, double radius, double sigma, double angle) {
  const int taps = 2 * static_cast<int>(std::ceil(radius)) + 1;
  const double turned = angle * std::numbers::pi / 180;
  std::vector<double> weights;
  double total = 0;
  for (int i = 0; i < taps; ++i) total += weights.emplace_back(std::exp(-0.5 * i * i / (sigma * sigma)));
  Plane out(in.height, in.width);
  for (int i = 0; i < taps; ++i) {
    const int dx = static_cast<int>(std::ceil(i * std::cos(turned) - 0.5)), dy = static_cast<int>(std::ceil(i * std::sin(turned) - 0.5));
    for (int y = 0; y < in.height; ++y) {
      for (int x = 0; x < in.width; ++x) {
        out.at(y, x) += weights[static_cast<size_t>(i)] / total *
                        in.at(folded(y + dy, in.height, Border::kNearest), folded(x + dx, in.width, Border::kNearest));
      }
    }
  }
  for (double& value : out.values) value = std::floor(std::floor(65535 * value + 0.5) / 257) / 255;  // 16 bits, cut to 8
  return out;
}

Plane box_resized(const Plane& in, int height, int width) {
  const std::vector<Span> columns = box_spans(in.width, width), rows = box_spans(in.height, height);
  Plane narrow(in.height, width);
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < width; ++x) {
      const Span span = columns[static_cast<size_t>(x)];
      double sum = 0;
      for (int k = span.first; k < span.last; ++k) sum += in.at(y, k);
      narrow.at(y, x) = rounded_mean(sum, span.last - span.first);
    }
  }
  Plane out(height, width);
  for (int y = 0; y < height; ++y) {
    const Span span = rows[static_cast<size_t>(y)];
    for (int x = 0; x < width; ++x) {
      double sum = 0;
      for (int k = span.first; k < span.last; ++k) sum += narrow.at(k, x);
      out.at(y, x) = rounded_mean(sum, span.last - span.first);
    }
  }
  return out;
}

Planes rgb_to_hsv(const Planes& rgb) {
  Planes hsv = rgb;
  for (size_t i = 0; i < rgb[0].values.size(); ++i) {
    const double r = rgb[0].values[i], g = rgb[1].values[i], b = rgb[2].values[i];
    const double value = std::max({r, g, b}), spread = value - std::min({r, g, b});
    double hue = 0;
    if (spread > 0) {
      if (value == b) {
        hue = 4 + (r - g) / spread;
      } else if (value == g) {
        hue = 2 + (b - r) / spread;
      } else {
        hue = (g - b) / spread;
      }
      hue /= 6;
      hue -= std::floor(hue);
    }
    hsv[0].values[i] = hue;
    hsv[1].values[i] = spread > 0 ? spread / value : 0;
    hsv[2].values[i] = value;
  }
  return hsv;
}

Planes hsv_to_rgb(const Planes& hsv) {
  Planes rgb = hsv;
  for (size_t i = 0; i < hsv[0].values.size(); ++i) {
    const double sector = std::floor(hsv[0].values[i] * 6), fraction = hsv[0].values[i] * 6 - sector;
    const double s = hsv[1].values[i], v = hsv[2].values[i];
    const double p = v * (1 - s), q = v * (1 - fraction * s), t = v * (1 - (1 - fraction) * s);
    const std::array<std::array<double, 3>, 6> sectors = {{{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}}};
    for (size_t c = 0; c < 3; ++c) rgb[c].values[i] = sectors[static_cast<size_t>(sector) % 6][c];
  }
  return rgb;
}

}  // namespace debias

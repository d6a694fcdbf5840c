// The pixels of a view on its way through the steps, and the memory that the steps work in.
//
// One frame serves one image after another and keeps its memory: once it has seen the sizes, making a view allocates nothing. Pixels are in
// planes, each channel's rows one after the other without gaps; the kPlaneSlack bytes after each plane belong to it, so that vector code
// needs no special last step. An image is borrowed, not copied, until a step requests planes: a crop reads it in place. Colour
// operations wait until someone looks at the pixels, and are then carried out together. One frame for each thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "debias/image/image.h"
#include "debias/image/pixel_kernels.h"

namespace debias {

// Weights of Pillow's BILINEAR filter, kept for the sizes that small images have.

// A triangle as wide as the scale input / output, at least 1, so that shrinking averages; weights in double, normalised, then rounded to
// fixed point. Source: Pillow, src/libImaging/Resample.c (precompute_coeffs, normalize_coeffs_8bpc).
class TriangleTaps {
 public:
  // Valid until the next call.
  const Taps& of(int input, int output);

 private:
  static constexpr int kKept = 64;  // inputs up to this size have a place of their own
  struct Entry {
    int input = 0, output = 0;
    Taps taps;
  };
  std::array<Entry, kKept + 1> entries_;
  std::vector<double> weights_;
};

// Interleaved pixels of `region`, without gaps, out of an image of height x width.
struct ImagePart {
  const uint8_t* pixels = nullptr;
  int channels = 3;
  ImageRegion region;
  int height = 0, width = 0;
};

ImagePart whole(const Image& image);

class ViewFrame {
 public:
  // 1 or 3 channels. The pixels must stay in place while the frame is in use. A part needs only the pixels that a first crop
  // reads, and may be reduced: the frame has the size of the whole image all the same.
  void start(const ImagePart& image);

  int channels() const { return channels_; }
  int height() const { return front_.height; }
  int width() const { return front_.width; }

  // The image as it was given; null once something has changed it, or is about to.
  const ImagePart* borrowed() const { return borrowed_ && waiting_count_ == 0 ? &source_ : nullptr; }
  const uint8_t* pixels(int channel);  // a plane to read
  uint8_t* plane(int channel);         // the same, to change

  // For steps that cannot work in place: planes of height x width of undefined content, which replace_pixels() makes the frame's own.
  uint8_t* room(int channel, int height, int width);
  void replace_pixels();

  void add(const ColourOperation& operation);

  // Values finer than bytes, on the bytes' scale, plane after plane without gaps; null unless the last step gave them.
  const float* fine_values() const { return has_fine_values_ ? fine_values_.data() : nullptr; }
  float* give_fine_values();

  Image image();

  // Memory of single steps.
  struct {
    TriangleTaps taps;
    std::vector<uint8_t> stripe, between;
  } resize;
  struct {
    std::vector<double> tails;
    std::vector<uint32_t> weights;
    std::vector<int> mirror;
    std::vector<uint8_t> padded;
    std::vector<uint16_t> rows;
    std::vector<const uint16_t*> reflected;
  } blur;

 private:
  struct Planes {
    int height = 0, width = 0;
    std::vector<uint8_t> bytes;
    size_t size() const { return static_cast<size_t>(height) * width; }
    uint8_t* plane(int channel) { return bytes.data() + channel * (size() + kPlaneSlack); }
  };
  void lay_out(Planes& planes, int height, int width) const;
  void settle();
  void pass(std::span<const ColourOperation> operations);
  uint64_t brightness_sum();

  int channels_ = 3;
  ImagePart source_;
  bool borrowed_ = false;
  Planes front_, back_;
  std::array<ColourOperation, 8> waiting_;
  size_t waiting_count_ = 0;
  std::vector<float> fine_values_;
  bool has_fine_values_ = false;
};

// `act` on a frame of the image, for those who have one image and no haste.
template <class Act>
void through_frame(Image& image, const Act& act) {
  ViewFrame frame;
  frame.start(whole(image));
  act(frame);
  image = frame.image();
}

// At least n elements.
template <class T>
T* grown(std::vector<T>& memory, size_t n) {
  if (memory.size() < n) memory.resize(n);
  return memory.data();
}

}  // namespace debias

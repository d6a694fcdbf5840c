#include "debias/image/view_frame.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace debias {

ImagePart whole(const Image& image) {
  return {image.pixels.data(), image.channels, whole_region(image.height, image.width), image.height, image.width};
}

void ViewFrame::start(const ImagePart& image) {
  if (image.channels != 1 && image.channels != 3) throw std::logic_error("a view of neither 1 nor 3 channels");
  channels_ = image.channels;
  source_ = image;
  borrowed_ = true;
  front_.height = image.height;
  front_.width = image.width;
  waiting_count_ = 0;
  has_fine_values_ = false;
}

void ViewFrame::lay_out(Planes& planes, int height, int width) const {
  planes.height = height;
  planes.width = width;
  grown(planes.bytes, channels_ * (planes.size() + kPlaneSlack));
}

void ViewFrame::settle() {
  if (borrowed_) {
    borrowed_ = false;
    lay_out(front_, source_.height, source_.width);
    const Box& box = source_.region.box;
    if (box.height != source_.height || box.width != source_.width) throw std::logic_error("a part for a whole image");
    if (channels_ == 1) {
      std::memcpy(front_.plane(0), source_.pixels, front_.size());
    } else {
      split_channels(source_.pixels, front_.size(), front_.plane(0), front_.plane(1), front_.plane(2));
    }
  }
  for (size_t begin = 0; begin < waiting_count_;) {
    size_t end = begin;
    while (end < waiting_count_ && waiting_[end].kind != ColourOperation::Kind::kBlendWithMean) ++end;
    if (begin < end) pass({waiting_.data() + begin, end - begin});
    if (end < waiting_count_) {
      const double mean = static_cast<double>(brightness_sum()) / static_cast<double>(front_.size());
      waiting_[end].kind = ColourOperation::Kind::kBlend;
      waiting_[end].constant = static_cast<float>(static_cast<int>(mean + 0.5));
    }
    begin = end;
  }
  waiting_count_ = 0;
}

void ViewFrame::pass(std::span<const ColourOperation> operations) {
  if (channels_ == 1) return grey_pass(front_.plane(0), front_.size(), operations);
  colour_pass(front_.plane(0), front_.plane(1), front_.plane(2), front_.size(), operations);
}

uint64_t ViewFrame::brightness_sum() {
  if (channels_ == 1) return byte_sum(front_.plane(0), front_.size());
  return luma_sum(front_.plane(0), front_.plane(1), front_.plane(2), front_.size());
}

const uint8_t* ViewFrame::pixels(int channel) {
  settle();
  return front_.plane(channel);
}

uint8_t* ViewFrame::plane(int channel) {
  settle();
  has_fine_values_ = false;
  return front_.plane(channel);
}

uint8_t* ViewFrame::room(int channel, int height, int width) {
  if (channel == 0) lay_out(back_, height, width);
  return back_.plane(channel);
}

void ViewFrame::replace_pixels() {
  borrowed_ = has_fine_values_ = false;
  waiting_count_ = 0;
  std::swap(front_, back_);
}

void ViewFrame::add(const ColourOperation& operation) {
  if (waiting_count_ == waiting_.size()) settle();
  has_fine_values_ = false;
  waiting_[waiting_count_++] = operation;
}

float* ViewFrame::give_fine_values() {
  has_fine_values_ = true;
  return grown(fine_values_, channels_ * front_.size());
}

Image ViewFrame::image() {
  settle();
  Image result{height(), width(), channels_, std::vector<uint8_t>(channels_ * front_.size())};
  if (channels_ == 1) {
    std::memcpy(result.pixels.data(), front_.plane(0), front_.size());
  } else {
    join_channels(front_.plane(0), front_.plane(1), front_.plane(2), front_.size(), result.pixels.data());
  }
  return result;
}

namespace {

void compute(int input, int output, std::vector<double>& weights, Taps& taps) {
  const double scale = static_cast<double>(input) / output;
  const double filter_scale = std::max(scale, 1.0);
  const double support = filter_scale;
  taps.stride = static_cast<int>(std::ceil(support)) * 2 + 1;
  taps.first.resize(output);
  taps.count.resize(output);
  taps.weights.resize(static_cast<size_t>(output) * taps.stride);
  weights.resize(taps.stride);
  const double inverse = 1.0 / filter_scale;
  for (int i = 0; i < output; ++i) {
    const double centre = (i + 0.5) * scale;
    const int begin = std::max(0, static_cast<int>(centre - support + 0.5));
    const int count = std::min(input, static_cast<int>(centre + support + 0.5)) - begin;
    double total = 0;
    for (int k = 0; k < count; ++k) {
      weights[k] = std::max(0.0, 1.0 - std::abs((k + begin - centre + 0.5) * inverse));
      total += weights[k];
    }
    for (int k = 0; k < count; ++k) {
      const double weight = total != 0 ? weights[k] / total : weights[k];
      taps.weights[static_cast<size_t>(i) * taps.stride + k] = static_cast<int32_t>(0.5 + weight * (1 << kTapPrecisionBits));
    }
    taps.first[i] = begin;
    taps.count[i] = count;
  }
}

}  // namespace

const Taps& TriangleTaps::of(int input, int output) {
  Entry& entry = entries_[input <= kKept ? input - 1 : kKept];
  if (entry.input != input || entry.output != output) {
    compute(input, output, weights_, entry.taps);
    entry.input = input;
    entry.output = output;
  }
  return entry.taps;
}

}  // namespace debias

#include "debias/augment/view_target.h"

#include <algorithm>
#include <bit>

#include "debias/core/error.h"

namespace debias {
namespace {

uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void convert(float value, float& to) { to = value; }
void convert(float value, uint16_t& to) { to = bfloat16_bits(value); }

}  // namespace

ValueTable::ValueTable(const Normalisation& normalisation) {
  const auto& [mean, std] = normalisation;
  for (size_t c = 0; c < std::max(mean.size(), std.size()); ++c) {
    const auto m = static_cast<float>(mean[mean.size() == 1 ? 0 : c]), s = static_cast<float>(std[std.size() == 1 ? 0 : c]);
    mean_.push_back(m);
    std_.push_back(s);
    for (int byte = 0; byte < 256; ++byte) floats_.push_back((static_cast<float>(byte) / 255.0f - m) / s);
  }
  for (const float value : floats_) bfloats_.push_back(bfloat16_bits(value));
}

template <class T>
void ValueTable::write_as(ViewFrame& frame, const ViewTarget& target, const std::vector<T>& table) const {
  const size_t count = static_cast<size_t>(target.height) * target.width;
  const bool planar = target.order == ViewTarget::Order::kChannelsFirst;
  const size_t step = planar ? 1 : target.channels;
  for (int c = 0; c < target.channels; ++c) {
    const size_t constants = mean_.size() == 1 ? 0 : c;
    T* out = static_cast<T*>(target.values) + (planar ? c * count : c);
    if (const float* fine = frame.fine_values()) {
      fine += c * count;
      for (size_t i = 0; i < count; ++i, out += step) convert((fine[i] / 255.0f - mean_[constants]) / std_[constants], *out);
      continue;
    }
    const uint8_t* pixel = frame.pixels(c);
    const T* values = table.data() + 256 * constants;
    if (planar) {
      for (size_t i = 0; i < count; ++i) out[i] = values[pixel[i]];
    } else {
      for (size_t i = 0; i < count; ++i, out += step) *out = values[pixel[i]];
    }
  }
}

void ValueTable::write(ViewFrame& frame, const ViewTarget& target) const {
  if (mean_.size() > 1 && mean_.size() != static_cast<size_t>(target.channels)) {
    throw usage_error("views: normalize has {} values, the images have {} channel(s)", mean_.size(), target.channels);
  }
  target.type == ViewTarget::Type::kFloat32 ? write_as(frame, target, floats_) : write_as(frame, target, bfloats_);
}

}  // namespace debias

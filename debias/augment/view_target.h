// Destination of a view, and the conversion of its 8-bit pixels to values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "debias/image/view_frame.h"

namespace debias {

// Mean and standard deviation per channel, of values in [0, 1]; one value serves all channels.
struct Normalisation {
  std::vector<double> mean, std;
};

// channels * height * width values of one image of a batch, without gaps.
struct ViewTarget {
  enum class Type { kFloat32, kBfloat16 };             // bfloat16: float32 rounded to nearest, ties to even
  enum class Order { kChannelsFirst, kChannelsLast };  // (C, H, W), (H, W, C)
  int channels = 3, height = 0, width = 0;
  void* values = nullptr;
  Type type = Type::kFloat32;
  Order order = Order::kChannelsFirst;
};

// (pixel / 255 - mean) / std in float, from a table of the 256 bytes.
class ValueTable {
 public:
  ValueTable() = default;
  explicit ValueTable(const Normalisation& normalisation);

  // The frame's size and channels must be the target's. A usage error when there are constants for another number of channels.
  void write(ViewFrame& frame, const ViewTarget& target) const;

 private:
  template <class T>
  void write_as(ViewFrame& frame, const ViewTarget& target, const std::vector<T>& table) const;

  std::vector<float> mean_, std_;  // one or one per channel
  std::vector<float> floats_;      // 256 for each of them
  std::vector<uint16_t> bfloats_;  // the same values
};

}  // namespace debias

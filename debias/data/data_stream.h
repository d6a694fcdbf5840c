// Which draws of RngDomain::kData belong to what: the `step` of their keys, so that no two uses share a stream.
#pragma once

#include <cstdint>

namespace debias {

enum class DataStream : uint16_t { kHoldOut = 1, kGlyph = 2, kBias = 3, kCorruption = 4, kFrost = 5, kStandIn = 6, kPlant = 7, kScene = 8 };

}  // namespace debias

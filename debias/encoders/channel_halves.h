// Two networks of one shape, one for the first channels of an image and one for the others, as one encoder and one head: what contrastive
// multiview coding trains and evaluates (both representations, one after the other).
#pragma once

#include <memory>

#include "debias/encoders/encoder.h"

namespace debias {

// Features are those of `first` (of the first `channels` channels), then those of `second`. Names are "first." and "second.".
std::shared_ptr<Encoder> channel_halves(std::shared_ptr<Encoder> first, std::shared_ptr<Encoder> second, int64_t channels);

// Each head on the features of its encoder, of which the first has `features`.
std::shared_ptr<Head> head_halves(std::shared_ptr<Head> first, std::shared_ptr<Head> second, int64_t features);

}  // namespace debias

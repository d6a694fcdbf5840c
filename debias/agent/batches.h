// Random draws of an agent: batches of the replay, crops, the noise of its actions. Each draw is a function of (seed, step, sample).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/agent/agent.h"
#include "debias/agent/replay.h"

namespace debias {

struct BatchShape {
  int64_t batch_size = 128;
  int64_t channels = 9, pixels = 100, crop = 84;
  int64_t positives = 1;
  int64_t actions = 1;
  uint64_t seed = 1;
};

// Transitions drawn uniformly, with repetition. The observation, the next one and each positive are cropped separately, at
// offsets of 0 to pixels - crop - 1 (the last offset is left out, as in the authors' code), the same for all channels of a sample.
AgentBatch draw_batch(const Replay& replay, const BatchShape& shape, int64_t step);

// [1, channels, crop, crop] of images [channels, pixels, pixels].
at::Tensor centre_crop(const std::vector<uint8_t>& pictures, const BatchShape& shape);

at::Tensor random_action(const BatchShape& shape, int64_t step);  // [1, actions], uniform in [-1, 1)
at::Tensor action_noise(const BatchShape& shape, int64_t step);   // [1, actions], standard normal

}  // namespace debias

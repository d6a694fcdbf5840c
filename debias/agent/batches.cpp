#include "debias/agent/batches.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>

#include "debias/core/philox.h"

namespace debias {
namespace {

enum Stream : uint16_t { kBatches = 0, kActions = 1 };  // 2: first weights (networks.cpp)

Random stream(const BatchShape& shape, Stream of, int64_t step, int64_t sample = 0) {
  return Random({.domain = RngDomain::kAgent,
                 .seed = shape.seed,
                 .epoch = static_cast<uint64_t>(step),
                 .sample = static_cast<uint64_t>(sample),
                 .view = of});
}

struct Offset {
  int64_t top, left;
};

Offset draw_offset(const BatchShape& shape, Random& draws) {
  const int64_t places = std::max<int64_t>(1, shape.pixels - shape.crop);
  const int64_t top = draws.below(places);
  return {top, draws.below(places)};
}

// Crops `channels` consecutive planes.
void crop_planes(const uint8_t* planes, int64_t channels, const BatchShape& shape, Offset at, uint8_t* out) {
  for (int64_t c = 0; c < channels; ++c) {
    const uint8_t* from = planes + (c * shape.pixels + at.top) * shape.pixels + at.left;
    for (int64_t y = 0; y < shape.crop; ++y) {
      std::memcpy(out, from, static_cast<size_t>(shape.crop));
      from += shape.pixels;
      out += shape.crop;
    }
  }
}

void crop_stack(const std::vector<const uint8_t*>& pictures, const BatchShape& shape, Offset at, uint8_t* out) {
  for (const uint8_t* picture : pictures) {
    crop_planes(picture, 3, shape, at, out);
    out += 3 * shape.crop * shape.crop;
  }
}

}  // namespace

AgentBatch draw_batch(const Replay& replay, const BatchShape& shape, int64_t step) {
  const int64_t rows = shape.batch_size, each = shape.channels * shape.crop * shape.crop;
  const auto pictures = [&](at::IntArrayRef first) {
    std::vector<int64_t> sizes = first.vec();
    sizes.insert(sizes.end(), {rows, shape.channels, shape.crop, shape.crop});
    return at::empty(sizes, at::kByte);
  };
  AgentBatch batch{.seen = pictures({}),
                   .next = pictures({}),
                   .positives = pictures({shape.positives}),
                   .actions = at::empty({rows, shape.actions}, at::kFloat),
                   .rewards = at::empty({rows}, at::kFloat),
                   .noise_next = at::empty({rows, shape.actions}, at::kFloat),
                   .noise = at::empty({rows, shape.actions}, at::kFloat)};
  at::parallel_for(0, rows, 1, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      Random draws = stream(shape, kBatches, step, row);
      const Transition transition = replay.at(draws.below(replay.size()));
      crop_stack(transition.seen, shape, draw_offset(shape, draws), batch.seen.data_ptr<uint8_t>() + row * each);
      crop_stack(transition.next, shape, draw_offset(shape, draws), batch.next.data_ptr<uint8_t>() + row * each);
      batch.rewards.data_ptr<float>()[row] = transition.reward;
      for (int64_t i = 0; i < shape.actions; ++i) {
        batch.actions.data_ptr<float>()[row * shape.actions + i] = transition.action[i];
        batch.noise_next.data_ptr<float>()[row * shape.actions + i] = static_cast<float>(draws.normal());
        batch.noise.data_ptr<float>()[row * shape.actions + i] = static_cast<float>(draws.normal());
      }
      for (int64_t p = 0; p < shape.positives; ++p) {
        crop_stack(transition.seen, shape, draw_offset(shape, draws), batch.positives.data_ptr<uint8_t>() + (p * rows + row) * each);
      }
    }
  });
  return batch;
}

at::Tensor centre_crop(const std::vector<uint8_t>& pictures, const BatchShape& shape) {
  const at::Tensor crop = at::empty({1, shape.channels, shape.crop, shape.crop}, at::kByte);
  const int64_t offset = (shape.pixels - shape.crop) / 2;
  crop_planes(pictures.data(), shape.channels, shape, {offset, offset}, crop.data_ptr<uint8_t>());
  return crop;
}

at::Tensor random_action(const BatchShape& shape, int64_t step) {
  Random draws = stream(shape, kActions, step);
  const at::Tensor action = at::empty({1, shape.actions}, at::kFloat);
  for (int64_t i = 0; i < shape.actions; ++i) action.data_ptr<float>()[i] = static_cast<float>(draws.uniform(-1, 1));
  return action;
}

at::Tensor action_noise(const BatchShape& shape, int64_t step) {
  Random draws = stream(shape, kActions, step);
  const at::Tensor noise = at::empty({1, shape.actions}, at::kFloat);
  for (int64_t i = 0; i < shape.actions; ++i) noise.data_ptr<float>()[i] = static_cast<float>(draws.normal());
  return noise;
}

}  // namespace debias

// Replay buffer of an agent: single images in a file mapped into memory, stacked again by their numbers when they are drawn.
//
// A transition is (images seen, action, reward, images seen next). Images are numbered as they come, and image k is in slot k
// modulo the file's slots. Beside the window that batches are drawn from, the file has room for `spare` images: so many may be added after
// a checkpoint before one that it needs is written over. The rest, numbers and checksums, is in the checkpoint.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "debias/agent/agent.h"
#include "debias/core/safetensors.h"

namespace debias {

struct ReplayShape {
  int64_t picture_bytes = 0;
  int64_t stack = 3;
  int64_t actions = 1;
  int64_t capacity = 0;  // transitions
  int64_t window = 0;    // images that they may be made of, at least
  int64_t spare = 0;
  int64_t slots() const { return window + spare; }
};

// Pointers into the replay, good until the next image is added.
struct Transition {
  std::vector<const uint8_t*> seen, next;  // `stack` each, oldest first
  const float* action;
  float reward;
};

// The resource error of Replay's constructor where the disk, or the limit of a file's size, has no room for the file at `path`. Makes nothing.
void require_room(const std::string& path, const ReplayShape& shape);

class Replay {
 public:
  // Makes the file at `path` or takes the one that is there, for load(). A resource error where the disk has no room for it.
  Replay(const std::string& path, const ReplayShape& shape);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void begin_episode(std::span<const uint8_t> picture);
  void add(std::span<const float> action, double reward, std::span<const uint8_t> picture);  // the image that followed

  int64_t size() const { return count_ - begin_; }  // transitions that can be drawn
  Transition at(int64_t index) const;               // 0 the oldest
  const uint8_t* newest_picture() const { return picture(pictures_ - 1); }

  int64_t unsaved() const { return pictures_ - saved_; }  // images added since the last state()
  // Brings the images to disk. Names begin with "replay.".
  std::vector<std::pair<std::string, at::Tensor>> state();
  // Data errors: a tensor is missing or misshapen, the file has other images than those that were saved.
  void load(const SafetensorsFile& file);

 private:
  const uint8_t* picture(int64_t number) const { return pictures_of_ + number % shape_.slots() * shape_.picture_bytes; }
  void add_picture(std::span<const uint8_t> picture);
  void drop_old();
  int64_t oldest_needed(int64_t transition) const;
  int64_t slot(int64_t transition) const { return transition % shape_.capacity; }

  std::string path_;
  ReplayShape shape_;
  uint8_t* pictures_of_ = nullptr;
  int64_t pictures_ = 0, saved_ = 0;  // added in all
  int64_t begin_ = 0, count_ = 0;     // transitions: the first that can be drawn, all that were added
  int64_t episode_begin_ = 0;         // number of the episode's first image
  at::Tensor newest_, first_;         // int64 [capacity]: numbers of the newest image seen, of the episode's first
  at::Tensor rewards_, actions_;      // float [capacity], [capacity, actions]
  at::Tensor sums_;                   // int64 [slots], of the images
};

// Random draws of an agent: batches of the replay, crops, the noise of its actions. Each draw is a function of (seed, step, sample).
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

#include "debias/agent/replay.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/philox.h"
#include "debias/encoders/state.h"
#include "debias/train/named_tensor.h"

namespace debias {
namespace {

// FNV-1a over words of eight bytes.
int64_t checksum(const uint8_t* bytes, int64_t count) {
  uint64_t sum = 0xcbf29ce484222325;
  for (int64_t i = 0; i < count; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + i, static_cast<size_t>(std::min<int64_t>(8, count - i)));
    sum = (sum ^ word) * 0x100000001b3;
  }
  return static_cast<int64_t>(sum);
}

Error no_room(const std::string& path, int64_t bytes, const std::string& has) {
  return resource_error("replay '{}': its frames take {} MB, {}; lower replay.capacity or replay.megabytes", path, bytes / 1000000, has);
}

int64_t bytes_of(const ReplayShape& shape) { return shape.slots() * shape.picture_bytes; }

// `present`: what of the file is there already.
void require_room(const std::string& path, int64_t bytes, int64_t present) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && static_cast<uint64_t>(bytes) > limit.rlim_cur) {
    throw no_room(path, bytes, fmt::format("and a file may have {} MB (ulimit -f)", limit.rlim_cur / 1000000));
  }
  const auto free = free_bytes(path);
  if (free && static_cast<uint64_t>(std::max<int64_t>(0, bytes - present)) > *free) {
    throw no_room(path, bytes, fmt::format("and the disk has {} MB free", *free / 1000000));
  }
}

// Taken whole at once: a disk that fills up later would end the process where it writes into memory.
uint8_t* mapped(const std::string& path, int64_t bytes) {
  struct stat present {};
  const bool is_there = stat(path.c_str(), &present) == 0;
  require_room(path, bytes, is_there ? present.st_size : 0);
  const Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (file.value() < 0) throw resource_error("replay '{}': {}; choose another output", path, std::strerror(errno));
  const bool fits = posix_fallocate(file.value(), 0, static_cast<off_t>(bytes)) == 0;
  void* memory = fits ? mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file.value(), 0) : MAP_FAILED;
  if (memory != MAP_FAILED) return static_cast<uint8_t*>(memory);
  if (!is_there || present.st_size == 0) unlink(path.c_str());
  throw no_room(
      path, bytes,
      fits ? "more than this process may map" : fmt::format("and the disk has {} MB free", free_bytes(path).value_or(0) / 1000000));
}

}  // namespace

void require_room(const std::string& path, const ReplayShape& shape) {
  struct stat present {};
  require_room(path, bytes_of(shape), stat(path.c_str(), &present) == 0 ? present.st_size : 0);
}

Replay::Replay(const std::string& path, const ReplayShape& shape)
    : path_(path),
      shape_(shape),
      pictures_of_(mapped(path, bytes_of(shape))),
      newest_(at::zeros({shape.capacity}, at::kLong)),
      first_(at::zeros({shape.capacity}, at::kLong)),
      rewards_(at::zeros({shape.capacity}, at::kFloat)),
      actions_(at::zeros({shape.capacity, shape.actions}, at::kFloat)),
      sums_(at::zeros({shape.slots()}, at::kLong)) {}

Replay::~Replay() { munmap(pictures_of_, static_cast<size_t>(bytes_of(shape_))); }

void Replay::add_picture(std::span<const uint8_t> picture) {
  const int64_t at = pictures_ % shape_.slots();
  std::memcpy(pictures_of_ + at * shape_.picture_bytes, picture.data(), picture.size());
  sums_.data_ptr<int64_t>()[at] = checksum(picture.data(), shape_.picture_bytes);
  ++pictures_;
}

void Replay::begin_episode(std::span<const uint8_t> picture) {
  episode_begin_ = pictures_;
  add_picture(picture);
  drop_old();
}

void Replay::add(std::span<const float> action, double reward, std::span<const uint8_t> picture) {
  const int64_t at = slot(count_);
  newest_.data_ptr<int64_t>()[at] = pictures_ - 1;
  first_.data_ptr<int64_t>()[at] = episode_begin_;
  rewards_.data_ptr<float>()[at] = static_cast<float>(reward);
  std::copy(action.begin(), action.end(), actions_.data_ptr<float>() + at * shape_.actions);
  ++count_;
  add_picture(picture);
  drop_old();
}

int64_t Replay::oldest_needed(int64_t transition) const {
  const int64_t at = slot(transition);
  return std::max(first_.data_ptr<int64_t>()[at], newest_.data_ptr<int64_t>()[at] - shape_.stack + 1);
}

void Replay::drop_old() {
  begin_ = std::max(begin_, count_ - shape_.capacity);
  while (begin_ < count_ && oldest_needed(begin_) < pictures_ - shape_.window) ++begin_;
}

Transition Replay::at(int64_t index) const {
  const int64_t at = slot(begin_ + index), newest = newest_.data_ptr<int64_t>()[at], first = first_.data_ptr<int64_t>()[at];
  Transition transition{
      .seen = {}, .next = {}, .action = actions_.data_ptr<float>() + at * shape_.actions, .reward = rewards_.data_ptr<float>()[at]};
  for (int64_t back = shape_.stack - 1; back >= 0; --back) {
    transition.seen.push_back(picture(std::max(first, newest - back)));
    transition.next.push_back(picture(std::max(first, newest + 1 - back)));
  }
  return transition;
}

std::vector<std::pair<std::string, at::Tensor>> Replay::state() {
  if (msync(pictures_of_, static_cast<size_t>(bytes_of(shape_)), MS_SYNC) != 0) {
    throw resource_error("replay '{}': {}; check the disk, then --resume", path_, std::strerror(errno));
  }
  saved_ = pictures_;
  const at::Tensor counts = at::tensor({pictures_, begin_, count_, episode_begin_}, at::kLong);
  return {{"replay.counts", counts},    {"replay.newest", newest_},   {"replay.first", first_},
          {"replay.rewards", rewards_}, {"replay.actions", actions_}, {"replay.sums", sums_}};
}

void Replay::load(const SafetensorsFile& file) {
  const at::Tensor counts = named_tensor(file, "replay.counts", at::zeros({4}, at::kLong));
  newest_ = named_tensor(file, "replay.newest", newest_);
  first_ = named_tensor(file, "replay.first", first_);
  rewards_ = named_tensor(file, "replay.rewards", rewards_);
  actions_ = named_tensor(file, "replay.actions", actions_);
  sums_ = named_tensor(file, "replay.sums", sums_);
  const int64_t* numbers = counts.data_ptr<int64_t>();
  pictures_ = saved_ = numbers[0];
  begin_ = numbers[1];
  count_ = numbers[2];
  episode_begin_ = numbers[3];
  if (begin_ < 0 || begin_ > count_ || count_ - begin_ > shape_.capacity || episode_begin_ < 0 ||
      episode_begin_ >= std::max<int64_t>(pictures_, 1)) {
    throw data_error("resuming: '{}' has a replay that no run can have; it was altered: start again with --overwrite", file.path());
  }
  for (int64_t number = std::max<int64_t>(0, pictures_ - shape_.window); number < pictures_; ++number) {
    if (checksum(picture(number), shape_.picture_bytes) == sums_.data_ptr<int64_t>()[number % shape_.slots()]) continue;
    throw data_error(
        "resuming: frame {} of '{}' is not the one that the checkpoint knows; put the file back, or start again with --overwrite", number,
        path_);
  }
}

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

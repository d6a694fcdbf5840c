#include "debias/agent/episode_video.h"

#include <fmt/format.h>

#include <algorithm>

#include "debias/agent/agent_parts.h"
#include "debias/control/task.h"
#include "debias/core/atomic_file.h"
#include "debias/data/builders/atomic_folder.h"
#include "debias/image/image_encode.h"

namespace debias {
namespace {

constexpr int kVideoPixels = 160;

}  // namespace

Image EpisodeVideo::drawn(MujocoModel& model) {
  if (!renderer_) renderer_.emplace(model, kVideoPixels, look_);
  std::vector<uint8_t> planes(static_cast<size_t>(3 * kVideoPixels * kVideoPixels));
  renderer_->draw(planes.data());
  Image frame{.height = kVideoPixels, .width = kVideoPixels, .channels = 3, .pixels = std::vector<uint8_t>(planes.size())};
  constexpr int64_t kPlane = kVideoPixels * kVideoPixels;
  for (int64_t i = 0; i < kPlane; ++i) {
    for (int64_t c = 0; c < 3; ++c) frame.pixels[static_cast<size_t>(3 * i + c)] = planes[static_cast<size_t>(c * kPlane + i)];
  }
  return frame;
}

void EpisodeVideo::take(PixelEnvironment& played, const EvaluatedState& state) {
  steps_ = played.steps_per_episode();
  const bool still = is_still(states_++, steps_);
  if (!still && !all_) return;
  Image frame = drawn(played.model());
  if (still) {
    stills_.push_back({state.control_step, state.reward});
    still_files_.push_back(encode_png(frame));
  }
  if (!all_) return;
  frames_.push_back(std::move(frame));
  seconds_ = played.model().data().time / std::max<double>(1, static_cast<double>(frames_.size() - 1));
}

void EpisodeVideo::write(const VideoWriter& writer) const { writer(frames_, static_cast<int64_t>(100 * seconds_ + 0.5)); }

void EpisodeVideo::keep(const std::string& run_folder, VideoRecord video) const {
  AtomicFolder folder(fmt::format("{}/{}", run_folder, kVideoFolder), AtomicFolder::Present::kReplace);
  for (size_t i = 0; i < still_files_.size(); ++i) {
    const auto& bytes = still_files_[i];
    write_file_atomically(folder.building() + "/" + still_name(i), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  video.stills = stills_;
  video.diverged = states_ <= steps_;  // a whole one has a first state beside those that its steps lead to
  write_file_atomically(fmt::format("{}/{}", folder.building(), kVideoFile), to_json(video).dump(2) + "\n");
  folder.commit();
}

}  // namespace debias

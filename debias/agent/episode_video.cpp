#include "debias/agent/episode_video.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

#include "debias/agent/agent_parts.h"
#include "debias/control/task.h"
#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/printable.h"
#include "debias/data/builders/atomic_folder.h"
#include "debias/image/image_encode.h"
#include "debias/process/child_process.h"

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

namespace {

struct VideoEncoder {
  const char* name;
  const char* option;  // that sets the quality
  const char* quality;
};

constexpr std::array<VideoEncoder, 2> kVideoEncoders = {{{"libx264", "-crf", "18"}, {"mpeg4", "-q:v", "3"}}};  // the better one first

// yuv420p, which all players show, has one colour for two by two pixels and takes even sizes only: each pixel becomes such a square.
constexpr const char* kTwiceAsLarge = "scale=2*iw:2*ih:flags=neighbor";

std::string last_line(const std::string& text) {
  const size_t last = text.find_last_not_of(" \r\n");
  if (last == std::string::npos) return "";
  const size_t before = text.find_last_of('\n', last), first = before == std::string::npos ? 0 : before + 1;
  return without_control_characters(text.substr(first, last + 1 - first));
}

// Why a program has not done what it was started for; empty where it has.
std::string fault_of(const ProgramEnd& end) {
  if (end.not_started == ENOENT) return "it is not on PATH";
  if (end.not_started != 0) return std::strerror(end.not_started);
  if (end.exit == 0 && end.took_input) return "";
  const std::string line = last_line(end.said);
  if (!line.empty()) return line;
  return end.exit != 0 ? fmt::format("it ended with exit code {}", end.exit) : "it did not take all frames";
}

VideoEncoder mp4_encoder(const std::string& path) {
  const ProgramEnd listed = run_program({"ffmpeg", "-hide_banner", "-encoders"});
  if (const std::string fault = fault_of(listed); !fault.empty()) {
    throw usage_error("rl play: --video '{}' is made by the program ffmpeg, which does not run here: {}; install ffmpeg, or name a .gif",
                      path, fault);
  }
  for (const VideoEncoder& encoder : kVideoEncoders) {
    if (listed.said.find(fmt::format(" {} ", encoder.name)) != std::string::npos) return encoder;
  }
  throw usage_error("rl play: --video '{}': ffmpeg has neither of the encoders libx264 and mpeg4; install one that has, or name a .gif",
                    path);
}

// Episodes are played before the video is written: a folder that is not there is to be found ahead of them.
void require_writable(const std::string& path) { const AtomicFile trial(path); }

void write_gif(const std::string& path, const std::vector<Image>& frames, int64_t hundredths) {
  const auto bytes = encode_gif(frames, hundredths);
  AtomicFile file(path, bytes.size());
  file.write(bytes.data(), bytes.size());
  file.commit();
}

void write_mp4(const std::string& path, const VideoEncoder& encoder, const std::vector<Image>& frames, int64_t hundredths) {
  AtomicFile file(path);
  const std::string size = fmt::format("{}x{}", frames.front().width, frames.front().height);
  const std::string rate = fmt::format("100/{}", std::max<int64_t>(1, hundredths));
  std::vector<std::span<const uint8_t>> input;
  for (const Image& frame : frames) input.emplace_back(frame.pixels);
  std::vector<std::string> words = {"ffmpeg", "-hide_banner", "-loglevel", "error", "-y"};
  words.insert(words.end(), {"-f", "rawvideo", "-pixel_format", "rgb24", "-video_size", size, "-framerate", rate, "-i", "pipe:0"});
  words.insert(words.end(), {"-vf", kTwiceAsLarge, "-c:v", encoder.name, encoder.option, encoder.quality, "-pix_fmt", "yuv420p"});
  words.insert(words.end(), {"-f", "mp4", "file:" + file.building()});
  const ProgramEnd end = run_program(std::move(words), input);
  if (const std::string fault = fault_of(end); !fault.empty()) {
    throw resource_error("writing '{}': ffmpeg failed: {}; fix that, or name a .gif", path, fault);
  }
  file.commit();
}

}  // namespace

VideoWriter video_writer(const std::string& path) {
  if (path.ends_with(".gif")) {
    require_writable(path);
    return [path](const std::vector<Image>& frames, int64_t hundredths) { write_gif(path, frames, hundredths); };
  }
  if (path.ends_with(".mp4")) {
    require_writable(path);
    return [path, encoder = mp4_encoder(path)](const std::vector<Image>& frames, int64_t hundredths) {
      write_mp4(path, encoder, frames, hundredths);
    };
  }
  throw usage_error("rl play: --video '{}': unsupported extension '{}'; use .gif or .mp4", path,
                    std::filesystem::path(path).extension().string());
}

}  // namespace debias

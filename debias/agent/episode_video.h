// An episode as a video, and its still frames for a report.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "debias/control/pixel_environment.h"
#include "debias/image/image.h"
#include "debias/results/run_files.h"

namespace debias {

// Videos as files, in the format of their extension: .gif, or .mp4 by the program ffmpeg.

// Writes one or more RGB frames of one size, each shown for so many hundredths of a second. The file is whole or absent; a resource error
// says why.
using VideoWriter = std::function<void(const std::vector<Image>& frames, int64_t hundredths)>;

// The writer of the video `path`. A usage error for another extension, and for .mp4 unless an ffmpeg on PATH can encode it; a resource error
// where no file can be written there.
VideoWriter video_writer(const std::string& path);

class PixelEnvironment;
struct EvaluatedState;

enum class VideoFrames { kStills, kAll };  // those that keep() writes, or those of all states, which write() needs

class EpisodeVideo {
 public:
  EpisodeVideo(Look look, VideoFrames frames) : look_(look), all_(frames == VideoFrames::kAll) {}

  // Adds the next state of one episode, larger than an agent sees it. Call it in the thread that draws, as end_of_drawing().
  void take(PixelEnvironment& played, const EvaluatedState& state);
  void end_of_drawing() { renderer_.reset(); }

  void write(const VideoWriter& writer) const;  // in real time
  // Writes RUN/evaluation/film, which is replaced; `video` gets the stills, and whether the episode ended early.
  void keep(const std::string& run_folder, VideoRecord video) const;

 private:
  Image drawn(MujocoModel& model);

  Look look_;
  bool all_;
  std::optional<FrameRenderer> renderer_;
  int64_t steps_ = 0;   // of a whole episode
  int64_t states_ = 0;  // taken
  double seconds_ = 0;  // between two frames
  std::vector<Image> frames_;
  std::vector<VideoStill> stills_;
  std::vector<std::vector<uint8_t>> still_files_;  // as PNG
};

}  // namespace debias

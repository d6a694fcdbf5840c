// An episode as a video, and its still frames for a report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/agent/video_writer.h"
#include "debias/control/pixel_environment.h"
#include "debias/image/image.h"
#include "debias/results/run_files.h"

namespace debias {

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

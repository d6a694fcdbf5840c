// Still frames of an episode that an agent played: RUN/evaluation/film, which `debias rl play` writes and a report shows.
//
//   film.json      policy, episode and the time of each frame
//   01.png ...     the frames, in order
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/results/json_file.h"

namespace debias {

struct VideoStill {
  int64_t control_step = 0;
  double reward = 0;  // of the episode so far
};

struct VideoRecord {
  std::string checkpoint;     // "last.safetensors"
  int64_t control_steps = 0;  // that its policy had been trained for
  int64_t seed = 0, episode = 0;
  double episode_return = 0;
  bool diverged = false;  // the simulation ended the episode early
  std::vector<VideoStill> stills;
};

constexpr const char* kVideoFolder = "evaluation/film";
constexpr const char* kVideoFile = "film.json";
constexpr int64_t kMostStills = 12;

// True if the state after `step` of an episode's `steps` is kept: kMostStills of them, evenly apart, with the first and the last; all
// if the episode has no more.
bool is_still(int64_t step, int64_t steps);

std::string still_name(size_t place);  // "01.png" of place 0

Json to_json(const VideoRecord& video);
// None if the run has no video. Data errors name the file.
std::optional<VideoRecord> read_video(const std::string& run_folder);

}  // namespace debias

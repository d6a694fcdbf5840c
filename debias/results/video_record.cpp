#include "debias/results/video_record.h"

#include <filesystem>

namespace debias {
namespace {

constexpr int64_t kLargestVideoFile = 1 << 20;  // bytes

VideoRecord video_of(const std::string& path, const Json& json) {
  VideoRecord video = {.checkpoint = json.at("checkpoint").get<std::string>(),
                       .control_steps = count_number(json.at("control_steps")),
                       .seed = whole_number(json.at("seed")),
                       .episode = count_number(json.at("episode")),
                       .episode_return = json.at("return").get<double>(),
                       .diverged = json.at("diverged").get<bool>(),
                       .stills = {}};
  for (const auto& still : json.at("stills").get_ref<const Json::array_t&>()) {
    video.stills.push_back({count_number(still.at("control_step")), still.at("reward").get<double>()});
  }
  if (video.stills.size() <= static_cast<size_t>(kMostStills)) return video;
  throw data_error("reading '{}': {} frames, more than the {} that are kept; write it again, or remove it", path, video.stills.size(),
                   kMostStills);
}

}  // namespace

bool is_still(int64_t step, int64_t steps) {
  constexpr int64_t kGaps = kMostStills - 1;
  if (steps <= kGaps) return true;
  const int64_t place = (step * kGaps + steps - 1) / steps;  // the first one whose step is not before this one
  return place * steps / kGaps == step;
}

std::string still_name(size_t place) { return fmt::format("{:02}.png", place + 1); }

Json to_json(const VideoRecord& video) {
  Json stills = Json::array();
  for (const auto& still : video.stills) stills.push_back({{"control_step", still.control_step}, {"reward", number_or_null(still.reward)}});
  return {{"checkpoint", video.checkpoint}, {"control_steps", video.control_steps},           {"seed", video.seed},
          {"episode", video.episode},       {"return", number_or_null(video.episode_return)}, {"diverged", video.diverged},
          {"stills", std::move(stills)}};
}

std::optional<VideoRecord> read_video(const std::string& run_folder) {
  const std::string path = fmt::format("{}/{}/{}", run_folder, kVideoFolder, kVideoFile);
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return std::nullopt;
  const Json json = read_json_object(path, kLargestVideoFile);
  return read_fields(path, [&] { return video_of(path, json); });
}

}  // namespace debias

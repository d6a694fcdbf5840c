#include "debias/results/run_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace debias {
namespace {

constexpr int64_t kLargestSets = int64_t{64} << 20;  // bytes

bool have_options_alike(const Json& a, const Json& b) {
  for (const auto& [key, value] : a.items()) {
    const auto other = b.find(key);
    if (other != b.end() && *other != value) return false;
  }
  return true;
}

bool has_text(const Json& set, const char* key) {
  const auto found = set.find(key);
  return found != set.end() && found->is_string() && !found->get_ref<const std::string&>().empty();
}

}  // namespace

Json read_data_sets(const std::string& run_folder) {
  const std::string path = run_folder + "/" + kDataSetsFile;
  if (!std::filesystem::exists(path)) return Json::object();
  Json sets = read_json_object(path, kLargestSets);
  for (const auto& [split, set] : sets.items()) {
    const bool is_expected = split == kAcceptedChanges ? set.is_array()
                                                       : set.is_object() && set.value("name", Json("")).is_string() &&
                                                             set.value("count", Json(0)).is_number_integer();
    if (!is_expected)
      throw data_error("reading '{}': '{}' is not of the expected form; resume the run, which writes it again", path, split);
  }
  return sets;
}

DataLikeness compare_data_sets(const Json& a, const Json& b, const std::string& split) {
  const auto one = a.find(split), other = b.find(split);
  if (one == a.end() || other == b.end()) return DataLikeness::kUndetermined;
  const auto alike = [&](const char* key) {
    const auto is = one->find(key), was = other->find(key);
    return is == one->end() || was == other->end() ? (is == one->end()) == (was == other->end()) : *is == *was;
  };
  for (const char* key : {"count", "classes", "biases", "images"}) {
    if (!alike(key)) return DataLikeness::kDifferent;
  }
  const bool has_vocabulary = value_or(*one, "name", std::string()) == "sentences";  // whose hash replaces that of labels
  if (has_vocabulary && !alike("labels")) return DataLikeness::kDifferent;
  if (has_text(*one, "contents") && has_text(*other, "contents") && !alike("contents")) return DataLikeness::kDifferent;
  const auto is = one->find("options"), was = other->find("options");
  const bool have_options = is != one->end() && was != other->end();
  return have_options && !have_options_alike(*is, *was) ? DataLikeness::kDifferent : DataLikeness::kAlike;
}

namespace {

constexpr int64_t kLargestTimes = int64_t{64} << 20;  // bytes

Metric speed_metric(const std::string& name, const std::string& title) {
  return {name, title, Unit::kNumber, Better::kNeither, Standing::kTraining};
}

Metric rate_metric(const std::string& counted) {
  std::string title = counted + " per second";
  std::ranges::replace(title, '_', ' ');
  return speed_metric(counted + "_per_second", title);
}

// None for a line that is not such an epoch: it was cut, or somebody wrote it.
std::optional<EpochTime> epoch_time(const std::string& line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  try {
    const EpochTime time = {count_number(json.at("epoch")), number_or_nan(json.at("seconds")), count_number(json.at("count")),
                            json.at("counted").get<std::string>()};
    return std::isfinite(time.seconds) && time.seconds > 0 && !time.counted.empty() ? std::optional(time) : std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// A line that a full disk or a kill has cut stays alone.
bool begins_a_line(const std::string& path) {
  std::ifstream file(path, std::ios::ate | std::ios::binary);
  if (!file || file.tellg() <= 0) return true;
  file.seekg(-1, std::ios::end);
  return file.get() == '\n';
}

}  // namespace

bool append_epoch_time(const std::string& run_folder, const EpochTime& time) {
  const std::string path = run_folder + "/" + kEpochTimesFile, begin = begins_a_line(path) ? "" : "\n";
  std::ofstream file(path, std::ios::app);
  const Json line = {{"epoch", time.epoch}, {"seconds", time.seconds}, {"count", time.count}, {"counted", time.counted}};
  file << begin + line.dump() + "\n" << std::flush;
  return file.good();
}

std::vector<std::pair<Metric, double>> TrainingSpeed::metrics() const {
  if (std::isnan(seconds)) return {};
  const std::vector<Metric> of_all = speed_metrics();
  return {{of_all[0], seconds}, {of_all[1], minutes_per_epoch}, {rate_metric(counted), per_second}};
}

TrainingSpeed read_training_speed(const std::string& run_folder) {
  TrainingSpeed speed;
  const std::string path = run_folder + "/" + kEpochTimesFile;
  if (!std::filesystem::exists(path)) return speed;
  std::istringstream lines(read_text_file(path, kLargestTimes));
  std::vector<double> rates;
  std::set<int64_t> epochs;
  double seconds = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto time = epoch_time(line);
    if (!time) {
      ++speed.damaged_lines;
      continue;
    }
    seconds += time->seconds;
    rates.push_back(time->per_second());
    epochs.insert(time->epoch);
    speed.counted = time->counted;
  }
  if (rates.empty()) return speed;
  speed.seconds = seconds;
  speed.minutes_per_epoch = seconds / 60 / static_cast<double>(epochs.size());
  speed.per_second = median(std::move(rates));
  return speed;
}

std::vector<Metric> speed_metrics() {
  return {speed_metric("training_seconds", "training time, seconds"),
          speed_metric("minutes_per_epoch", "training time per epoch, minutes")};
}

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

namespace {

constexpr int64_t kLargestNearestFile = 1 << 26;  // bytes

}  // namespace

Json to_json(const NearestSentences& found) {
  Json list = Json::array();
  for (const auto& query : found.queries) {
    Json one = {{"query", query.text}, {"nearest", Json::array()}};
    for (const auto& near : query.nearest) one["nearest"].push_back({{"text", near.text}, {"cosine", number_or_null(near.cosine)}});
    list.push_back(std::move(one));
  }
  return {{"checkpoint", found.checkpoint}, {"epoch", found.epoch},   {"text", found.text},
          {"sentences", found.sentences},   {"digest", found.digest}, {"queries", std::move(list)}};
}

NearestSentences read_nearest_sentences(const std::string& run_folder) {
  const std::string path = run_folder + "/" + kNearestSentencesFile;
  if (!std::filesystem::exists(path)) return {};
  const Json json = read_json_object(path, kLargestNearestFile);
  return read_fields(path, [&] {
    NearestSentences found;
    found.checkpoint = value_or(json, "checkpoint", std::string());
    found.epoch = value_or(json, "epoch", int64_t{-1});
    found.text = value_or(json, "text", std::string());
    found.sentences = value_or(json, "sentences", int64_t{0});
    found.digest = value_or(json, "digest", std::string());
    for (const auto& one : json.at("queries")) {
      SentenceQuery query = {one.at("query").get<std::string>(), {}};
      for (const auto& near : one.at("nearest"))
        query.nearest.push_back({near.at("text").get<std::string>(), number_or_nan(near.at("cosine"))});
      found.queries.push_back(std::move(query));
    }
    return found;
  });
}

}  // namespace debias

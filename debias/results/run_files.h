// RUN/data/sets.json: the fingerprints of a run's data sets by split, as a checkpoint has them except for the files' times, so that two
// runs can be asked whether they saw the same images. Runs of older versions have none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/results/json_file.h"
#include "debias/results/metric.h"

namespace debias {

inline constexpr const char* kDataSetsFile = "data/sets.json";
inline constexpr const char* kAcceptedChanges = "accepted";  // beside the splits: lines on changes that a user took (--accept-data-change)

// An empty object if there is no file; a data error if it is damaged.
Json read_data_sets(const std::string& run_folder);

enum class DataLikeness { kAlike, kDifferent, kUndetermined };

// Compares a split in two such files: classes and bias labels by name, the options that change the images (those that both know), and each
// image's id, label, bias, size or pixels, and path below the root; bytes if both know them (data.verify: contents), and for sentences
// the vocabulary.
DataLikeness compare_data_sets(const Json& a, const Json& b, const std::string& split);

// Duration of training. The training loop appends one line for each epoch to RUN/times.jsonl, apart from metrics.jsonl, whose bytes depend
// on no clock:
//
//   {"epoch": 3, "seconds": 12.437, "count": 5000, "counted": "images"}
inline constexpr const char* kEpochTimesFile = "times.jsonl";

// An epoch, or the part of one after which the run was stopped.
struct EpochTime {
  int64_t epoch = 0;         // from 1
  double seconds = 0;        // of training, evaluations not included
  int64_t count = 0;         // samples, or steps of an agent
  std::string counted = {};  // what they are, as a word of a metric's name: "images", "agent_steps"

  double per_second() const { return static_cast<double>(count) / seconds; }
};

// Appends the line. False if the file cannot be written: the run continues.
bool append_epoch_time(const std::string& run_folder, const EpochTime& time);

struct TrainingSpeed {
  double seconds = std::numeric_limits<double>::quiet_NaN();            // of all epochs
  double minutes_per_epoch = std::numeric_limits<double>::quiet_NaN();  // mean; an epoch in several parts is one
  double per_second = std::numeric_limits<double>::quiet_NaN();         // median of the epochs
  std::string counted = {};                                             // of the last line
  int64_t damaged_lines = 0;                                            // which count for nothing

  // Known speeds: training_seconds, minutes_per_epoch and one such as images_per_second.
  std::vector<std::pair<Metric, double>> metrics() const;
};

// An epoch that was trained again after a resumption counts each time. NaN without a file, or where it has no epoch.
TrainingSpeed read_training_speed(const std::string& run_folder);

std::vector<Metric> speed_metrics();  // those of any run

// Still frames of an episode that an agent played: RUN/evaluation/film, which `debias rl play` writes and a report shows.
//
//   film.json      policy, episode and the time of each frame
//   01.png ...     the frames, in order
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

// Sentences nearest to some queries, as a run's encoders see them: RUN/nearest_sentences.json, which `debias text nearest` writes and a report
// shows.
struct NearSentence {
  std::string text;
  double cosine = 0;
};

struct SentenceQuery {
  std::string text;
  std::vector<NearSentence> nearest;  // nearest first
};

// The searched text and the queries, so that a report notices runs that searched other texts. Older files lack it.
struct NearestSentences {
  std::string checkpoint;  // file name
  int64_t epoch = -1;      // of it
  std::string text;        // the file that was searched
  int64_t sentences = 0;   // different ones in it
  std::string digest;      // SHA-256 of these
  std::vector<SentenceQuery> queries;
};

constexpr const char* kNearestSentencesFile = "nearest_sentences.json";

Json to_json(const NearestSentences& found);
// Without queries where the folder has no such file. Data errors name the file.
NearestSentences read_nearest_sentences(const std::string& run_folder);

}  // namespace debias

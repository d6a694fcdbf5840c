// Sentences nearest to some queries, as a run's encoders see them: RUN/nearest_sentences.json, which `debias text nearest` writes and a report
// shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/results/json_file.h"

namespace debias {

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

// Sentences nearest to some queries, as a run's encoders see them: RUN/nearest_sentences.json, which `debias text nearest` writes and a report
// shows.
#pragma once

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

constexpr const char* kNearestSentencesFile = "nearest_sentences.json";

Json to_json(const std::vector<SentenceQuery>& queries);
// Empty where the folder has no such file. Data errors name the file.
std::vector<SentenceQuery> read_nearest_sentences(const std::string& run_folder);

}  // namespace debias

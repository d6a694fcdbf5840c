// Parts that a report could show and a run does not have yet.
#pragma once

#include <string>
#include <vector>

#include "debias/report/run_record.h"

namespace debias {

enum class Part { kGroups, kSimilarities, kMap, kNeighbours, kVideo, kSentenceTasks, kNearestTexts };

struct MissingPart {
  std::string words;     // "infonce-1, infonce-2: no groups"
  std::string commands;  // "debias eval groups runs/infonce-1" and so on, one a line
};

// Names the runs that lack the part and could have it: agents a video, runs on sentences tasks and nearest sentences, others the rest,
// except for groups without bias labels.
// Empty if none lacks it.
MissingPart missing_part(const std::vector<RunRecord>& runs, Part part);

// Advice on groups if no bias label is known: sentences, with a space before them.
std::string unknown_bias_words();
// "plain, other: no bias labels ..." of the runs on images that have none; "" where all have some.
std::string unknown_bias_words(const std::vector<RunRecord>& runs);

// A word of a command line, quoted where a shell would take it apart.
std::string shell_word(const std::string& word);

}  // namespace debias

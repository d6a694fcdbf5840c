// What a report could show and a run does not have yet.
#pragma once

#include <string>
#include <vector>

#include "debias/report/run_record.h"

namespace debias {

enum class Part { kGroups, kSimilarities, kMap, kNeighbours };

struct MissingPart {
  std::string words;     // "infonce-1, infonce-2: no groups"
  std::string commands;  // "debias eval groups runs/infonce-1" and so on, one a line
};

// Of the runs whose own data lack the part; empty words where all have it.
MissingPart missing_part(const std::vector<RunRecord>& runs, Part part);

// A word of a command line, quoted where a shell would take it apart.
std::string shell_word(const std::string& word);

}  // namespace debias

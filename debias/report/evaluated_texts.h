// Numbers of a task are compared only if they are of the same texts. Files name them by a digest; those of older versions do
// not, and are taken as they are.
#pragma once

#include <string>
#include <vector>

#include "debias/report/run_record.h"

namespace debias {

struct TaskEvaluation {
  const RunRecord* run = nullptr;
  const EvaluationRecord* record = nullptr;
};

// Throws a usage error, prefixed with `verb`, if two of these name different texts of the task.
void require_same_texts(const std::string& verb, const std::string& task, const std::vector<TaskEvaluation>& evaluations);

// The same of every task of these runs, each kind of evaluation by itself: the whole protocol, --cheap, the untrained encoder and so on.
void require_same_texts(const std::string& verb, const std::vector<RunRecord>& runs);

}  // namespace debias

// Numbers of a task stand beside each other where they are of the same texts. Files name them by a digest; those of older versions do
// not, and are taken as they are.
#pragma once

#include <string>
#include <vector>

#include "debias/report/run_record.h"

namespace debias {

struct TaskJudgement {
  const RunRecord* run = nullptr;
  const EvaluationRecord* record = nullptr;
};

// A usage error, `verb` in front, where two of these name different texts of the task.
void require_same_texts(const std::string& verb, const std::string& task, const std::vector<TaskJudgement>& judgements);

// The same of every task of these runs, each kind of judgement by itself: the whole protocol, --cheap, the untrained encoder and so on.
void require_same_texts(const std::string& verb, const std::vector<RunRecord>& runs);

}  // namespace debias

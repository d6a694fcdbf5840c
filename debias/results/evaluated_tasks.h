// Tasks that an encoder is evaluated by beside its own data, each on texts of its own, as a record's file has them: their findings are among
// its options and counts, by task.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/results/json_file.h"

namespace debias {

struct EvaluatedTask {
  std::string name;                // before its metrics' names: "mr" of "mr_acc"
  int64_t evaluated = 0;           // texts, or pairs of them
  std::vector<double> C = {};      // inverse strengths of regularisation, as they were chosen
  double majority = kNotKnown;     // accuracy of always saying the commonest class
  int64_t unknown = 0, texts = 0;  // texts without a word that the encoder knows, among all
  std::string digest = {};         // SHA-256 of texts and labels; empty where the file does not say

  bool has(const std::string& metric) const { return metric.starts_with(name + "_"); }
};

void add_tasks(const std::vector<EvaluatedTask>& tasks, Json& record);

// Takes them from a record's file and removes their findings from its options. Values of an unexpected form count as absent.
std::vector<EvaluatedTask> take_tasks(const Json& record, Json& options);

}  // namespace debias

#include "debias/results/evaluated_tasks.h"

#include <algorithm>
#include <array>

namespace debias {
namespace {

constexpr std::array kFindings = {"C", "majority", "unknown", "texts", "digest"};

const Json* finding_of(const Json& options, const char* finding, const std::string& task) {
  const auto found = options.find(finding);
  if (found == options.end() || !found->is_object()) return nullptr;
  const auto of_task = found->find(task);
  return of_task == found->end() ? nullptr : &*of_task;
}

EvaluatedTask task_of(const Json& options, const std::string& name) {
  EvaluatedTask task;
  task.name = name;
  if (const Json* C = finding_of(options, "C", name); C != nullptr && C->is_array()) {
    for (const auto& value : *C) task.C.push_back(value.is_number() ? value.get<double>() : kNotKnown);
  }
  if (const Json* majority = finding_of(options, "majority", name); majority != nullptr && majority->is_number()) {
    task.majority = majority->get<double>();
  }
  for (const auto& [key, field] : {std::pair{"unknown", &task.unknown}, {"texts", &task.texts}}) {
    const Json* count = finding_of(options, key, name);
    if (count != nullptr && count->is_number_integer()) *field = count->get<int64_t>();
  }
  if (const Json* digest = finding_of(options, "digest", name); digest != nullptr && digest->is_string()) {
    task.digest = digest->get<std::string>();
  }
  return task;
}

}  // namespace

void add_tasks(const std::vector<EvaluatedTask>& tasks, Json& record) {
  Json& options = record["options"];
  for (const auto& task : tasks) {
    options["C"][task.name] = numbers_or_null(task.C);
    options["majority"][task.name] = number_or_null(task.majority);
    options["unknown"][task.name] = task.unknown;
    options["texts"][task.name] = task.texts;
    if (!task.digest.empty()) options["digest"][task.name] = task.digest;
  }
  for (const auto& task : tasks) record["counts"][task.name] = task.evaluated;  // a new key moves `options`
}

std::vector<EvaluatedTask> take_tasks(const Json& record, Json& options) {
  std::vector<EvaluatedTask> tasks;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(tasks, name, &EvaluatedTask::name) == tasks.end()) tasks.push_back(task_of(options, name));
  };
  const auto counts = record.find("counts");
  if (counts != record.end() && counts->is_object()) {
    for (const auto& [name, count] : counts->items()) {
      add(name);
      tasks.back().evaluated = count_number(count);
    }
  }
  if (!options.is_object()) return tasks;
  for (const char* finding : kFindings) {
    const auto found = options.find(finding);
    if (found == options.end() || !found->is_object()) continue;
    for (const auto& entry : found->items()) add(entry.key());
  }
  for (const char* finding : kFindings) options.erase(finding);
  return tasks;
}

}  // namespace debias

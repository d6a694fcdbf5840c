#include "debias/report/evaluated_texts.h"

#include <map>
#include <utility>

#include "debias/core/error.h"

namespace debias {
namespace {

constexpr size_t kShownDigits = 12;  // of a digest

}  // namespace

void require_same_texts(const std::string& verb, const std::string& task, const std::vector<TaskEvaluation>& evaluations) {
  const auto digest_of = [&task](const TaskEvaluation& one) {
    const EvaluatedTask* found = one.record->task(task);
    return found == nullptr ? std::string() : found->digest;
  };
  const TaskEvaluation* first = nullptr;
  for (const auto& one : evaluations) {
    const std::string digest = digest_of(one);
    if (digest.empty()) continue;
    if (first == nullptr) first = &one;
    const std::string known = digest_of(*first);
    if (digest == known) continue;
    throw usage_error(
        "{}: runs evaluated on different texts: those of '{}' have the digest {} in '{}' and {} in '{}'; evaluate them with one --root, or "
        "show each by itself",
        verb, task, known.substr(0, kShownDigits), first->run->path, digest.substr(0, kShownDigits), one.run->path);
  }
}

void require_same_texts(const std::string& verb, const std::vector<RunRecord>& runs) {
  std::map<std::pair<std::string, std::string>, std::vector<TaskEvaluation>> evaluated;  // by kind and task
  for (const auto& run : runs) {
    for (const auto& record : run.evaluations) {
      for (const auto& task : record.tasks) evaluated[{record.data, task.name}].push_back({&run, &record});
    }
  }
  for (const auto& [kind_and_task, evaluations] : evaluated) require_same_texts(verb, kind_and_task.second, evaluations);
}

}  // namespace debias

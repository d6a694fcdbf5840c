// Six tasks that sentence vectors are evaluated by, as the skip-thoughts scripts evaluate them (Kiros et al. 2015; spec of Chuang et al. 2020, table
// 2): L2 logistic regression on frozen vectors, C chosen among 2^0, 2^1, ..., 2^8 by cross-validation, the first best wins.
//
//   mr, cr, subj, mpqa   ten folds in a drawn order, within each of their training parts ten again to choose C; mean accuracy of the ten
//   trec                 one against the rest; ten folds of the training questions choose C; accuracy of the test questions
//   msrp                 features |u - v| and u v of a pair; ten folds choose C by F1; accuracy and F1 of the test pairs
//
// `cheap`: C is chosen on one tenth of a training part, in place of ten folds. Orders are drawn by our own generator from the seed given: folds
// are not those of numpy's shuffles.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/core/progress.h"
#include "debias/results/metric.h"
#include "debias/text/sentence_sets.h"

namespace debias {

enum class TaskMode { kFull, kCheap };
constexpr auto enum_words(TaskMode) { return named("full", "cheap"); }

struct TaskScore {
  std::string metric;  // "mr_acc", "msrp_f1"
  double value = 0;
  std::pair<double, double> interval;  // 95 %: Wilson's of an accuracy over all evaluated sentences, of an F1 the bootstrap's
};

struct TaskResult {
  std::string task;
  std::vector<TaskScore> scores;
  int64_t evaluated = 0;    // sentences, or pairs
  std::vector<double> C;    // chosen: of each outer fold, or the one
  double majority = 0;      // accuracy of always saying the commoner class
  int64_t evaluations = 0;  // of value and gradient of a problem
  int64_t unfinished = 0;   // fits that did not converge
};

// Vectors [N, D] of texts.
using EmbedTexts = std::function<at::Tensor(const std::vector<std::string>& texts)>;

TaskResult evaluate_task(const SentenceSet& set, const EmbedTexts& embed, TaskMode mode, uint64_t seed,
                         Progress& progress = Progress::silent());

std::vector<Metric> sentence_task_metrics();  // of all tasks

// The ends of `folds` contiguous folds of n: the first n mod folds have one more.
std::vector<int64_t> fold_ends(int64_t n, int64_t folds);

}  // namespace debias

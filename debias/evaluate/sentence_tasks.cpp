#include "debias/evaluate/sentence_tasks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/evaluate/logistic_regression.h"
#include "debias/results/statistics.h"

namespace debias {
namespace {

constexpr int64_t kFolds = 10;
constexpr int kLargestPower = 8;  // of two: C
constexpr int kReplicates = 1000;
constexpr uint64_t kFoldOrder = 1, kResampling = 2;

using Rows = std::vector<int64_t>;

// A part of the rows, by which C is chosen: what is trained on, and what is scored.
struct Choice {
  Rows train, evaluated;
};

Rows range(const Rows& rows, int64_t begin, int64_t end) { return {rows.begin() + begin, rows.begin() + end}; }

Rows without(const Rows& rows, int64_t begin, int64_t end) {
  Rows left(rows.begin(), rows.begin() + begin);
  left.insert(left.end(), rows.begin() + end, rows.end());
  return left;
}

std::vector<Choice> folds_of(const Rows& rows, int64_t folds) {
  std::vector<Choice> all;
  int64_t begin = 0;
  for (const int64_t end : fold_ends(std::ssize(rows), folds)) {
    all.push_back({without(rows, begin, end), range(rows, begin, end)});
    begin = end;
  }
  return all;
}

// Problems side by side: for each choice one against the rest for each class, or one where there are two classes.
class Problems {
 public:
  Problems(const std::vector<int64_t>& labels, int64_t classes)
      : labels_(at::tensor(labels, at::kLong)), targets_(classes == 2 ? 1 : classes) {}

  int64_t of_choice() const { return targets_; }

  // double [n, problems] of 1, -1 and 0.
  at::Tensor targets(const std::vector<Rows>& trained) const {
    std::vector<at::Tensor> columns;
    for (const Rows& rows : trained) {
      const at::Tensor in = at::zeros({labels_.numel()}, at::kDouble).index_fill_(0, at::tensor(rows, at::kLong), 1);
      for (int64_t k = 0; k < targets_; ++k) {
        columns.push_back(in * labels_.eq(targets_ == 1 ? 1 : k).to(at::kDouble).mul(2).sub(1));
      }
    }
    return at::stack(columns, 1);
  }

  // Classes of rows from the decisions [n, problems] of one choice.
  at::Tensor predicted(const at::Tensor& decisions) const {
    return targets_ == 1 ? decisions.select(1, 0).gt(0).to(at::kLong) : decisions.argmax(1);
  }

  const at::Tensor& labels() const { return labels_; }

 private:
  at::Tensor labels_;
  int64_t targets_;
};

double accuracy_of(const at::Tensor& predicted, const at::Tensor& labels) {
  return predicted.eq(labels).to(at::kDouble).mean().item<double>();
}

double f1_of(const at::Tensor& predicted, const at::Tensor& labels) {
  const double hits = predicted.eq(1).logical_and(labels.eq(1)).sum().item<double>();
  const double all = predicted.eq(1).sum().item<double>() + labels.eq(1).sum().item<double>();
  return all == 0 ? 0 : 2 * hits / all;
}

using Score = double (*)(const at::Tensor&, const at::Tensor&);

struct Fitted {
  std::vector<double> C;  // chosen, of each group of choices
  at::Tensor weights;     // at the chosen C, on all rows of each group: [groups * of_choice, D + 1]
};

// Chooses C for each group of rows by its own choices, and fits the group at it. `groups[g]`: the rows; `choices[g]`: their parts.
Fitted choose_and_fit(const LogisticRegression& regression, const Problems& problems, const std::vector<Rows>& groups,
                      const std::vector<std::vector<Choice>>& choices, Score score, TaskResult& result, Progress& progress) {
  std::vector<Rows> trained;
  for (const auto& parts : choices) {
    for (const Choice& part : parts) trained.push_back(part.train);
  }
  const int64_t P = problems.of_choice();
  const at::Tensor targets = problems.targets(trained);
  std::vector<double> best(groups.size(), -1), chosen(groups.size(), 1);
  std::vector<at::Tensor> starts(groups.size());
  at::Tensor weights;
  const auto count = [&result](const LogisticFits& fits) {
    result.evaluations += fits.evaluations;
    result.unfinished += fits.unfinished;
  };
  progress.begin(result.task + ": fits", kLargestPower + 1);  // embedding, which is over, has shown progress of its own
  for (int power = 0; power <= kLargestPower; ++power) {
    const double C = std::ldexp(1.0, power);
    const LogisticFits fits = regression.fit(targets, std::vector<double>(static_cast<size_t>(targets.size(1)), C), weights);
    count(fits);
    weights = fits.weights;
    const at::Tensor decisions = regression.decisions(weights);
    int64_t column = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      double sum = 0;
      const int64_t first = column;
      for (const Choice& part : choices[g]) {
        const at::Tensor rows = at::tensor(part.evaluated, at::kLong);
        const at::Tensor own = decisions.slice(1, column, column + P).index_select(0, rows);
        sum += score(problems.predicted(own), problems.labels().index_select(0, rows));
        column += P;
      }
      if (sum <= best[g]) continue;
      best[g] = sum;
      chosen[g] = C;
      starts[g] = weights.slice(0, first, column).unflatten(0, {-1, P}).mean(0);
    }
    progress.advance(power + 1, fmt::format("C = {}", C));
  }
  std::vector<double> C_of_problem;
  for (const double C : chosen) C_of_problem.insert(C_of_problem.end(), static_cast<size_t>(P), C);
  const LogisticFits fits = regression.fit(problems.targets(groups), C_of_problem, at::cat(starts));
  count(fits);
  progress.end();
  return {chosen, fits.weights};
}

double majority_of(const std::vector<int64_t>& labels, int64_t classes) {
  std::vector<int64_t> counts(static_cast<size_t>(classes), 0);
  for (const int64_t label : labels) ++counts[static_cast<size_t>(label)];
  return static_cast<double>(*std::max_element(counts.begin(), counts.end())) / static_cast<double>(labels.size());
}

std::vector<Choice> choices_of(const Rows& rows, TaskMode mode) {
  std::vector<Choice> all = folds_of(rows, kFolds);
  if (mode == TaskMode::kCheap) all.resize(1);
  return all;
}

Rows drawn_order(int64_t n, uint64_t seed) { return permutation(n, {.domain = RngDomain::kEvaluate, .seed = seed, .sample = kFoldOrder}); }

void require_folds(const SentenceSet& set) {
  const int64_t n = std::ssize(set.train.texts);
  if (n < 2 * kFolds)
    throw data_error("eval: sentence set '{}' has {} texts to train on, ten folds need at least {}", set.name, n, 2 * kFolds);
}

void evaluate_by_folds(const SentenceSet& set, const EmbedTexts& embed, TaskMode mode, uint64_t seed, TaskResult& result,
                       Progress& progress) {
  const LogisticRegression regression(embed(set.train.texts));
  const Problems problems(set.train.labels, std::ssize(set.classes));
  const std::vector<Choice> outer = folds_of(drawn_order(std::ssize(set.train.texts), seed), kFolds);
  std::vector<Rows> groups;
  std::vector<std::vector<Choice>> choices;
  for (const Choice& fold : outer) {
    groups.push_back(fold.train);
    choices.push_back(choices_of(fold.train, mode));
  }
  const Fitted fitted = choose_and_fit(regression, problems, groups, choices, accuracy_of, result, progress);
  const at::Tensor decisions = regression.decisions(fitted.weights);
  const int64_t P = problems.of_choice();
  double sum = 0;
  for (size_t g = 0; g < outer.size(); ++g) {
    const at::Tensor rows = at::tensor(outer[g].evaluated, at::kLong);
    const auto column = static_cast<int64_t>(g) * P;
    sum += accuracy_of(problems.predicted(decisions.slice(1, column, column + P).index_select(0, rows)),
                       problems.labels().index_select(0, rows));
  }
  result.C = fitted.C;
  result.evaluated = std::ssize(set.train.texts);
  const double accuracy = sum / static_cast<double>(kFolds);
  result.scores.push_back({set.name + "_acc", accuracy, wilson_interval({accuracy, static_cast<double>(result.evaluated)})});
}

at::Tensor features_of(const LabelledText& part, const EmbedTexts& embed) {
  const at::Tensor u = embed(part.texts);
  if (part.seconds.empty()) return u;
  const at::Tensor v = embed(part.seconds);
  return at::cat({(u - v).abs(), u * v}, 1);
}

std::pair<double, double> f1_interval(const at::Tensor& predicted, const at::Tensor& labels, uint64_t seed) {
  Random random({.domain = RngDomain::kEvaluate, .seed = seed, .sample = kResampling});
  const int64_t n = labels.numel();
  const at::Tensor said = predicted.contiguous(), is = labels.contiguous();
  const int64_t *p = said.const_data_ptr<int64_t>(), *y = is.const_data_ptr<int64_t>();
  std::vector<double> values;
  for (int r = 0; r < kReplicates; ++r) {
    int64_t hits = 0, all = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t k = random.below(n);
      hits += p[k] == 1 && y[k] == 1;
      all += (p[k] == 1) + (y[k] == 1);
    }
    values.push_back(all == 0 ? 0 : 2 * static_cast<double>(hits) / static_cast<double>(all));
  }
  std::sort(values.begin(), values.end());
  return {values[kReplicates / 40], values[kReplicates - 1 - kReplicates / 40]};
}

void evaluate_by_test(const SentenceSet& set, const EmbedTexts& embed, TaskMode mode, uint64_t seed, TaskResult& result,
                      Progress& progress) {
  const LogisticRegression regression(features_of(set.train, embed));
  const Problems problems(set.train.labels, std::ssize(set.classes));
  const Rows rows = drawn_order(std::ssize(set.train.texts), seed);
  const Score score = set.has_pairs() ? f1_of : accuracy_of;
  const Fitted fitted = choose_and_fit(regression, problems, {rows}, {choices_of(rows, mode)}, score, result, progress);
  const at::Tensor decisions = with_constant(features_of(*set.test, embed)).mm(fitted.weights.t());
  const at::Tensor predicted = problems.predicted(decisions), labels = at::tensor(set.test->labels, at::kLong);
  result.C = fitted.C;
  result.evaluated = labels.numel();
  const double accuracy = accuracy_of(predicted, labels);
  result.scores.push_back({set.name + "_acc", accuracy, wilson_interval({accuracy, static_cast<double>(result.evaluated)})});
  if (set.has_pairs()) result.scores.push_back({set.name + "_f1", f1_of(predicted, labels), f1_interval(predicted, labels, seed)});
}

}  // namespace

std::vector<Metric> sentence_task_metrics() {
  std::vector<Metric> metrics;
  for (const auto& task : sentence_set_names()) {
    std::string title = task;
    std::ranges::transform(title, title.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    metrics.push_back({task + "_acc", title + " accuracy", Unit::kShare, Better::kHigher, Standing::kProtocol});
  }
  metrics.push_back({"msrp_f1", "MSRP F1", Unit::kShare, Better::kHigher, Standing::kProtocol});
  return metrics;
}

std::vector<int64_t> fold_ends(int64_t n, int64_t folds) {
  std::vector<int64_t> ends;
  int64_t end = 0;
  for (int64_t k = 0; k < folds; ++k) ends.push_back(end += n / folds + (k < n % folds ? 1 : 0));
  return ends;
}

TaskResult evaluate_task(const SentenceSet& set, const EmbedTexts& embed, TaskMode mode, uint64_t seed, Progress& progress) {
  const at::NoGradGuard no_grad;
  require_folds(set);
  TaskResult result;
  result.task = set.name;
  result.majority = majority_of(set.test ? set.test->labels : set.train.labels, std::ssize(set.classes));
  set.test ? evaluate_by_test(set, embed, mode, seed, result, progress) : evaluate_by_folds(set, embed, mode, seed, result, progress);
  return result;
}

}  // namespace debias

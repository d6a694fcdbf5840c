#include "debias/runs/loss_evaluation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "debias/core/error.h"
#include "debias/pairs/rows.h"
#include "debias/process/startup.h"
#include "debias/runs/loss_input.h"

namespace debias {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

LossEvaluation evaluate_once(const Objective& objective, const ObjectiveInput& input, const LossEvaluationOptions& options) {
  LossEvaluation evaluation;
  const at::Tensor leaf = input.z.detach().requires_grad_(true);
  const PeakMemory memory;
  const auto start = Clock::now();
  {  // the graph alone keeps what the way back needs
    ObjectiveInput rows = input;
    rows.z = options.normalize ? normalized_rows(leaf) : leaf;
    if (options.precision == LossPrecision::kBf16) rows.z = rows.z.to(at::kBFloat16);
    evaluation.result = objective(rows);
  }
  const double value = evaluation.result.value.item<double>();
  evaluation.seconds_forward = seconds_since(start);

  const auto middle = Clock::now();
  evaluation.result.value.backward();
  evaluation.gradient = leaf.grad();
  evaluation.seconds_backward = seconds_since(middle);
  evaluation.peak_bytes = memory.bytes();
  evaluation.result.value = evaluation.result.value.detach();
  if (!std::isfinite(value)) throw numeric_error("loss: the value is {}", value);
  if (!evaluation.gradient.isfinite().all().item<bool>()) throw numeric_error("loss: the gradient is not finite, the value is {}", value);
  return evaluation;
}

// The first evaluation of a process also loads code and starts threads; two samples are enough for that.
void warm_up(const Objective& objective, const ObjectiveInput& input, const LossEvaluationOptions& options) {
  const auto head = [](const at::Tensor& rows) { return rows.defined() ? rows.slice(0, 0, 2) : rows; };
  ObjectiveInput small = input;
  for (at::Tensor* tensor : {&small.z, &small.labels, &small.bias, &small.weights, &small.samples}) *tensor = head(*tensor);
  try {
    evaluate_once(objective, small, options);
  } catch (const Error&) {  // of two samples; that of all of them is the one to report
  }
}

// True if matrices of pairs will be formed.
bool is_dense(const ObjectiveInput& input, InputKind kind) {
  if (kind != InputKind::kPairs) return kind == InputKind::kRegulariser && input.engine == Engine::kDense;
  const Rows rows = {
      .anchors = input.z, .group = at::empty({input.z.size(0) * input.z.size(1)}, at::kLong), .keys = input.keys, .engine = input.engine};
  return engine_of(rows) == Engine::kDense;
}

}  // namespace

// The dense compositions hold three square matrices, and one more for each pair of views, while they go backward.
double dense_bytes(const ObjectiveInput& input, InputKind kind) {
  if (!is_dense(input, kind)) return 0;
  const at::Tensor &z = input.z, &keys = input.keys;
  const double rows = 2.0 * static_cast<double>(z.size(0)), views = static_cast<double>(z.dim() == 3 ? z.size(1) : 1);
  return (3 + std::max(1.0, views * (views - 1) / 2)) * rows * (keys.defined() ? static_cast<double>(keys.size(0)) : rows) *
         static_cast<double>(z.element_size());
}

LossEvaluation evaluate_loss(const Objective& objective, const ObjectiveInput& input, const LossEvaluationOptions& options) {
  warm_up(objective, input, options);
  LossEvaluation first = evaluate_once(objective, input, options);
  if (options.repeat == 0) return first;
  std::vector<double> forward, backward;
  for (int64_t i = 0; i < options.repeat; ++i) {
    const LossEvaluation again = evaluate_once(objective, input, options);
    forward.push_back(again.seconds_forward);
    backward.push_back(again.seconds_backward);
  }
  first.seconds_forward = median(forward);
  first.seconds_backward = median(backward);
  return first;
}

}  // namespace debias

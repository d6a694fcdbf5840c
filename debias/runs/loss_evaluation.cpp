#include "debias/runs/loss_evaluation.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <chrono>

#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/pairs/rows.h"
#include "debias/process/startup.h"

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
  const Rows rows = {.anchors = input.z,
                     .group = at::empty({input.z.size(0) * input.z.size(1)}, at::kLong),
                     .keys = input.keys,
                     .temperature = 1,
                     .engine = input.engine};
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

namespace {

at::Tensor read_floats(const std::string& path, const char* what) {
  const NpyArray array = read_npy(path);
  if (array.dtype != DType::kFloat32 && array.dtype != DType::kFloat64) {
    throw data_error("{}: {} must be float32 or float64, found {}; convert them", path, what, name_of(array.dtype));
  }
  if (array.count() == 0) throw data_error("{}: {} are empty, shape ({})", path, what, fmt::join(array.shape, ", "));
  const auto type = array.dtype == DType::kFloat32 ? at::kFloat : at::kDouble;
  return at::from_blob(const_cast<std::byte*>(array.bytes.data()), array.shape, at::TensorOptions(type)).clone();
}

std::string row_name(const at::Tensor& z, int64_t row) {
  if (z.dim() == 2) return fmt::format("sample {}", row);
  return fmt::format("sample {}, view {}", row / z.size(1), row % z.size(1));
}

// The first of the rows (all dimensions but the last) for which `bad` holds; -1 for none.
int64_t first_of(const at::Tensor& bad) {
  const at::Tensor rows = bad.flatten().nonzero();
  return rows.size(0) == 0 ? -1 : rows[0][0].item<int64_t>();
}

at::Tensor read_embeddings(const std::string& path, InputKind kind) {
  const at::Tensor z = read_floats(path, "embeddings");
  const bool logits = kind == InputKind::kLogits;
  if (z.dim() != 2 && (logits || z.dim() != 3)) {
    throw data_error("{}: expected shape {}, found ({})", path, logits ? "[N, C]" : "[B, V, D] or [N, D]", fmt::join(z.sizes(), ", "));
  }
  return z;
}

at::Tensor read_integers(const std::string& path, const at::Tensor& of, const char* what, const char* whose = "samples of embeddings") {
  if (path.empty()) return {};
  const NpyArray array = read_npy(path);
  const std::vector<int64_t> values = npy_integers(array, path);
  if (array.shape.size() != 1) throw data_error("{}: {} must have one dimension, found ({})", path, what, fmt::join(array.shape, ", "));
  if (static_cast<int64_t>(values.size()) != of.size(0)) {
    throw data_error("{}: {} {} for {} {}; give one for each", path, values.size(), what, of.size(0), whose);
  }
  return at::tensor(values, at::kLong);
}

at::Tensor read_keys(const std::string& path, const at::Tensor& z) {
  if (path.empty()) return {};
  const at::Tensor keys = read_floats(path, "keys");
  if (keys.dim() != 2 || keys.size(1) != z.size(-1)) {
    throw data_error("{}: keys must have shape [K, {}], as many dimensions as the embeddings, found ({})", path, z.size(-1),
                     fmt::join(keys.sizes(), ", "));
  }
  if (const int64_t row = first_of(keys.isfinite().all(-1).logical_not()); row >= 0) {
    throw data_error("{}: the row of key {} is not finite; remove or repair it", path, row);
  }
  return keys;
}

at::Tensor read_weights(const std::string& path, const at::Tensor& z) {
  if (path.empty()) return {};
  const at::Tensor weights = read_floats(path, "weights");
  if (weights.dim() != 2 || weights.size(0) != z.size(0)) {
    throw data_error("{}: weights must have shape [{}, F], one row for each sample, found ({})", path, z.size(0),
                     fmt::join(weights.sizes(), ", "));
  }
  if (const int64_t row = first_of(weights.isfinite().all(-1).logical_not()); row >= 0) {
    throw data_error("{}: the row of sample {} is not finite; remove or repair it", path, row);
  }
  return weights;
}

at::Tensor read_prior(const std::string& path) {
  if (path.empty()) return {};
  const at::Tensor prior = read_floats(path, "the prior");
  if (prior.dim() != 2) throw data_error("{}: the prior P(y|b) must have shape [C, G], found ({})", path, fmt::join(prior.sizes(), ", "));
  if (!prior.ge(0).logical_and(prior.le(1)).all().item<bool>()) throw data_error("{}: the prior P(y|b) must be in [0, 1]", path);
  return prior;
}

// Rows divided by their norms. What is kept for the way back is the input, which the caller holds anyway; the gradient
// (g - y (y . g)) / |z| overwrites the one that came in where nobody else holds it.
class NormalizedRows : public torch::autograd::Function<NormalizedRows> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& z) {
    const at::Tensor norms = at::linalg_vector_norm(z, 2, at::IntArrayRef{-1}, true, at::kDouble).clamp_min(1e-12);
    context->save_for_backward({z, norms});
    return z / norms.to(z.scalar_type());
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const at::Tensor along = (at::linalg_vecdot(saved[0], grads[0]).unsqueeze(-1) / saved[1].square()).to(saved[0].scalar_type());
    const bool sole = grads[0].use_count() == 1 && grads[0].storage().use_count() == 1 && grads[0].is_contiguous();
    at::Tensor gradient = sole ? grads[0] : grads[0].contiguous().clone();
    return {gradient.addcmul_(saved[0], along, -1).div_(saved[1].to(saved[0].scalar_type()))};
  }
};

}  // namespace

void require_loss_files(const ObjectiveEntry& entry, const LossFiles& files) {
  if (!files.prior.empty() && !entry.takes_prior) {
    throw usage_error("loss: --prior: '{}' takes no prior, only bias_balanced does; leave it out", entry.name);
  }
  if (!files.weights.empty() && !entry.takes_bias_features) {
    throw usage_error("loss: --weights: '{}' takes no bias features, softcon and fairkl do; leave it out", entry.name);
  }
  if (!files.keys.empty() && !entry.takes_keys) {
    throw usage_error("loss: --keys: '{}' compares rows of a batch with each other and takes no keys; leave it out", entry.name);
  }
  for (const auto& [flag, path] : {std::pair("--key-labels", files.key_labels), std::pair("--key-ids", files.key_ids)}) {
    if (!path.empty() && files.keys.empty()) throw usage_error("loss: {} belongs to keys, and none are given; add --keys k.npy", flag);
  }
  if (!files.key_ids.empty() && files.ids.empty()) {
    throw usage_error("loss: --key-ids are compared with the samples' own ids, and none are given; add --ids i.npy");
  }
  if (entry.needs_labels && files.labels.empty()) {
    throw usage_error("loss: '{}' needs labels; give --labels y.npy", entry.name);
  }
  if (entry.needs_bias && files.bias.empty()) throw usage_error("loss: '{}' needs bias labels; give --bias b.npy", entry.name);
}

LossInput read_loss_input(const LossFiles& files, InputKind kind) {
  LossInput read;
  ObjectiveInput& input = read.input;
  input.z = read_embeddings(files.embeddings, kind);
  read.file_shape = input.z.sizes().vec();
  if (input.z.dim() == 2 && kind != InputKind::kLogits) input.z = input.z.unsqueeze(1);
  if (const int64_t row = first_of(input.z.isfinite().all(-1).logical_not()); row >= 0) {
    throw data_error("{}: the row of {} is not finite; remove or repair it", files.embeddings, row_name(input.z, row));
  }
  input.labels = read_integers(files.labels, input.z, "labels");
  input.bias = read_integers(files.bias, input.z, "bias labels");
  input.samples = read_integers(files.ids, input.z, "ids");
  input.keys = read_keys(files.keys, input.z);
  if (input.keys.defined()) {
    input.key_labels = read_integers(files.key_labels, input.keys, "labels", "keys");
    input.key_samples = read_integers(files.key_ids, input.keys, "ids", "keys");
  }
  input.weights = read_weights(files.weights, input.z);
  input.prior = read_prior(files.prior);
  return read;
}

void assert_unit_rows(const at::Tensor& z, const std::string& path) {
  const at::Tensor norms = at::linalg_vector_norm(z, 2, at::IntArrayRef{-1}, false, at::kDouble);
  const int64_t row = first_of((norms - 1).abs().gt(1e-4));
  if (row < 0) return;
  throw data_error("{}: {} has norm {:.6g}, --normalize assert asks for 1 within 1e-4; normalize the rows or give --normalize true", path,
                   row_name(z, row), norms.flatten()[row].item<double>());
}

at::Tensor normalized_rows(const at::Tensor& z) { return NormalizedRows::apply(z); }

void write_loss_outputs(const LossEvaluation& evaluation, const LossOutputs& files, const std::vector<int64_t>& shape) {
  if (!files.gradient.empty()) {
    const at::Tensor gradient = evaluation.gradient.cpu().contiguous();
    const DType dtype = gradient.scalar_type() == at::kDouble ? DType::kFloat64 : DType::kFloat32;
    write_npy(files.gradient, dtype, shape, gradient.data_ptr());
  }
  if (!files.per_anchor.empty()) {
    const at::Tensor losses = evaluation.result.per_anchor.to(at::kCPU, at::kDouble).contiguous();
    write_npy(files.per_anchor, DType::kFloat64, losses.sizes().vec(), losses.data_ptr());
  }
}

nlohmann::ordered_json loss_json(const LossEvaluation& evaluation, const LossRun& run) {
  const ObjectiveResult& result = evaluation.result;
  nlohmann::ordered_json out = {{"objective", run.name},
                                {"loss", result.value.item<double>()},
                                {"anchors", result.anchors},
                                {"anchors_used", static_cast<int64_t>(result.anchors_used)},
                                {"clamped", static_cast<int64_t>(result.clamped)},
                                {"min_estimate", nullptr},
                                {"engine", run.engine},
                                {"precision", enum_name(run.precision)},
                                {"device", run.device},
                                {"seconds_forward", evaluation.seconds_forward},
                                {"seconds_backward", evaluation.seconds_backward},
                                {"peak_bytes", evaluation.peak_bytes}};
  if (result.min_estimate) out["min_estimate"] = result.min_estimate->value();
  if (result.effective_sample_size) out["effective_sample_size"] = result.effective_sample_size->value();
  if (!result.mode.empty()) out["mode"] = result.mode;
  return out;
}

std::string loss_text(const LossEvaluation& evaluation, const LossRun& run) {
  std::string text;
  const ObjectiveResult& result = evaluation.result;
  const std::string mode = result.mode.empty() ? "" : fmt::format("mode {}, ", result.mode);
  text += fmt::format("objective       {} ({}{}, {}, {})\n", run.name, mode, run.engine, enum_name(run.precision), run.device);
  text += fmt::format("loss            {:.9g}\n", result.value.item<double>());
  const std::string of = result.clamped_of() == result.anchors ? "" : fmt::format(" of {}", result.clamped_of());
  text += fmt::format("anchors         {}, {} used, {}{} clamped\n", result.anchors, static_cast<int64_t>(result.anchors_used),
                      static_cast<int64_t>(result.clamped), of);
  if (result.min_estimate) text += fmt::format("min estimate    {:.9g}\n", result.min_estimate->value());
  if (result.effective_sample_size) text += fmt::format("effective N     {:.6g}\n", result.effective_sample_size->value());
  text += fmt::format("seconds         {:.3g} forward, {:.3g} backward\n", evaluation.seconds_forward, evaluation.seconds_backward);
  text += fmt::format("peak memory     {:.3g} MB beyond the input\n", static_cast<double>(evaluation.peak_bytes) / 1e6);
  return text;
}

}  // namespace debias

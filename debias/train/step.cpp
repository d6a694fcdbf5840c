#include "debias/train/step.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <string_view>

#include "debias/core/error.h"
#include "debias/losses/cross_entropy.h"
#include "debias/train/unit_rows.h"

namespace debias {
namespace {

at::Tensor integers(const std::vector<int64_t>& values, const c10::Device& device) {
  return at::tensor(values, at::TensorOptions().dtype(at::kLong)).to(device);
}

// "Same sample" means the same visit: a sampler with replacement may bring an image twice into a batch.
std::vector<int64_t> sample_keys(const Batch& batch) {
  std::vector<int64_t> keys(batch.ids.size());
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = batch.ids[i] * kMaxOccurrences + batch.occurrences[i];
  return keys;
}

// Buffers as they were, put back unless keep() was called.
class BufferGuard {
 public:
  explicit BufferGuard(const Model& model) {
    for (const torch::nn::Module* module :
         {static_cast<const torch::nn::Module*>(model.encoder.get()), static_cast<const torch::nn::Module*>(model.head.get())}) {
      for (const auto& buffer : module->buffers()) {
        buffers_.push_back(buffer);
        saved_.push_back(buffer.detach().clone());
      }
    }
  }
  ~BufferGuard() {
    if (!kept_) restore();
  }
  void restore() {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].copy_(saved_[i]);
  }
  void keep() { kept_ = true; }

 private:
  std::vector<at::Tensor> buffers_, saved_;
  bool kept_ = false;
};

// A batch without a pair to compare can leave a constant.
void backward(const at::Tensor& loss) {
  if (loss.requires_grad()) loss.backward();
}

// In these words a factor is refused that does not fit into the type of a tensor.
constexpr std::string_view kOverflow = "without overflow";

std::string bad_samples(const at::Tensor& rows, const std::vector<int64_t>& ids) {  // rows: [B, ...]
  const at::Tensor bad = at::logical_not(at::isfinite(rows.detach()).flatten(1).all(1)).nonzero().flatten().cpu();
  std::vector<int64_t> names;
  for (int64_t i = 0; i < std::min<int64_t>(bad.numel(), 8); ++i) names.push_back(ids[bad[i].item<int64_t>()]);
  return fmt::format("{}{}", fmt::join(names, ", "), bad.numel() > 8 ? fmt::format(", ... ({} in all)", bad.numel()) : "");
}

}  // namespace

// `total` is what the backward pass starts from: the loss, and beside it the cross-entropy of a probe.
struct Step::Evaluated {
  at::Tensor total;
  at::Tensor logits;  // [V*B, C], undefined without a classifier
  StepReport report;

  void add(const at::Tensor& value) { total = total.defined() ? total + value : value; }
};

Step::Step(Model model, std::vector<Term> terms, const Optimizers& optimizers, ForwardOptions forward_options,
           std::optional<int64_t> micro_batch, Precision loss_precision)
    : model_(std::move(model)),
      terms_(std::move(terms)),
      optimizers_(optimizers),
      forward_(forward_options),
      micro_batch_(micro_batch),
      loss_precision_(loss_precision) {}

void Step::begin_epoch(int64_t epoch) {
  for (auto& term : terms_) term.begin_epoch(epoch);
}

std::vector<std::string> Step::take_estimates(int64_t finished_epochs, const Metrics& metrics) {
  std::vector<std::string> notes;
  for (auto& term : terms_) {
    for (auto& note : term.take_estimates(finished_epochs, metrics)) notes.push_back(std::move(note));
  }
  return notes;
}

std::map<std::string, double> Step::estimates() const {
  std::map<std::string, double> all;
  for (const auto& term : terms_) {
    for (const auto& [option, value] : term.estimates()) all[term.label() + "." + option] = value;
  }
  return all;
}

void Step::restore_estimates(const std::map<std::string, double>& estimates) {
  for (auto& term : terms_) {
    std::map<std::string, double> own;
    const std::string prefix = term.label() + ".";
    for (const auto& [name, value] : estimates) {
      if (name.starts_with(prefix)) own[name.substr(prefix.size())] = value;
    }
    term.restore_estimates(std::move(own));
  }
}

std::vector<std::string> Step::labels() const {
  std::vector<std::string> labels;
  for (const auto& term : terms_) labels.push_back(term.label());
  return labels;
}

Metrics Step::scheduled() const {
  Metrics values;
  for (const auto& term : terms_) {
    for (const auto& [option, value] : term.scheduled()) values.emplace_back(term.label() + "." + option, value);
  }
  return values;
}

Step::Evaluated Step::evaluate(const ModelOutput& output, const Batch& batch) const {
  const int64_t B = output.features.size(0), V = output.features.size(1);
  const at::Tensor labels = integers(batch.labels, forward_.device), bias = integers(batch.biases, forward_.device);
  const at::Tensor samples = integers(sample_keys(batch), forward_.device);
  Evaluated result;
  if (model_.classifier != nullptr) result.logits = model_.classifier->logits(output.features);
  for (const auto& term : terms_) {
    const int64_t repeats = term.on_logits_as_they_are() ? V : 1;  // every view is a row of its own there
    ObjectiveInput input;
    if (term.has_labels()) input.labels = labels.repeat({repeats});
    if (term.has_bias()) input.bias = bias.repeat({repeats});
    if (term.on_logits_as_they_are()) {
      input.z = result.logits;
    } else {
      input.z = unit_rows(term.on() == TermInput::kProjection ? output.projection
                          : term.on() == TermInput::kEncoder  ? output.features
                                                              : result.logits.view({V, B, -1}).transpose(0, 1));
      input.samples = samples;
    }
    if (term.bias_features().defined()) {
      input.weights = term.bias_features().index_select(0, integers(batch.ids, c10::kCPU)).to(forward_.device);
    }
    input.prior = term.prior();
    input.bfloat16_products = loss_precision_ == Precision::kBf16;
    const ObjectiveResult found = term.objective()(input);
    result.add(found.value * term.weight());
    const auto size = found.effective_sample_size;
    result.report.evidence.terms.push_back({.steps = 1,
                                            .loss_sum = found.value.item<double>(),
                                            .anchors = found.anchors,
                                            .clamped = found.clamped,
                                            .min_estimate = found.min_estimate,
                                            .sample_size_steps = size ? 1 : 0,
                                            .sample_size_sum = size.value_or(0)});
  }
  result.report.loss = result.total.item<double>();
  if (model_.classifier != nullptr) train_classifier(labels.repeat({V}), result);
  return result;
}

void Step::train_classifier(const torch::Tensor& labels, Evaluated& result) const {
  ClassifierEvidence& evidence = result.report.evidence.classifier;
  const at::Tensor known = labels.ge(0);
  evidence.rows = known.sum().item<int64_t>();
  evidence.correct = result.logits.detach().argmax(1).eq(labels).logical_and(known).sum().item<int64_t>();
  const bool has_term = std::any_of(terms_.begin(), terms_.end(), [](const Term& term) { return term.on() == TermInput::kLogits; });
  if (has_term) return;
  const at::Tensor loss = cross_entropy(result.logits, labels).value;
  evidence.loss_steps = 1;
  evidence.loss_sum = loss.item<double>();
  if (model_.classifier->flows()) result.report.loss += evidence.loss_sum;
  result.add(loss);
}

void Step::check_finite(const ModelOutput& output, const Batch& batch, const Evaluated& evaluated) const {
  const double loss = evaluated.total.item<double>();  // an objective need not carry a NaN of its rows into its value
  if (std::isfinite(loss) && at::isfinite(output.features).all().item<bool>() && at::isfinite(output.projection).all().item<bool>()) return;
  const int64_t V = output.features.size(1);
  for (const auto& [name, rows] :
       {std::pair<const char*, at::Tensor>{"images", batch.images.transpose(0, 1)},
        {"features", output.features},
        {"projection", output.projection},
        {"logits", evaluated.logits.defined() ? evaluated.logits.unflatten(0, {V, -1}).transpose(0, 1) : at::Tensor()}}) {
    if (!rows.defined() || at::isfinite(rows).all().item<bool>()) continue;
    throw numeric_error("the loss is {}: tensor '{}' is not finite for samples {}", loss, name, bad_samples(rows, batch.ids));
  }
  throw numeric_error("the loss is {}: tensor 'loss' is not finite though the projection is, for samples {}{}", loss,
                      fmt::join(batch.ids.begin(), batch.ids.begin() + std::min<size_t>(batch.ids.size(), 8), ", "),
                      batch.ids.size() > 8 ? ", ..." : "");
}

void Step::backward_in_parts(const Batch& batch, StepReport& report) {
  const int64_t B = batch.images.size(1);
  BufferGuard buffers(model_);
  std::vector<ModelOutput> parts;
  {
    const at::NoGradGuard no_grad;
    for (int64_t begin = 0; begin < B; begin += *micro_batch_) {
      parts.push_back(forward(model_, batch.images.slice(1, begin, std::min(begin + *micro_batch_, B)), forward_));
    }
  }
  ModelOutput whole;
  std::vector<at::Tensor> features, projections;
  for (const auto& part : parts) {
    features.push_back(part.features);
    projections.push_back(part.projection);
  }
  whole.features = at::cat(features, 0).requires_grad_();
  whole.projection = at::cat(projections, 0).requires_grad_();
  const Evaluated evaluated = evaluate(whole, batch);
  report = evaluated.report;
  check_finite(whole, batch, evaluated);
  backward(evaluated.total);
  buffers.restore();
  for (int64_t begin = 0; begin < B; begin += *micro_batch_) {
    const int64_t end = std::min(begin + *micro_batch_, B);
    const ModelOutput part = forward(model_, batch.images.slice(1, begin, end), forward_);
    std::vector<at::Tensor> outputs, gradients;
    const auto add = [&](const at::Tensor& output, const at::Tensor& gradient) {
      if (!gradient.defined() || !output.requires_grad()) return;
      outputs.push_back(output);
      gradients.push_back(gradient.slice(0, begin, end));
    };
    add(part.projection, whole.projection.grad());
    add(part.features, whole.features.grad());
    at::Tensor surrogate;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const at::Tensor sum = (outputs[i] * gradients[i]).sum();
      surrogate = surrogate.defined() ? surrogate + sum : sum;
    }
    if (surrogate.defined()) surrogate.backward();
  }
  buffers.keep();
}

StepReport Step::run(const Batch& batch, int64_t step) {
  StepReport report;
  BufferGuard buffers(model_);
  try {
    optimizers_.zero_grad();
    if (micro_batch_ && *micro_batch_ < batch.images.size(1)) {
      backward_in_parts(batch, report);
    } else {
      const ModelOutput output = forward(model_, batch.images, forward_);
      const Evaluated evaluated = evaluate(output, batch);
      report = evaluated.report;
      check_finite(output, batch, evaluated);
      backward(evaluated.total);
    }
    std::vector<at::Tensor> norms;
    for (const auto& [name, parameter] : model_.named_parameters()) {
      if (parameter.grad().defined()) norms.push_back(at::linalg_vector_norm(parameter.grad()));
    }
    report.grad_norm = norms.empty() ? 0.0 : at::linalg_vector_norm(at::stack(norms)).item<double>();
    if (!std::isfinite(report.grad_norm)) {
      for (const auto& [name, parameter] : model_.named_parameters()) {
        if (!parameter.grad().defined() || at::isfinite(parameter.grad()).all().item<bool>()) continue;
        throw numeric_error("the loss is {}, but the gradient of tensor '{}' is not finite for samples {}{}", report.loss, name,
                            fmt::join(batch.ids.begin(), batch.ids.begin() + std::min<size_t>(batch.ids.size(), 8), ", "),
                            batch.ids.size() > 8 ? ", ..." : "");
      }
      throw numeric_error("the loss is {}, but the norm of the gradient overflows", report.loss);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNumeric) throw;
    throw numeric_error(
        "training stopped at step {} (epoch {}, batch {}): {}; no parameter was changed; lower the learning rate or raise the "
        "temperature",
        step, batch.epoch + 1, batch.number, error.what());
  }
  buffers.keep();
  try {
    optimizers_.step();
  } catch (const std::exception& error) {
    if (std::string_view(error.what()).find(kOverflow) == std::string_view::npos) throw;
    throw numeric_error(
        "training stopped at step {} (epoch {}, batch {}): the optimizer's step does not fit into a 32-bit number; lower the learning rate "
        "or the weight decay",
        step, batch.epoch + 1, batch.number);
  }
  return report;
}

}  // namespace debias

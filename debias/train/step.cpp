#include "debias/train/step.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"
#include "debias/core/registry.h"

namespace debias {
namespace {

at::Tensor normalized(const at::Tensor& rows) { return rows / at::clamp_min(at::linalg_vector_norm(rows, 2, {-1}, true), 1e-12); }

at::Tensor integers(const std::vector<int64_t>& values, const c10::Device& device) {
  return at::tensor(values, at::TensorOptions().dtype(at::kLong)).to(device);
}

// "Same sample" means the same visit: a sampler with replacement may bring an image twice into a batch.
std::vector<int64_t> sample_keys(const Batch& batch) {
  constexpr int64_t kMaxOccurrences = 1 << 20;
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

std::string bad_samples(const at::Tensor& rows, const std::vector<int64_t>& ids) {  // rows: [B, ...]
  const at::Tensor bad = at::logical_not(at::isfinite(rows.detach()).flatten(1).all(1)).nonzero().flatten().cpu();
  std::vector<int64_t> names;
  for (int64_t i = 0; i < std::min<int64_t>(bad.numel(), 8); ++i) names.push_back(ids[bad[i].item<int64_t>()]);
  return fmt::format("{}{}", fmt::join(names, ", "), bad.numel() > 8 ? fmt::format(", ... ({} in all)", bad.numel()) : "");
}

}  // namespace

struct Step::Evaluated {
  at::Tensor loss;
  StepReport report;
};

std::vector<Term> make_terms(const Recipe& recipe) {
  std::vector<std::string> others = TermOptions::table().names();
  others.push_back("name");
  std::vector<Term> terms;
  for (const auto& written : recipe.objective) {
    const auto& entry = find_entry(objective_registry(), written.name, "objective", written.section.prefix());
    if (recipe.views.count() < entry.min_views) {
      throw usage_error("{}objective '{}' needs at least {} views of each image, views.count is {}", written.section.prefix(), entry.name,
                        entry.min_views, recipe.views.count());
    }
    terms.push_back({entry.name, written.options, std::shared_ptr<Objective>(entry.make(written.section, others))});
  }
  return terms;
}

Step::Step(Model model, std::vector<Term> terms, torch::optim::Optimizer& optimizer, ForwardOptions forward_options,
           std::optional<int64_t> micro_batch)
    : model_(std::move(model)), terms_(std::move(terms)), optimizer_(optimizer), forward_(forward_options), micro_batch_(micro_batch) {}

Step::Evaluated Step::evaluate(const ModelOutput& output, const Batch& batch) const {
  Evaluated result;
  ObjectiveInput input;
  input.labels = integers(batch.labels, forward_.device);
  input.bias = integers(batch.biases, forward_.device);
  input.samples = integers(sample_keys(batch), forward_.device);
  for (const auto& term : terms_) {
    input.z = normalized(term.options.on() == TermInput::kProjection ? output.projection : output.features);
    const ObjectiveResult term_result = (*term.objective)(input);
    const at::Tensor weighted = term_result.value * term.options.weight();
    result.loss = result.loss.defined() ? result.loss + weighted : weighted;
    result.report.anchors += term_result.anchors;
    result.report.clamped += term_result.clamped;
    if (term_result.min_estimate) {
      result.report.min_estimate = std::min(result.report.min_estimate.value_or(INFINITY), *term_result.min_estimate);
    }
  }
  result.report.loss = result.loss.item<double>();
  return result;
}

void Step::check_finite(const ModelOutput& output, const Batch& batch, double loss) const {
  if (std::isfinite(loss)) return;
  for (const auto& [name, rows] : {std::pair<const char*, at::Tensor>{"images", batch.images.transpose(0, 1)},
                                   {"features", output.features},
                                   {"projection", output.projection}}) {
    if (at::isfinite(rows).all().item<bool>()) continue;
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
  check_finite(whole, batch, report.loss);
  evaluated.loss.backward();
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
    surrogate.backward();
  }
  buffers.keep();
}

StepReport Step::run(const Batch& batch, int64_t step) {
  StepReport report;
  BufferGuard buffers(model_);
  try {
    optimizer_.zero_grad();
    if (micro_batch_ && *micro_batch_ < batch.images.size(1)) {
      backward_in_parts(batch, report);
    } else {
      const ModelOutput output = forward(model_, batch.images, forward_);
      const Evaluated evaluated = evaluate(output, batch);
      report = evaluated.report;
      check_finite(output, batch, report.loss);
      evaluated.loss.backward();
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
  optimizer_.step();
  return report;
}

}  // namespace debias

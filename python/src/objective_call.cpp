#include "python/src/objective_call.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/registry.h"

namespace debias {
namespace {

const ObjectiveEntry& entry_of(std::string_view name) { return find_entry(objective_registry(), name, "objective"); }

// An objective with its options, and what the shapes of its results depend on.
struct ReadObjective {
  std::unique_ptr<const Objective> objective;
  nlohmann::ordered_json options;  // every one written out
  bool groups_views = false;       // views beyond the second are positives and not anchors
};

ReadObjective read_objective(const ObjectiveEntry& entry, std::string_view options) {
  const auto json = nlohmann::ordered_json::parse(options, nullptr, false);
  if (!json.is_object()) throw usage_error("objective '{}': expected options as a JSON object, found {}", entry.name, options);
  ReadObjective read{entry.make(config_from_json(json), {}), {}};
  read.options = read.objective->config().to_json();
  read.groups_views = read.options.value("aggregation", "") == "grouping";
  return read;
}

// Each pair of a name and options is read once, and found again by later calls of any thread. A schedule of an option makes a new pair a
// step, so that they are forgotten now and then.
std::shared_ptr<const ReadObjective> objective_of(const ObjectiveEntry& entry, std::string_view options) {
  constexpr size_t kKept = 256;
  static std::mutex mutex;
  static std::unordered_map<std::string, std::shared_ptr<const ReadObjective>> all;
  std::string key = entry.name + '\n';
  key += options;
  {
    const std::scoped_lock lock(mutex);
    if (const auto found = all.find(key); found != all.end()) return found->second;
  }
  auto read = std::make_shared<const ReadObjective>(read_objective(entry, options));
  const std::scoped_lock lock(mutex);
  if (all.size() >= kKept) all.clear();
  return all.emplace(std::move(key), std::move(read)).first->second;
}

at::ScalarType computed_type(const at::Tensor& z) { return z.scalar_type() == at::kDouble ? at::kDouble : at::kFloat; }

bool normalizes(const ObjectiveEntry& entry, const ObjectiveCall& call) { return call.normalize && entry.kind != InputKind::kLogits; }

// A zero row stays zero and has a finite gradient.
at::Tensor row_norms(const at::Tensor& z) { return at::linalg_vector_norm(z, 2, at::IntArrayRef{-1}, true).clamp_min(1e-12); }

// [N, D] is one view; for logits it is what the objective takes.
at::Tensor rows_of(const at::Tensor& z, const ObjectiveEntry& entry) {
  if (!z.is_floating_point()) {
    throw data_error("{}: expected floating-point embeddings, found {}", entry.name, c10::toString(z.scalar_type()));
  }
  const at::Tensor rows = z.to(computed_type(z));
  return rows.dim() == 2 && entry.kind != InputKind::kLogits ? rows.unsqueeze(1) : rows;
}

at::Tensor unit(const at::Tensor& rows) { return rows / row_norms(rows); }

// Rows to compare with, in the precision of z and divided by their norms as z is.
at::Tensor compared(const at::Tensor& rows, const at::Tensor& z, bool normalize) {
  if (!rows.defined() || !rows.is_floating_point()) return rows;
  const at::Tensor own = rows.to(computed_type(z));
  return normalize ? unit(own) : own;
}

// `rows` are those of `z` in the precision that objectives compute in, keys and positives as they are to be compared.
ObjectiveResult computed(const at::Tensor& rows, const at::Tensor& z, const at::Tensor& keys, const at::Tensor& positives,
                         const ObjectiveEntry& entry, const ObjectiveCall& call) {
  if (call.input.engine == Engine::kFused && !has_fused_engine(entry)) {
    throw usage_error("objective '{}' has no fused backend, only the dense one; give engine dense or auto", entry.name);
  }
  ObjectiveInput input = call.input;
  input.z = rows;
  input.keys = keys;
  input.positives = positives;
  input.bfloat16_products = z.scalar_type() == at::kBFloat16;
  return (*objective_of(entry, call.options)->objective)(input);
}

ObjectiveValue with_diagnostics(const ObjectiveResult& result) {
  const double none = std::numeric_limits<double>::infinity();
  std::vector<const LateNumber*> late = {&result.anchors_used, &result.clamped};
  if (result.min_estimate) late.push_back(&*result.min_estimate);
  if (result.effective_sample_size) late.push_back(&*result.effective_sample_size);
  LateNumber::read(late);
  const std::array<double, 6> numbers = {static_cast<double>(result.anchors),
                                         result.anchors_used.value(),
                                         result.clamped.value(),
                                         result.min_estimate.value_or(none).value(),
                                         result.effective_sample_size.value_or(none).value(),
                                         static_cast<double>(result.engine)};
  return {result.value, result.per_anchor, at::tensor(numbers, at::kDouble).to(result.value.device())};
}

// Inside an operator autograd may be switched off and autocast on; the objectives build a graph of their own, in their own precision.
class OwnGraph {
 public:
  explicit OwnGraph(bool with_gradient) : grad_(with_gradient), keys_(without_autocast()) {}

 private:
  static c10::impl::LocalDispatchKeySet without_autocast() {
    auto keys = c10::impl::tls_local_dispatch_key_set();
    keys.excluded_ = (keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView) | c10::autocast_dispatch_keyset;
    return keys;
  }
  at::AutoGradMode grad_;
  c10::impl::ForceDispatchKeyGuard keys_;
};

}  // namespace

ObjectiveValue evaluated(const at::Tensor& z, const ObjectiveCall& call) {
  const ObjectiveEntry& entry = entry_of(call.name);
  const bool normalize = normalizes(entry, call);
  const at::Tensor rows = rows_of(z, entry);
  return with_diagnostics(computed(normalize ? unit(rows) : rows, z, compared(call.input.keys, z, normalize),
                                   compared(call.input.positives, z, normalize), entry, call));
}

ObjectiveGradient evaluated_with_gradient(const at::Tensor& z, const ObjectiveCall& call, const Wanted& wanted,
                                          const at::Tensor& of_losses) {
  const OwnGraph own(wanted.any());
  const ObjectiveEntry& entry = entry_of(call.name);
  const bool normalize = normalizes(entry, call);
  at::Tensor rows = rows_of(z.detach(), entry), norms;
  if (normalize) {
    norms = row_norms(rows);
    rows = rows / norms;
  }
  const auto leaf = [](const at::Tensor& tensor, bool asked) {
    if (!tensor.defined()) return tensor;
    return asked ? tensor.detach().requires_grad_(true) : tensor.detach();
  };
  rows = leaf(rows, wanted.z);
  const at::Tensor keys = leaf(call.input.keys, wanted.keys), positives = leaf(call.input.positives, wanted.positives);
  ObjectiveGradient out;
  out.result = with_diagnostics(computed(rows, z, compared(keys, z, normalize), compared(positives, z, normalize), entry, call));
  for (at::Tensor* gradient :
       {&out.gradient, &out.keys_gradient, &out.positives_gradient}) {  // three: outputs of an operator share nothing
    *gradient = at::empty({0}, out.result.value.options().requires_grad(false));
  }
  if (!wanted.any()) return out;
  std::vector<at::Tensor> leaves;
  for (const auto& [tensor, asked] : {std::pair(rows, wanted.z), std::pair(keys, wanted.keys), std::pair(positives, wanted.positives)}) {
    if (asked) leaves.push_back(tensor);
  }
  const at::Tensor losses = out.result.per_anchor;
  // Anchors left out of the mean have no gradient, whatever is asked of them.
  const at::Tensor wanted_of = of_losses.defined() ? of_losses.where(losses.detach().isnan().logical_not(), 0) : at::Tensor();
  auto gradients = of_losses.defined() ? torch::autograd::grad({losses}, leaves, {wanted_of}, false, false, true)
                                       : torch::autograd::grad({out.result.value}, leaves, {}, false, false, true);
  out.result.value = out.result.value.detach();
  out.result.per_anchor = losses.detach();
  const at::NoGradGuard no_graph;
  size_t next = 0;
  const auto taken = [&](const at::Tensor& of) {
    at::Tensor gradient = gradients[next++];
    // Laid out as shapes_of says, whatever the views' order inside: torch 2.15 compares strides.
    return gradient.defined() ? gradient.to(out.result.value.scalar_type()).contiguous()
                              : at::zeros(of.sizes(), out.result.value.options());
  };
  if (wanted.z) {
    rows = rows.detach();
    out.gradient = taken(rows);
    if (norms.defined())
      out.gradient = at::addcmul(out.gradient, rows, at::linalg_vecdot(rows, out.gradient).unsqueeze(-1), -1).div_(norms);
    out.gradient = out.gradient.reshape(z.sizes()).contiguous();
  }
  if (wanted.keys) out.keys_gradient = taken(keys);
  if (wanted.positives) out.positives_gradient = taken(positives);
  return out;
}

ObjectiveGradient shapes_of(const at::Tensor& z, const ObjectiveCall& call, const Wanted& wanted) {
  const ObjectiveEntry& entry = entry_of(call.name);
  const auto options = z.options().dtype(computed_type(z));
  c10::SymInt anchors = z.sym_size(0);
  if (entry.kind != InputKind::kLogits && z.dim() == 3) {
    const bool grouped = objective_of(entry, call.options)->groups_views && !call.input.keys.defined();
    anchors = anchors * (grouped ? c10::SymInt(2) : z.sym_size(1));
  }
  ObjectiveGradient out;
  out.result = {at::empty({}, options), at::empty_symint({anchors}, options), at::empty({6}, options.dtype(at::kDouble))};
  const auto like = [&](const at::Tensor& tensor, bool asked) {
    return asked ? at::empty_symint(tensor.sym_sizes(), options) : at::empty({0}, options);
  };
  out.gradient = like(z, wanted.z);
  out.keys_gradient = like(call.input.keys, wanted.keys);
  out.positives_gradient = like(call.input.positives, wanted.positives);
  return out;
}

std::string objective_table() {
  static constexpr std::array<std::string_view, 3> kinds = {"pairs", "regulariser", "logits"};
  auto table = nlohmann::ordered_json::array();
  for (const auto& entry : objective_registry()) {
    nlohmann::ordered_json item = {{"name", entry.name},
                                   {"aliases", entry.aliases},
                                   {"summary", entry.summary},
                                   {"kind", kinds[static_cast<size_t>(entry.kind)]},
                                   {"min_views", entry.min_views},
                                   {"needs_labels", entry.needs_labels},
                                   {"needs_bias", entry.needs_bias},
                                   {"takes_keys", entry.takes_keys},
                                   {"takes_bias_features", entry.takes_bias_features},
                                   {"takes_prior", entry.takes_prior},
                                   {"fused", has_fused_engine(entry)},
                                   {"options", nlohmann::ordered_json::array()}};
    for (const auto& spec : entry.options) item["options"].push_back(option_json(spec));
    table.push_back(std::move(item));
  }
  return table.dump();
}

std::string resolved_options(std::string_view name, std::string_view options) {
  return objective_of(entry_of(name), options)->options.dump();
}

}  // namespace debias

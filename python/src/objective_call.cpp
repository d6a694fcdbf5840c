#include "python/src/objective_call.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>
#include <limits>
#include <memory>
#include <tuple>

#include "debias/core/error.h"
#include "debias/core/registry.h"

namespace debias {
namespace {

const ObjectiveEntry& entry_of(std::string_view name) { return find_entry(objective_registry(), name, "objective"); }

std::unique_ptr<Objective> made(const ObjectiveEntry& entry, std::string_view options) {
  const auto json = nlohmann::ordered_json::parse(options, nullptr, false);
  if (!json.is_object()) throw usage_error("objective '{}': expected options as a JSON object, found {}", entry.name, options);
  return entry.make(config_from_json(json), {});
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

// `rows` are those of `z` in the precision that objectives compute in.
ObjectiveResult computed(const at::Tensor& rows, const at::Tensor& z, const ObjectiveEntry& entry, const ObjectiveCall& call) {
  if (call.input.engine == Engine::kFused && !has_fused_engine(entry)) {
    throw usage_error("objective '{}' has no fused engine, only the dense composition; give engine dense or auto", entry.name);
  }
  ObjectiveInput input = call.input;
  input.z = rows;
  input.bfloat16_products = z.scalar_type() == at::kBFloat16;
  return (*made(entry, call.options))(input);
}

ObjectiveValue with_evidence(const ObjectiveResult& result) {
  const double none = std::numeric_limits<double>::infinity();
  const std::array<double, 6> numbers = {static_cast<double>(result.anchors),         static_cast<double>(result.anchors_used),
                                         static_cast<double>(result.clamped),         result.min_estimate.value_or(none),
                                         result.effective_sample_size.value_or(none), result.fused() ? 1.0 : 0.0};
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
  const at::Tensor rows = rows_of(z, entry);
  return with_evidence(computed(normalizes(entry, call) ? rows / row_norms(rows) : rows, z, entry, call));
}

ObjectiveGradient evaluated_with_gradient(const at::Tensor& z, const ObjectiveCall& call, bool with_gradient) {
  const OwnGraph own(with_gradient);
  const ObjectiveEntry& entry = entry_of(call.name);
  at::Tensor rows = rows_of(z.detach(), entry), norms;
  if (normalizes(entry, call)) {
    norms = row_norms(rows);
    rows = rows / norms;
  }
  if (with_gradient) rows = rows.detach().requires_grad_(true);
  ObjectiveGradient out;
  out.result = with_evidence(computed(rows, z, entry, call));
  if (!with_gradient) {
    out.gradient = at::empty({0}, out.result.value.options());
    return out;
  }
  out.gradient = torch::autograd::grad({out.result.value}, {rows}, {}, false, false, true)[0];
  out.result.value = out.result.value.detach();
  const at::NoGradGuard no_graph;
  rows = rows.detach();
  if (!out.gradient.defined()) out.gradient = at::zeros_like(rows);
  if (norms.defined()) out.gradient = at::addcmul(out.gradient, rows, at::linalg_vecdot(rows, out.gradient).unsqueeze(-1), -1).div_(norms);
  out.gradient = out.gradient.reshape(z.sizes());
  return out;
}

ObjectiveGradient shapes_of(const at::Tensor& z, const ObjectiveCall& call, bool with_gradient) {
  const ObjectiveEntry& entry = entry_of(call.name);
  const auto options = z.options().dtype(computed_type(z));
  c10::SymInt anchors = z.sym_size(0);
  if (entry.kind != InputKind::kLogits && z.dim() == 3) {
    const Config config = made(entry, call.options)->config();
    const Config* aggregation = config.find("aggregation");
    // Under grouping, views beyond the second are positives and not anchors.
    const bool grouped = aggregation != nullptr && aggregation->text() == "grouping";
    anchors = anchors * (grouped ? c10::SymInt(2) : z.sym_size(1));
  }
  ObjectiveGradient out;
  out.result = {at::empty({}, options), at::empty_symint({anchors}, options), at::empty({6}, options.dtype(at::kDouble))};
  out.gradient = with_gradient ? at::empty_symint(z.sym_sizes(), options) : at::empty({0}, options);
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
                                   {"fused", has_fused_engine(entry)},
                                   {"options", nlohmann::ordered_json::array()}};
    for (const auto& spec : entry.options) item["options"].push_back(option_json(spec));
    table.push_back(std::move(item));
  }
  return table.dump();
}

std::string resolved_options(std::string_view name, std::string_view options) {
  return made(entry_of(name), options)->config().to_json().dump();
}

}  // namespace debias

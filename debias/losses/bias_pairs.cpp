#include "debias/losses/bias_pairs.h"

#include <ATen/ATen.h>

#include <vector>

#include "debias/core/error.h"
#include "debias/losses/comparison.h"
#include "debias/losses/objective_entry.h"

namespace debias {

at::Tensor unit_bias_features(const ObjectiveInput& input, const char* objective) {
  const at::Tensor& g = input.weights;
  if (g.dim() != 2 || g.size(0) != input.z.size(0) || !g.is_floating_point()) {
    throw data_error("{}: weights: expected floating-point bias features of shape [{}, F], one row per sample, found {} of shape {}",
                     objective, input.z.size(0), c10::toString(g.scalar_type()), c10::str(g.sizes()));
  }
  const at::Tensor wide = g.detach().to(input.z.device(), at::kDouble), norms = at::linalg_vector_norm(wide, 2, at::IntArrayRef{-1}, true);
  if (const at::Tensor bad = norms.gt(0).logical_and(norms.isfinite()).logical_not().flatten().nonzero(); bad.size(0) > 0) {
    throw data_error("{}: weights: the row of sample {} is zero or not finite and has no direction", objective, bad[0][0].item<int64_t>());
  }
  return wide / norms;
}

namespace {

at::Tensor numbered(const at::Tensor& keys) { return std::get<1>(at::_unique(keys, true, true)); }

// One group for each pair of a known label and a known bias, one for each other sample.
at::Tensor aligned_groups(const PairKeys& keys) {
  const at::Tensor bias = numbered(keys.bias), both = numbered(keys.label) * (bias.max() + 1) + bias;
  return class_groups(both.where(keys.label.ge(0).logical_and(keys.bias.ge(0)), -1), keys.sample);
}

}  // namespace

void BiasConOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o.with_variants();
}

ObjectiveResult BiasConOptions::loss(const ObjectiveInput& input) const {
  refuse_keys(input, kName);
  require_labels(input, kName, "the choice of positives");
  if (!input.bias.defined()) throw usage_error("{}: needs bias labels, one for each sample; none were given", kName);
  const Classes rows = classes_of(input, temperature, kName);
  // The class's sum minus the aligned rows' sum, linear in n; in double, since a few conflicting rows may be what is left of many.
  Rows same_class = rows.pairs;
  same_class.anchors = rows.pairs.anchors.to(at::kDouble);
  if (same_class.engine == Engine::kFused) same_class.engine = Engine::kAuto;  // which has no double rows; the sums over all keys are fused
  Rows aligned = same_class;
  aligned.group = aligned_groups(rows.keys);
  const at::Tensor count = rows.positives - set_sizes(aligned, PairSet::kEqual);
  const at::Tensor mean = (equal_sums(same_class) - equal_sums(aligned)) / count.clamp_min(1);

  const at::Tensor others = log_sums(rows.pairs, {{.set = PairSet::kOthers}})[0];
  const at::Tensor loss = (others - mean.to(others.scalar_type())).where(count.gt(0), 0);
  return rows.mean(loss, loss_scale(*this));
}

namespace {

constexpr double kRounding = 1e-10;  // of a weight: far above double's, far below a difference that features in single precision show

struct WeightedPositives {
  at::Tensor sum;     // [B, D] sum over p of m_ap z_p
  at::Tensor weight;  // [B] sum over p of m_ap; 0 if it is only rounding
};

// The same for all views of a sample. The anchor's own rows need no care: their weight is 1 - cos(g_a, g_a) = 0.
WeightedPositives weighted_positives(const at::Tensor& z, const at::Tensor& label, const at::Tensor& g) {
  const at::Tensor per_sample = z.to(at::kDouble).sum(1);
  const auto views = static_cast<double>(z.size(1));
  const at::Tensor classes = std::get<0>(at::_unique(label));
  std::vector<at::Tensor> members, sums, weights;
  for (int64_t c = 0; c < classes.size(0); ++c) {
    if (classes[c].item<int64_t>() < 0) continue;
    const at::Tensor index = label.eq(classes[c]).nonzero().squeeze(1);
    const at::Tensor own = g.index_select(0, index), rows = per_sample.index_select(0, index);
    const auto size = static_cast<double>(index.size(0));
    const at::Tensor weight = views * (size - own.mv(own.sum(0)));
    members.push_back(index);
    sums.push_back(rows.sum(0) - own.mm(own.t().mm(rows)));
    weights.push_back(weight.where(weight.gt(kRounding * views * size), 0));
  }
  WeightedPositives all = {at::zeros_like(per_sample), at::zeros({z.size(0)}, g.options())};
  if (members.empty()) return all;
  const at::Tensor index = at::cat(members);
  all.sum = all.sum.index_copy(0, index, at::cat(sums));
  all.weight = all.weight.index_copy(0, index, at::cat(weights));
  return all;
}

}  // namespace

void SoftConOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o.with_variants();
}

ObjectiveResult SoftConOptions::loss(const ObjectiveInput& input) const {
  refuse_keys(input, kName);
  require_labels(input, kName, "the choice of positives");
  if (!input.weights.defined()) {
    throw usage_error("{}: needs pair weights: features [B, F] of a model of the bias; none were given", kName);
  }
  const Classes rows = classes_of(input, temperature, kName);
  const at::Tensor label = rows.keys.label.slice(0, 0, input.z.size(0));
  const WeightedPositives positives = weighted_positives(input.z, label, unit_bias_features(input, kName));

  const int64_t views = input.z.size(1);
  const at::Tensor used = positives.weight.gt(0), directions = positives.sum / positives.weight.where(used, 1).unsqueeze(1);
  const at::Tensor mean = (rows.pairs.flat() * directions.repeat({views, 1})).sum(1) / temperature;
  const at::Tensor others = log_sums(rows.pairs, {{.set = PairSet::kOthers}})[0];
  const at::Tensor loss = (others - mean.to(others.scalar_type())).where(used.repeat({views}), 0);
  return rows.mean(loss, loss_scale(*this));
}

}  // namespace debias

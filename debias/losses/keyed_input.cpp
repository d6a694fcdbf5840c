#include "debias/losses/keyed_input.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/losses/pair_keys.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

std::string shape_of(const at::Tensor& tensor) {
  return fmt::format("{} of shape {}", c10::toString(tensor.scalar_type()), c10::str(tensor.sizes()));
}

void check_integers(const at::Tensor& of_keys, int64_t count, const char* what, const char* objective) {
  if (!of_keys.defined()) return;
  if (of_keys.scalar_type() == at::kLong && of_keys.dim() == 1 && of_keys.size(0) == count) return;
  throw data_error("{}: {}: expected int64 of shape [{}], one per key, found {}", objective, what, count, shape_of(of_keys));
}

at::Tensor samples_of(const ObjectiveInput& input) {  // int64 [B]
  if (input.samples.defined()) return input.samples;
  return at::arange(input.z.size(0), at::TensorOptions(at::kLong).device(input.z.device()));
}

// int64 [m]: the keys' samples, each key of no sample being one of its own.
at::Tensor samples_of_keys(const ObjectiveInput& input, const at::Tensor& samples) {
  const int64_t m = input.keys.size(0);
  const at::Tensor own = at::arange(m, samples.options()) + samples.max() + 1;
  if (!input.key_samples.defined()) return own;
  return input.key_samples.where(input.key_samples.ge(0), own + input.key_samples.max().clamp_min(0) + 1);
}

}  // namespace

void check_keyed(ObjectiveInput& input, const char* objective) {
  const at::Tensor& z = input.z;
  if (!input.keys.defined()) {
    if (input.positives.defined()) throw usage_error("{}: positives are given with keys, and no keys were given", objective);
    return;
  }
  const at::Tensor& keys = input.keys;
  if (keys.dim() != 2 || keys.size(1) != z.size(2) || keys.size(0) == 0 || !keys.is_floating_point()) {
    throw data_error("{}: keys: expected floating-point rows of shape [keys, {}], as many dimensions as the anchors have, found {}",
                     objective, z.size(2), shape_of(keys));
  }
  if (keys.device() != z.device()) {
    throw data_error("{}: keys: they are on {}, the anchors on {}; bring both to one", objective, keys.device().str(), z.device().str());
  }
  const int64_t m = keys.size(0), n = z.size(0) * z.size(1);
  check_integers(input.key_samples, m, "samples of keys", objective);
  check_integers(input.key_labels, m, "labels of keys", objective);
  if (input.key_samples.defined()) input.key_samples = input.key_samples.to(z.device());
  if (input.key_labels.defined()) input.key_labels = input.key_labels.to(z.device());
  if (input.self && (*input.self < 0 || *input.self > m - n)) {
    throw data_error("{}: keys: {} anchors from key {} on exceed the {} keys", objective, n, *input.self, m);
  }
  input.keys = keys.to(z.scalar_type());
  if (!input.positives.defined()) return;
  const at::Tensor& positives = input.positives;
  if (positives.dim() != 3 || positives.size(0) != z.size(0) || positives.size(1) == 0 || positives.size(2) != z.size(2) ||
      !positives.is_floating_point()) {
    throw data_error("{}: positives: expected floating-point rows of shape [{}, positives, {}], found {}", objective, z.size(0), z.size(2),
                     shape_of(positives));
  }
  input.positives = positives.to(z.scalar_type());
}

void set_keys(Rows& rows, const ObjectiveInput& input, bool by_class, const char* objective) {
  const PairKeys of_samples = pair_keys(input, 1, objective);
  const int64_t views = input.z.size(1), n = input.z.size(0) * views;
  rows.keys = input.keys;
  rows.self = input.self;
  const at::Tensor samples = at::cat({of_samples.sample.repeat({views}), samples_of_keys(input, of_samples.sample)});
  at::Tensor groups = samples;
  if (by_class) groups = class_groups(at::cat({of_samples.label.repeat({views}), input.key_labels}), samples);
  rows.group = groups.slice(0, 0, n);
  rows.key_group = groups.slice(0, n);
}

void require_positives(const at::Tensor& count, const ObjectiveInput& input, const char* objective) {
  const at::Tensor none = count.eq(0).nonzero();
  if (none.size(0) == 0) return;
  const int64_t row = none[0][0].item<int64_t>(), sample = row % input.z.size(0);
  throw data_error(
      "{}: keys: none is of the sample of anchor {} (sample {}), so it has no positive ({} of {} anchors have none); give positives, "
      "or keys with their samples",
      objective, row, samples_of(input)[sample].item<int64_t>(), none.size(0), count.size(0));
}

void require_one_positive(const ObjectiveInput& input, const char* objective) {
  if (!input.positives.defined() || input.positives.size(1) == 1) return;
  throw usage_error("{}: takes one positive of each sample beside keys, found {}; give one, or the keys with their samples", objective,
                    input.positives.size(1));
}

ObjectiveInput with_positives_as_keys(const ObjectiveInput& input) {
  if (!input.positives.defined()) return input;
  const int64_t each = input.positives.size(1);
  const at::Tensor samples = samples_of(input);
  ObjectiveInput joined = input;
  joined.keys = at::cat({input.positives.reshape({-1, input.positives.size(2)}), input.keys});
  joined.key_samples = at::cat({samples.repeat_interleave(each),
                                input.key_samples.defined() ? input.key_samples : at::full({input.keys.size(0)}, -1, samples.options())});
  if (input.labels.defined() && input.key_labels.defined()) {
    joined.key_labels = at::cat({input.labels.repeat_interleave(each), input.key_labels});
  }
  if (input.self) joined.self = *input.self + each * input.z.size(0);
  joined.positives = at::Tensor();
  return joined;
}

std::vector<ViewPair> keyed_parts(const ObjectiveInput& input, const char* objective) {
  Rows rows = {.anchors = input.z.detach(), .group = {}};
  set_keys(rows, input, false, objective);
  if (!input.positives.defined()) require_positives(set_sizes(rows, PairSet::kEqual), input, objective);
  const at::Tensor counts = set_sizes(rows, PairSet::kUnequal).to(at::kLong);
  const at::Tensor distinct = std::get<0>(at::_unique(counts));
  if (distinct.size(0) == 1) return {{input, 0, 0, distinct[0].item<int64_t>()}};
  if (input.self) {
    throw usage_error("{}: keys: anchors that are keys themselves must have one number of negatives each, found {} to {}", objective,
                      distinct[0].item<int64_t>(), distinct[-1].item<int64_t>());
  }
  const int64_t views = input.z.size(1);
  const at::Tensor samples = samples_of(input).repeat({views}), flat = input.z.transpose(0, 1).reshape({-1, 1, input.z.size(2)});
  std::vector<ViewPair> parts;
  for (int64_t i = 0; i < distinct.size(0); ++i) {
    const at::Tensor index = counts.eq(distinct[i]).nonzero().squeeze(1);
    ViewPair part = {input, i, 0, distinct[i].item<int64_t>(), index};
    part.input.z = flat.index_select(0, index);
    part.input.samples = samples.index_select(0, index);
    if (input.labels.defined()) part.input.labels = input.labels.repeat({views}).index_select(0, index);
    if (input.bias.defined()) part.input.bias = input.bias.repeat({views}).index_select(0, index);
    if (input.positives.defined()) part.input.positives = input.positives.repeat({views, 1, 1}).index_select(0, index);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace debias

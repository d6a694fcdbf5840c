#include "debias/pairs/rows.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"

namespace debias {
namespace {

// From this many pairs on blocks take less time and memory than matrices.
constexpr int64_t kManyPairs = int64_t{1} << 20;

bool takes_fused(const Rows& rows) { return rows.square() && rows.anchors.is_cpu() && rows.anchors.scalar_type() == at::kFloat; }

at::Tensor members(const at::Tensor& group, const at::Tensor& of) {  // of each anchor's group, how many of `of`
  const at::Tensor sorted = std::get<0>(of.sort());
  return at::searchsorted(sorted, group, /*out_int32=*/false, /*right=*/true) - at::searchsorted(sorted, group);
}

}  // namespace

void EngineRecord::note(Engine used) {
  dense_ |= used == Engine::kDense;
  blocked_ |= used == Engine::kBlocked;
  fused_ |= used == Engine::kFused;
}

Engine EngineRecord::engine() const {
  if (!dense_ && !blocked_ && !fused_) return asked_ == Engine::kAuto ? Engine::kDense : asked_;
  if (dense_) return Engine::kDense;
  return blocked_ ? Engine::kBlocked : Engine::kFused;
}

at::Tensor Rows::flat() const { return anchors.dim() == 2 ? anchors : anchors.transpose(0, 1).reshape({-1, anchors.size(2)}); }

Engine engine_of(const Rows& rows) {
  if (rows.engine == Engine::kDense || rows.engine == Engine::kBlocked) return rows.engine;
  if (rows.share != nullptr && rows.engine == Engine::kAuto) return Engine::kBlocked;
  if (takes_fused(rows)) return Engine::kFused;
  if (rows.engine == Engine::kFused) {
    if (!rows.square()) {
      throw usage_error("fused backend: it compares embeddings with each other, and keys were given; give engine auto, blocked or dense");
    }
    throw usage_error("fused backend: it takes float32 embeddings on the CPU, found {} on {}; give engine auto, blocked or dense",
                      c10::toString(rows.anchors.scalar_type()), rows.anchors.device().str());
  }
  return !rows.anchors.is_cpu() || rows.size() * rows.key_count() >= kManyPairs ? Engine::kBlocked : Engine::kDense;
}

at::Tensor set_sizes(const Rows& rows, PairSet set) {
  const at::ScalarType type = rows.anchors.scalar_type();
  const int64_t self = rows.self_key() ? 1 : 0, others = rows.key_count() - self;
  if (set == PairSet::kOthers) return at::full({rows.size()}, others, rows.anchors.options().requires_grad(false));
  const at::Tensor equal = (members(rows.group, rows.groups_of_keys()) - self).to(type);
  return set == PairSet::kEqual ? equal : others - equal;
}

at::Tensor excluded(const Rows& rows, PairSet set, int64_t begin, int64_t end) {
  at::Tensor out = at::zeros({end - begin, rows.key_count()}, at::TensorOptions(at::kBool).device(rows.anchors.device()));
  if (set != PairSet::kOthers) {
    out = rows.group.slice(0, begin, end).unsqueeze(1).eq(rows.groups_of_keys().unsqueeze(0));
    if (set == PairSet::kEqual) out = out.logical_not_();
  }
  if (const auto self = rows.self_key()) out.diagonal(*self + begin).fill_(true);
  return out;
}

at::Tensor class_groups(const at::Tensor& label, const at::Tensor& sample) {
  const at::Tensor place = at::searchsorted(std::get<0>(sample.sort()), sample);
  return label.where(label.ge(0), -1 - place);  // negative: one group for each sample of unknown label
}

}  // namespace debias

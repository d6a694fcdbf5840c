#include "debias/pairs/row_blocks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "debias/core/error.h"
#include "debias/pairs/pair_engines.h"

namespace debias {
namespace {

// Scores of a block: on the CPU few enough to stay in the cache's reach, enough rows for a product to pay; a device, where each operator
// costs a launch, takes as many as the budget holds. Masks and weights of its size come to four times as much.
constexpr int64_t kBlockScores = int64_t{1} << 20, kLeastRows = 64, kMostRows = 512, kCopies = 5;

}  // namespace

RowBlocks::RowBlocks(const at::Tensor& anchors, const at::Tensor& keys, Rows rows) : rows_(std::move(rows)) {
  rows_.anchors = anchors.detach();
  rows_.keys = keys.defined() ? keys.detach() : keys;
  rows_.sorted.reset();
}

void RowBlocks::remember(torch::autograd::AutogradContext* context, const Rows& rows) {
  context->set_materialize_grads(false);
  context->saved_data["group"] = rows.group;
  if (!rows.square()) context->saved_data["key_group"] = rows.key_group;
  context->saved_data["self"] = rows.self.value_or(-1);
  context->saved_data["temperature"] = rows.temperature;
  context->saved_data["memory_budget"] = rows.memory_budget;
  context->saved_data["share"] = reinterpret_cast<intptr_t>(rows.share);
}

RowBlocks RowBlocks::remembered(torch::autograd::AutogradContext* context, const torch::autograd::variable_list& saved) {
  const int64_t self = context->saved_data["self"].toInt();
  const bool square = saved[1].dim() != 2;
  const at::Tensor keys = square ? at::Tensor() : saved[1], key_group = square ? at::Tensor() : context->saved_data["key_group"].toTensor();
  return {saved[0], keys,
          Rows{.anchors = saved[0],
               .group = context->saved_data["group"].toTensor(),
               .key_group = key_group,
               .self = self < 0 ? std::nullopt : std::optional<int64_t>(self),
               .temperature = context->saved_data["temperature"].toDouble(),
               .memory_budget = context->saved_data["memory_budget"].toInt(),
               .share = reinterpret_cast<const RowShare*>(static_cast<intptr_t>(context->saved_data["share"].toInt()))}};
}

int64_t RowBlocks::block_rows() const {
  const int64_t row = std::max<int64_t>(keys().size(0), 1), affordable = rows_.memory_budget / (kCopies * row * anchors().element_size());
  const int64_t quick = anchors().is_cpu() ? std::clamp(kBlockScores / row, kLeastRows, kMostRows) : std::max<int64_t>(size(), 1);
  return std::max<int64_t>(1, std::min(quick, affordable));
}

std::vector<int64_t> RowBlocks::bounds() const {
  const int64_t n = size(), rows = block_rows(), blocks = (n + rows - 1) / rows, parts = share() == nullptr ? 1 : share()->parts;
  std::vector<int64_t> all;
  for (int64_t part = 0; part <= parts; ++part) all.push_back(std::min(n, blocks * part / parts * rows));
  return all;
}

void RowBlocks::each(const std::function<void(const Block&)>& visit) const {
  const int64_t m = keys().size(0), rows = block_rows();
  const std::vector<int64_t> all = bounds();
  const auto part = static_cast<size_t>(share() == nullptr ? 0 : share()->part);
  const int64_t first = all[part], last = all[part + 1];
  const at::Tensor scaled = anchors() / temperature(), columns = keys().t();
  const at::Tensor buffer = at::empty({std::min(rows, last - first), m}, anchors().options());
  for (int64_t begin = first; begin < last; begin += rows) {
    Block block = {begin, std::min(begin + rows, last), {}};
    block.scores = buffer.slice(0, 0, block.end - begin);
    at::mm_out(block.scores, scaled.slice(0, begin, block.end), columns);
    visit(block);
  }
}

at::Tensor RowBlocks::completed(const at::Tensor& of_rows) const {
  if (share() == nullptr) return of_rows;
  const std::vector<int64_t> all = bounds();
  const auto part = static_cast<size_t>(share()->part);
  return share()->gather(of_rows.slice(0, all[part], all[part + 1]), all);
}

at::Tensor RowBlocks::equal(const Block& block) const {
  return rows_.group.slice(0, block.begin, block.end).unsqueeze(1).eq(rows_.groups_of_keys().unsqueeze(0));
}

void RowBlocks::clear_self(const Block& block, const at::Tensor& of_block, double value) const {
  if (const auto self = rows_.self_key()) of_block.diagonal(*self + block.begin).fill_(value);
}

at::Tensor RowBlocks::excluded(const Block& block, PairSet set) const {
  at::Tensor out = set == PairSet::kOthers ? at::zeros(block.scores.sizes(), block.scores.options().dtype(at::kBool)) : equal(block);
  if (set == PairSet::kEqual) out = out.logical_not_();
  clear_self(block, out, 1);
  return out;
}

double RowBlocks::largest_score() const {
  const auto longest = [](const at::Tensor& rows) {
    return rows.numel() == 0 ? 0.0 : at::linalg_vector_norm(rows, 2, at::IntArrayRef{1}).max().item<double>();
  };
  const double own = longest(anchors());
  return own * (square() ? own : longest(keys())) / temperature();
}

BlockGradients::BlockGradients(const RowBlocks& blocks, bool keys_need_gradient)
    : anchors(at::zeros_like(blocks.anchors())), blocks_(blocks) {
  if (blocks.square()) {
    keys = anchors;
  } else if (keys_need_gradient) {
    keys = at::zeros_like(blocks.keys());
  }
}

void BlockGradients::add(const RowBlocks::Block& block, const at::Tensor& weights) {
  anchors.slice(0, block.begin, block.end).add_(at::mm(weights, blocks_.keys()));
  if (keys.defined()) keys.addmm_(weights.t(), blocks_.anchors().slice(0, block.begin, block.end));
}

void BlockGradients::add_both(const RowBlocks::Block& block, const at::Tensor& weights) {
  anchors.slice(0, block.begin, block.end).add_(at::mm(weights, blocks_.keys()));
}

void BlockGradients::complete_both() { anchors = blocks_.completed(anchors); }

void BlockGradients::complete() {
  if (blocks_.share() == nullptr) return;
  if (blocks_.square()) {
    keys = anchors = blocks_.share()->sum(anchors);
    return;
  }
  anchors = blocks_.completed(anchors);
  if (keys.defined()) keys = blocks_.share()->sum(keys);
}

void refuse_second_derivative(const char* op, const char* engine) {
  if (at::GradMode::is_enabled()) throw usage_error("{}: the {} engine has no second derivative; give the dense engine", op, engine);
}

}  // namespace debias

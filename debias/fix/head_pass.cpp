#include "debias/fix/head_pass.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>
#include <utility>

#include "debias/kernels/softmax_residuals.h"
#include "debias/runtime/each_alone.h"

namespace debias {
namespace {

constexpr int64_t kLogitRows = 2000;  // no power of two, so that the logits of ten classes do not share a set of the cache
constexpr int64_t kMostParts = 16, kLeastPartRows = 500;

struct Run {
  int64_t begin, end;
};

// Stretches of at least kSkippedRows zeros.
std::vector<Run> zero_runs(const at::Tensor& weights) {
  const float* w = weights.const_data_ptr<float>();
  std::vector<Run> runs;
  for (int64_t i = 0; i < weights.size(0);) {
    int64_t end = i;
    while (end < weights.size(0) && w[end] == 0) ++end;
    if (end - i >= kSkippedRows) runs.push_back({i, end});
    i = end + 1;
  }
  return runs;
}

}  // namespace

HeadPass::HeadPass(const StandardRows& rows, const at::Tensor& labels, int64_t classes)
    : rows_(rows), labels_(labels.to(at::kInt).contiguous()), classes_(classes) {}

void HeadPass::use(const std::vector<at::Tensor>& weights) {
  heads_ = std::ssize(weights);
  parts_.clear();
  std::vector<std::vector<Run>> runs;
  std::set<int64_t> edges = {0, rows_.size()};
  for (const at::Tensor& of_head : weights) {
    runs.push_back(zero_runs(of_head));
    for (const Run& run : runs.back()) edges.insert({run.begin, run.end});
  }
  for (auto begin = edges.begin(), end = std::next(begin); end != edges.end(); ++begin, ++end) {
    std::vector<int64_t> heads;
    for (int64_t p = 0; p < heads_; ++p) {
      const auto covers = [&](const Run& run) { return run.begin <= *begin && *end <= run.end; };
      if (std::ranges::none_of(runs[static_cast<size_t>(p)], covers)) heads.push_back(p);
    }
    if (!heads.empty()) add_parts(*begin, *end, heads, weights);
  }
}

void HeadPass::add_parts(int64_t begin, int64_t end, const std::vector<int64_t>& heads, const std::vector<at::Tensor>& weights) {
  const int64_t count = end - begin, share = kMostParts * count / rows_.size();
  const int64_t parts = std::clamp<int64_t>(count / kLeastPartRows, 1, std::max<int64_t>(share, 1)), of_part = (count + parts - 1) / parts;
  for (int64_t first = begin; first < end; first += of_part) {
    Part part{heads, {}};
    const int64_t last = std::min(first + of_part, end);
    for (int64_t i = first; i < last; i += kLogitRows) {
      Block block{i, std::min(kLogitRows, last - i), {}};
      block.weights = at::empty({std::ssize(heads), block.count}, at::kFloat);
      for (size_t q = 0; q < heads.size(); ++q) {
        block.weights[static_cast<int64_t>(q)].copy_(weights[static_cast<size_t>(heads[q])].narrow(0, block.begin, block.count));
      }
      part.blocks.push_back(std::move(block));
    }
    parts_.push_back(std::move(part));
  }
}

std::vector<HeadSums> HeadPass::sums(const at::Tensor& weight, const at::Tensor& bias) const {
  std::vector<PartSums> found(parts_.size());
  each_alone(std::ssize(parts_),
             [&](int64_t i) { found[static_cast<size_t>(i)] = sums_over(parts_[static_cast<size_t>(i)], weight, bias); });
  std::vector<HeadSums> all(static_cast<size_t>(heads_));
  each_alone(heads_, [&](int64_t p) {
    HeadSums sums{0, at::zeros({classes_, rows_.dimensions()}, at::kDouble), at::zeros({classes_}, at::kDouble)};
    double* residual = sums.residual.mutable_data_ptr<double>();
    for (size_t i = 0; i < parts_.size(); ++i) {
      const std::vector<int64_t>& heads = parts_[i].heads;
      const auto place = std::ranges::lower_bound(heads, p);
      if (place == heads.end() || *place != p) continue;
      const int64_t q = place - heads.begin();
      sums.loss += found[i].losses[static_cast<size_t>(q)];
      for (int64_t c = 0; c < classes_; ++c) residual[c] += found[i].residuals[static_cast<size_t>(q * classes_ + c)];
      sums.gradient += found[i].gradients.narrow(0, q * classes_, classes_);
    }
    all[static_cast<size_t>(p)] = std::move(sums);
  });
  return all;
}

HeadPass::PartSums HeadPass::sums_over(const Part& part, const at::Tensor& weight, const at::Tensor& bias) const {
  const int64_t heads = std::ssize(part.heads), D = rows_.dimensions();
  const at::Tensor places = at::tensor(part.heads, at::kLong);
  const at::Tensor w = (heads == heads_ ? weight : weight.index_select(0, places)).view({heads * classes_, D});
  const at::Tensor b = (heads == heads_ ? bias : bias.index_select(0, places)).view({heads * classes_, 1});
  PartSums sums{std::vector<double>(static_cast<size_t>(heads)), std::vector<double>(static_cast<size_t>(heads * classes_)), {}};
  for (const Block& block : part.blocks) {
    const at::Tensor x = rows_.block(block.begin, block.count), logits = at::addmm(b, w, x.t());
    kernels::add_softmax_residuals({heads, classes_, block.count, logits.mutable_data_ptr<float>(),
                                    labels_.const_data_ptr<int32_t>() + block.begin, block.weights.const_data_ptr<float>()},
                                   sums.losses.data(), sums.residuals.data());
    if (sums.gradients.defined()) {
      sums.gradients.addmm_(logits, x);
    } else {
      sums.gradients = logits.mm(x);
    }
  }
  return sums;
}

}  // namespace debias

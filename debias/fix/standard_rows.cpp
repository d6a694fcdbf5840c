#include "debias/fix/standard_rows.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "debias/runtime/each_alone.h"

namespace debias {
namespace {

constexpr int64_t kRowsOfBlock = 4096;

int64_t blocks_of(int64_t rows) { return (rows + kRowsOfBlock - 1) / kRowsOfBlock; }
int64_t rows_of(int64_t block, int64_t rows) { return std::min(kRowsOfBlock, rows - block * kRowsOfBlock); }

}  // namespace

StandardRows::StandardRows(const FeatureVectors& vectors, const std::vector<int64_t>& places) {
  const int64_t n = std::ssize(places), D = vectors.dimensions();
  const bool short_rows = vectors.dtype() == DType::kFloat16 && n * D * static_cast<int64_t>(sizeof(float)) > kLargestFloatRows;
  rows_ = at::empty({n, D}, short_rows ? at::kHalf : at::kFloat);
  for (int64_t block = 0; block < blocks_of(n); ++block) {
    const at::Tensor target = rows_.narrow(0, block * kRowsOfBlock, rows_of(block, n));
    const at::Tensor read = short_rows ? at::empty(target.sizes(), at::kFloat) : target;
    const auto first = places.begin() + block * kRowsOfBlock;
    vectors.read_places({first, first + target.size(0)}, read.mutable_data_ptr<float>());
    if (short_rows) target.copy_(read);
  }
  standardise();
}

StandardRows::StandardRows(const at::Tensor& rows) : rows_(rows.to(at::kFloat).contiguous().clone()) { standardise(); }

void StandardRows::standardise() {
  const at::NoGradGuard no_grad;
  const int64_t n = size(), D = dimensions(), blocks = blocks_of(n);
  const auto sums = [&](const auto& of_block) {
    at::Tensor parts = at::zeros({blocks, D}, at::kDouble);
    each_alone(blocks, [&](int64_t block) {
      const at::Tensor x = rows_.narrow(0, block * kRowsOfBlock, rows_of(block, n)).to(at::kDouble);
      parts.select(0, block).copy_(of_block(x).sum(0));
    });
    at::Tensor sum = at::zeros({D}, at::kDouble);
    for (int64_t block = 0; block < blocks; ++block) sum += parts.select(0, block);
    return sum / static_cast<double>(n);
  };
  scale_.mean = sums([](const at::Tensor& x) { return x; });
  scale_.deviation = sums([this](const at::Tensor& x) { return (x - scale_.mean).square(); }).sqrt();
  const at::Tensor constant = scale_.deviation <= 1e-7 * scale_.mean.abs();
  scale_.deviation.masked_fill_(constant, 1);
  if (rows_.scalar_type() == at::kHalf) return;
  const at::Tensor mean = scale_.mean, deviation = scale_.deviation;
  each_alone(blocks, [&](int64_t block) {
    at::Tensor x = rows_.narrow(0, block * kRowsOfBlock, rows_of(block, n));
    x.copy_((x.to(at::kDouble) - mean) / deviation);
  });
}

bool StandardRows::varies() const {
  for (int64_t b = 0; b < blocks_of(size()); ++b) {
    if (block(b * kRowsOfBlock, rows_of(b, size())).any().item<bool>()) return true;
  }
  return false;
}

at::Tensor StandardRows::block(int64_t begin, int64_t count) const {
  const at::Tensor x = rows_.narrow(0, begin, count);
  if (x.scalar_type() == at::kFloat) return x;
  return ((x.to(at::kDouble) - scale_.mean) / scale_.deviation).to(at::kFloat);
}

StandardRows StandardRows::selected(const std::vector<int64_t>& places) const {
  StandardRows chosen;
  chosen.rows_ = rows_.index_select(0, at::tensor(places, at::kLong));
  chosen.scale_ = scale_;
  return chosen;
}

}  // namespace debias

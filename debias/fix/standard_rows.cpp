#include "debias/fix/standard_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

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

namespace {

constexpr int64_t kMomentRows = 512;    // of a block
constexpr int64_t kMostMomentSums = 8;  // each of the size of xx

struct BlockRange {
  int64_t begin = 0, count = 0;
};

// The rows in at most kMostMomentSums parts of whole blocks, the same for any number of threads.
std::vector<BlockRange> parts_of(int64_t begin, int64_t count) {
  const int64_t blocks = (count + kMomentRows - 1) / kMomentRows;
  const int64_t rows = std::max<int64_t>(1, (blocks + kMostMomentSums - 1) / kMostMomentSums) * kMomentRows;
  std::vector<BlockRange> parts;
  for (int64_t first = 0; first < count; first += rows) parts.push_back({begin + first, std::min(rows, count - first)});
  return parts;
}

template <class Call>
void each_block(const BlockRange& part, const Call& call) {
  for (int64_t first = 0; first < part.count; first += kMomentRows) {
    call(part.begin + first, std::min(kMomentRows, part.count - first));
  }
}

ClassMoments zero_moments(const WeightedRows& rows) {
  const int64_t C = rows.classes, D = rows.x->dimensions(), K = rows.z.size(1);
  return {at::zeros({C}, at::kDouble),
          at::zeros({C, D}, at::kDouble),
          at::zeros({C, K}, at::kDouble),
          at::zeros({D, D}, at::kDouble),
          at::zeros({D, K}, at::kDouble),
          0,
          0};
}

ClassMoments moments_of_part(const WeightedRows& rows, const BlockRange& part) {
  ClassMoments sums = zero_moments(rows);
  at::Tensor xx = at::zeros(sums.xx.sizes(), at::kFloat);
  each_block(part, [&](int64_t begin, int64_t count) {
    const at::Tensor x = rows.x->block(begin, count), z = rows.z.narrow(0, begin, count), w = rows.weights.narrow(0, begin, count);
    const at::Tensor y = rows.labels.narrow(0, begin, count), wx = x.to(at::kDouble).mul(w.unsqueeze(1));
    xx.addmm_(wx.to(at::kFloat).t(), x);
    sums.weight.index_add_(0, y, w);
    sums.x.index_add_(0, y, wx);
    sums.z.index_add_(0, y, z * w.unsqueeze(1));
    sums.xz.addmm_(wx.t(), z);
    sums.squares += w.square().sum().item<double>();
    sums.count += w.gt(0).sum().item<int64_t>();
  });
  sums.xx.copy_(xx);
  return sums;
}

}  // namespace

ClassMoments& ClassMoments::operator+=(const ClassMoments& other) {
  weight = weight + other.weight;
  x = x + other.x;
  z = z + other.z;
  xx = xx + other.xx;
  xz = xz + other.xz;
  squares += other.squares;
  count += other.count;
  return *this;
}

double ClassMoments::total() const { return weight.sum().item<double>(); }
at::Tensor ClassMoments::mean() const { return x.sum(0) / total(); }
at::Tensor ClassMoments::class_means() const { return x / weight.clamp_min(1e-300).unsqueeze(1); }
double ClassMoments::effective_count() const { return total() * total() / squares; }

at::Tensor ClassMoments::covariance() const { return (xx - x.t().mm(class_means())) / total(); }

at::Tensor ClassMoments::cross_covariance() const { return (xz - class_means().t().mm(z)) / total(); }

ClassMoments class_moments(const WeightedRows& rows, int64_t begin, int64_t count) {
  const std::vector<BlockRange> parts = parts_of(begin, count);
  std::vector<ClassMoments> sums(parts.size());
  each_alone(std::ssize(parts), [&](int64_t i) { sums[static_cast<size_t>(i)] = moments_of_part(rows, parts[static_cast<size_t>(i)]); });
  ClassMoments all = zero_moments(rows);
  for (const ClassMoments& part : sums) all += part;
  return all;
}

double fourth_moment(const WeightedRows& rows, int64_t begin, int64_t count, const at::Tensor& class_means) {
  const std::vector<BlockRange> parts = parts_of(begin, count);
  const at::Tensor means = class_means.to(at::kFloat);
  std::vector<double> sums(parts.size());
  each_alone(std::ssize(parts), [&](int64_t i) {
    each_block(parts[static_cast<size_t>(i)], [&](int64_t first, int64_t size) {
      const at::Tensor centred = rows.x->block(first, size) - means.index_select(0, rows.labels.narrow(0, first, size));
      const at::Tensor norms = centred.square().sum(1).to(at::kDouble).square();
      sums[static_cast<size_t>(i)] += at::dot(norms, rows.weights.narrow(0, first, size)).item<double>();
    });
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace debias

#include "debias/fix/fixed_predictions.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/runtime/each_alone.h"

namespace debias {
namespace {

constexpr int64_t kBlockOfRows = 4096;
constexpr size_t kFlushedText = 1 << 20;

// call(rows [count, D]), block by block.
template <class Call>
void each_block_of(const FeatureVectors& vectors, const Call& call) {
  const OneThread alone;
  const at::NoGradGuard no_grad;
  for (int64_t begin = 0; begin < vectors.rows(); begin += kBlockOfRows) {
    const at::Tensor x = at::empty({std::min(kBlockOfRows, vectors.rows() - begin), vectors.dimensions()}, at::kFloat);
    vectors.read(begin, x.size(0), x.mutable_data_ptr<float>());
    call(x);
  }
}

}  // namespace

std::vector<int64_t> predictions_of(const FixedModel& model, const FeatureVectors& vectors) {
  std::vector<int64_t> all;
  each_block_of(vectors, [&](const at::Tensor& x) {
    const auto own = predicted_classes(at::addmm(model.head.bias, x.to(at::kDouble), model.head.weight.t()));
    all.insert(all.end(), own.begin(), own.end());
  });
  return all;
}

void write_predictions(const std::string& path, const FeatureTable& table, const FixResult& result) {
  const std::vector<int64_t> before = predictions_of(result.before, table.vectors), after = predictions_of(result.after, table.vectors);
  const auto cell = [](const std::string& name) { return csv_field(name, CsvCells::kGuarded); };
  AtomicFile file(path);
  std::string text = "path,label,bias,split,before,after\n";
  for (size_t i = 0; i < before.size(); ++i) {
    const int64_t bias = result.bias.values[i];
    text +=
        fmt::format("{},{},{},{},{},{}\n", table.rows.names.empty() ? "" : cell(table.rows.names[i]),
                    cell(table.rows.classes[static_cast<size_t>(table.rows.labels[i])]),
                    bias == kUnknown ? "" : cell(result.bias.names[static_cast<size_t>(bias)]), enum_name(table.rows.splits[i]),
                    cell(result.before.classes[static_cast<size_t>(before[i])]), cell(result.after.classes[static_cast<size_t>(after[i])]));
    if (text.size() < kFlushedText) continue;
    file.write(text.data(), text.size());
    text.clear();
  }
  file.write(text.data(), text.size());
  file.commit();
}

void write_fixed_features(const FixedModel& model, const FeatureVectors& vectors, const std::string& out) {
  const int64_t D = model.layer.mean.size(0);
  if (vectors.dimensions() != D) {
    throw data_error("{}: vectors of {} dimensions for a layer of {}; give vectors of the same backbone", vectors.path(),
                     vectors.dimensions(), D);
  }
  require_usable(vectors);
  NpyWriter file(out, DType::kFloat32, {vectors.rows(), D});
  each_block_of(vectors, [&](const at::Tensor& x) {
    const at::Tensor fixed = model.layer.apply(x.to(at::kDouble)).to(at::kFloat).contiguous();
    file.write(fixed.const_data_ptr(), fixed.nbytes());
  });
  file.commit();
}

}  // namespace debias

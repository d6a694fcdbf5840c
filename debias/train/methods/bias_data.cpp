#include "debias/train/methods/bias_data.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/npy.h"

namespace debias {

at::Tensor read_bias_features(const std::string& path, const SampleTable& dataset) {
  const NpyArray array = read_npy(path);
  if (array.dtype != DType::kFloat32 && array.dtype != DType::kFloat64) {
    throw data_error("{}: bias features must be float32 or float64, found {}; convert them", path, name_of(array.dtype));
  }
  int64_t largest = -1;
  for (int64_t i = 0; i < dataset.size(); ++i) largest = std::max(largest, dataset.id(i));
  if (array.shape.size() != 2 || array.shape[0] <= largest || array.shape[1] < 1) {
    throw data_error("{}: expected bias features of shape [N, F], a row for each sample id up to {} of data set '{}', found ({})", path,
                     largest, dataset.info().name, fmt::join(array.shape, ", "));
  }
  const auto type = array.dtype == DType::kFloat32 ? at::kFloat : at::kDouble;
  const at::Tensor features = at::from_blob(const_cast<std::byte*>(array.bytes.data()), array.shape, at::TensorOptions(type)).clone();
  if (const at::Tensor bad = at::isfinite(features).all(1).logical_not().nonzero(); bad.size(0) > 0) {
    throw data_error("{}: row {} is not finite ({} such rows); repair them", path, bad[0][0].item<int64_t>(), bad.size(0));
  }
  return features;
}

at::Tensor label_given_bias(const SampleTable& dataset, const std::vector<double>& weights) {
  const auto C = static_cast<int64_t>(dataset.info().class_names.size());
  const auto G = static_cast<int64_t>(dataset.info().bias_names.size());
  at::Tensor counts = at::zeros({C, G}, at::kDouble);
  auto table = counts.accessor<double, 2>();
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const int64_t label = dataset.label(i), bias = dataset.bias(i);
    if (label < 0 || bias < 0) continue;
    if (label >= C || bias >= G) {
      throw data_error(
          "counting labels by bias: {} of data set '{}' has label {} and bias label {}, there are {} classes and {} bias labels",
          dataset.source(i), dataset.info().name, label, bias, C, G);
    }
    table[label][bias] += weights.empty() ? 1 : weights[i];
  }
  const at::Tensor of_bias = counts.sum(0);
  return counts / of_bias.where(of_bias.gt(0), 1);
}

}  // namespace debias

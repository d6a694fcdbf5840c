#include "debias/fix/bias_columns.h"

#include "debias/core/error.h"

#include <ATen/ATen.h>

#include <cmath>

namespace debias {
namespace {

// `values`: how many different ones the training rows have; more than one is enough.
void require_variation(const TableRows& rows, const TableColumn& column, int64_t values) {
  if (values > 1) return;
  if (values == 1) {
    throw data_error("{}: bias column '{}' has one value in the training rows; name a column that varies with --bias", rows.path,
                     column.name);
  }
  throw data_error("{}: bias column '{}' has no value in the training rows; fill it, or name another column with --bias", rows.path,
                   column.name);
}

at::Tensor numeric_column(const TableRows& rows, const TableColumn& column, const std::vector<int64_t>& places, BiasDesign& design) {
  at::Tensor z = at::zeros({std::ssize(places), 1}, at::kDouble);
  double* out = z.mutable_data_ptr<double>();
  double sum = 0, squares = 0, count = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const double value = column.numbers[static_cast<size_t>(places[i])];
    out[i] = value;
    if (std::isnan(value)) {
      design.known[i] = false;
      continue;
    }
    sum += value;
    ++count;
  }
  const double mean = count > 0 ? sum / count : 0;
  for (size_t i = 0; i < places.size(); ++i) squares += std::isnan(out[i]) ? 0 : (out[i] - mean) * (out[i] - mean);
  require_variation(rows, column, squares > 0 ? 2 : count > 0 ? 1 : 0);
  const double deviation = std::sqrt(squares / count);
  for (size_t i = 0; i < places.size(); ++i) out[i] = std::isnan(out[i]) ? 0 : (out[i] - mean) / deviation;
  return z;
}

at::Tensor one_hot_columns(const TableRows& rows, const TableColumn& column, const std::vector<int64_t>& places, BiasDesign& design) {
  const auto values = static_cast<int64_t>(column.names.size());
  at::Tensor z = at::zeros({std::ssize(places), values}, at::kDouble);
  double* out = z.mutable_data_ptr<double>();
  std::vector<int64_t> count(column.names.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t value = column.values[static_cast<size_t>(places[i])];
    if (value == kUnknown) {
      design.known[i] = false;
      continue;
    }
    out[static_cast<int64_t>(i) * values + value] = 1;
    ++count[static_cast<size_t>(value)];
  }
  require_variation(rows, column, std::count_if(count.begin(), count.end(), [](int64_t c) { return c > 0; }));
  return z;
}

}  // namespace

BiasDesign bias_design(const TableRows& rows, const std::vector<int64_t>& places) {
  BiasDesign design{{}, std::vector<bool>(places.size(), true)};
  std::vector<at::Tensor> parts;
  for (const size_t place : rows.biases) {
    const TableColumn& column = rows.columns[place];
    parts.push_back(column.numeric ? numeric_column(rows, column, places, design) : one_hot_columns(rows, column, places, design));
  }
  design.z = at::cat(parts, 1);
  return design;
}

}  // namespace debias

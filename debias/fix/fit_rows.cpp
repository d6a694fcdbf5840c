#include "debias/fix/fit_rows.h"

#include <ATen/ATen.h>

#include "debias/fix/bias_columns.h"

namespace debias {
namespace {

at::Tensor balanced_weights(const FitRows& rows, const BiasGroups& groups) {
  at::Tensor weights = rows.plain.clone();
  double* weight = weights.mutable_data_ptr<double>();
  for (size_t i = 0; i < rows.groups.size(); ++i) {
    const int64_t group = rows.groups[i];
    weight[i] = group == kUnknown ? 0 : weight[i] / static_cast<double>(groups.count[static_cast<size_t>(group)]);
  }
  const double sum = weights.sum().item<double>();
  return sum > 0 ? weights * (rows.plain.sum().item<double>() / sum) : weights;
}

}  // namespace

FitRows fit_rows(StandardRows x, const TableRows& table, const BiasGroups& groups, const std::vector<int64_t>& places,
                 const std::vector<double>& importance) {
  const int64_t n = x.size();
  FitRows rows{std::move(x), {}, {}, {}, {}, at::ones({n}, at::kDouble), {}, std::ssize(table.classes)};
  BiasDesign design = bias_design(table, places);
  rows.z = std::move(design.z);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<size_t>(places[i]);
    rows.labels.push_back(table.labels[place]);
    rows.groups.push_back(design.known[i] ? groups.of_row[place] : kUnknown);
  }
  rows.targets = at::tensor(rows.labels, at::kLong);
  if (!importance.empty()) rows.plain = at::tensor(importance, at::kDouble);
  rows.balanced = balanced_weights(rows, groups);
  return rows;
}

}  // namespace debias

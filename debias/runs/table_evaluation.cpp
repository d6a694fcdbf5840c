#include "debias/runs/table_evaluation.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <set>

#include "debias/core/error.h"
#include "debias/evaluate/table_input.h"
#include "debias/fix/fixed_folder.h"

namespace debias {
namespace {

constexpr uint64_t kTableSeed = 1;

void require_unseen_rows(const EvaluationInput& input, const std::vector<std::string>& protocols, const FeatureTable& table) {
  const std::set<std::string> without = {"knn", "groups", "geometry", "tsne", "retrieval"};
  for (const auto& name : protocols) {
    if (!input.leaves_one_out || without.contains(name)) continue;
    throw usage_error("eval: {} fits a classifier, and {} has training rows alone; add valid or test rows (column split)", name,
                      table.rows.path);
  }
}

void require_unchanged(const std::vector<std::string>& changes, DataChange change, Log& log) {
  if (!changes.empty() && change == DataChange::kRefuse) {
    throw data_error("{}; restore it, run debias fix again, or continue with --accept-data-change", fmt::join(changes, "; "));
  }
  for (const auto& line : changes) log.warn(line + ", which is accepted");
}

EvaluatedTable evaluated(const FeatureTable& table, const EvaluationInput& input, const std::vector<std::string>& protocols,
                         const ChosenProtocols& options, Progress& progress, Log& log) {
  require_unseen_rows(input, protocols, table);
  for (const auto& remark : table.remarks) log.info(remark);
  EvaluationCache cache(input, progress, options);
  EvaluatedTable found{table.vectors.path(), table.rows.path, {}};
  for (const auto& name : protocols) found.results.emplace_back(name, cache.evaluate(name));
  return found;
}

}  // namespace

EvaluatedTable evaluate_table(const FeatureTableFiles& files, const TableRowOptions& columns, const std::vector<std::string>& protocols,
                              const ChosenProtocols& options, Progress& progress, Log& log) {
  const FeatureTable table = open_feature_table(files, columns);
  return evaluated(table, table_input(table, kTableSeed), protocols, options, progress, log);
}

EvaluatedTable evaluate_fixed_folder(const std::string& folder, const std::vector<std::string>& protocols, const ChosenProtocols& options,
                                     DataChange change, Progress& progress, Log& log) {
  const FixRecipe recipe = read_fix_recipe(folder);
  const FixedModel model = read_fixed(folder);
  const FeatureTable table = open_feature_table(recipe.files, recipe.columns);
  const GroupingColumns groups = grouping_columns(table.rows, table.of_split(TableSplit::kTrain));  // as fix has formed them
  EvaluationInput input = table_input(table, static_cast<uint64_t>(recipe.options.seed()), joint_bias(table.rows, groups.used));
  if (input.stored.at("train").values.size(1) != model.layer.mean.size(0)) {
    throw data_error("{}: vectors of {} dimensions for a layer of {}; the table has changed since", table.vectors.path(),
                     table.vectors.dimensions(), model.layer.mean.size(0));
  }
  if (table.rows.classes != model.classes) {
    throw data_error("{}: its classes are not those of '{}'; the table has changed since", table.rows.path, folder);
  }
  require_unchanged(table_changes(folder, recipe, table), change, log);
  for (auto& [split, features] : input.stored) features.values = model.layer.apply(features.values);
  if (!input.leaves_one_out) {  // the head has seen the training rows
    input.classifier = [head = model.head](const at::Tensor& x) { return at::addmm(head.bias, x.to(at::kDouble), head.weight.t()); };
  }
  return evaluated(table, input, protocols, options, progress, log);
}

}  // namespace debias

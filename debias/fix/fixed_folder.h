// The folder of a fixed model, which `debias report`, `table`, `eval` and `export` accept in place of a run folder.
//
//   layer.safetensors        mean [D], left [D, r], right [r, D]: r(x) = x - left right (x - mean); float32. Metadata: vector_range.h
//   head.safetensors         weight [C, D], bias [C]: logits of r(x), and equally of x; rows in the order of classes.json
//   fixed.onnx               input features, outputs features_fixed and logits
//   predictions.csv          path, label, bias, split, before, after for every row
//   evaluation/              groups.json and geometry.json; those of the plain head are groups-before.json and geometry-before.json
//   fix.json                 the result, as --json prints it
//   fix.log                  what was tried, what was chosen and why
//   config.yaml, classes.json, environment.json, metrics.jsonl   as in a run: path of the table, names, versions, metrics
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "debias/features/feature_table.h"
#include "debias/fix/fix.h"
#include "debias/fix/fixed_evaluation.h"

namespace debias {

// Predictions of a fixed model, row by row.

// The class that the head gives to each row, a place in model.classes; the layer is in it.
std::vector<int64_t> predictions_of(const FixedModel& model, const FeatureVectors& vectors);

// CSV `path,label,bias,split,before,after`, a line for each row of the table: names of the classes that the plain head and the fixed model
// give to it. Rows without names have an empty path.
void write_predictions(const std::string& path, const FeatureTable& table, const FixResult& result);

// Writes the layer's output for every row as a float32 array [n, D] to `out`, in blocks of rows and atomically. Throws a data error if the
// vectors have another number of dimensions.
void write_fixed_features(const FixedModel& model, const FeatureVectors& vectors, const std::string& out);

// The requested settings, as config.yaml stores them. Paths of the table are absolute, or the names of files in the folder.
struct FixRecipe {
  FeatureTableFiles files;
  TableRowOptions columns;
  FixOptions options;
  TableDigest digest{};  // of the table; set by write_fixed
};

struct FixedOutcome {
  const FeatureTable& table;
  const FixRecipe& recipe;
  const FixResult& result;
  const FixedEvaluations& evaluations;
  double seconds = 0;   // of the correction, without reading and evaluation
  std::string version;  // of the program
};

// {"method", "changed", "before": {split: {"acc", "aligned_acc", "conflicting_acc", "worst_group_acc", "intervals"}}, "after": the same,
// "groups", "groups_from", "rank", "seconds", "chosen": {"C", "shrinkage"}, "notes"}; splits are valid and test, or folds without those.
// Undefined numbers are null.
nlohmann::ordered_json to_json(const FixedOutcome& outcome);

// Writes into an existing, empty folder (atomic_folder.h). Resource errors name the path.
void write_fixed(const std::string& folder, const FixedOutcome& outcome);

bool is_fixed_folder(const std::string& path);  // its config.yaml has a section `fix`
// Throws a data error if files are missing or damaged, or if their shapes do not match.
FixedModel read_fixed(const std::string& folder);
FixRecipe read_fix_recipe(const std::string& folder);

// One line for each file of the table that is not as it was when `folder` was written.
std::vector<std::string> table_changes(const std::string& folder, const FixRecipe& recipe, const FeatureTable& table);

}  // namespace debias

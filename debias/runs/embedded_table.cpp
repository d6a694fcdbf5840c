#include "debias/runs/embedded_table.h"

#include <ATen/ATen.h>

#include <set>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/data/value_name.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/runs/evaluated_data.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

std::string name_of(const std::vector<std::string>& names, int64_t number) {
  return number == kUnknown ? "" : csv_field(value_name(names, number), CsvCells::kGuarded);
}

// Rows whose label is known; a feature table has no others.
at::Tensor add_rows(const std::string& split, const Dataset& dataset, const Features& features, std::string& csv) {
  std::vector<int64_t> kept;
  for (size_t i = 0; i < features.labels.size(); ++i) {
    if (features.labels[i] == kUnknown) continue;
    kept.push_back(static_cast<int64_t>(i));
    const std::string path = fmt::format("{}/{}", split, dataset.source(features.indices[i]));  // sets may share names
    csv += fmt::format("{},{},{},{}\n", csv_field(path, CsvCells::kGuarded), name_of(dataset.info().class_names, features.labels[i]),
                       name_of(dataset.info().bias_names, features.biases[i]), split);
  }
  return features.values.index_select(0, at::tensor(kept, at::kLong));
}

}  // namespace

FeatureTableFiles embed_table(const RunToEmbed& asked, const std::string& folder, Progress& progress, Log& log) {
  const c10::Device device = resolve_device(asked.device);
  const LoadedRun run = load_run(asked.path, asked.which);
  require_image_run(run);
  const EvaluatedData data = evaluated_data(run, {.name = "", .root = asked.root, .words = {}});
  DataWatch watch(read_recipe(run.recipe).verify, progress, log);
  const EvaluationInput input = open_for_evaluation(run, data, watch, log);
  run.encoder->to(device);
  EvaluationCache cache(input, progress);
  std::string csv = "path,label,bias,split\n";
  std::vector<at::Tensor> parts = {add_rows("train", *input.train, cache.train(), csv)};
  for (const auto& evaluated : evaluated_splits(input))
    parts.push_back(add_rows(evaluated.name, *evaluated.dataset, cache.split(evaluated.name), csv));
  const at::Tensor all = at::cat(parts, 0);
  const std::string vectors = folder + "/features.npy", rows = folder + "/features.csv";
  write_npy(vectors, DType::kFloat32, all.sizes().vec(), all.const_data_ptr());
  write_file_atomically(rows, csv);
  return FeatureTableFiles().vectors(vectors).csv(rows);
}

}  // namespace debias

#include "debias/runs/bias_features.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/npy.h"

namespace debias {

ChosenData training_data(const LoadedRun& run, const DataWords& data) {
  if (!data.name.empty()) return read_data(named_section(data, ""));
  if (run.folder.empty()) {
    throw usage_error("opening checkpoint '{}': it is in no run folder, so its data are not known; give --data NAME --root DIR",
                      run.checkpoint);
  }
  Config section = read_recipe(run.recipe).train_data.section;
  if (!data.root.empty()) section.set("root", Config::string(data.root));
  for (const auto& word : data.words) section.assign(word);
  return read_data(section);
}

std::string bias_feature_path(const std::string& out) {
  const std::string ending = std::filesystem::path(out).extension();
  if (ending == ".npy") return out;
  if (ending == ".csv") throw usage_error("embed: --bias-features writes an array, and '{}' is a table; give --out F.npy", out);
  return out + ".npy";
}

BiasFeatureFile write_bias_features(const std::string& path, const Features& features, const Dataset& dataset) {
  std::vector<int64_t> ids;
  for (const int64_t index : features.indices) ids.push_back(dataset.id(index));
  const int64_t rows = *std::max_element(ids.begin(), ids.end()) + 1;
  std::vector<bool> taken(rows, false);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (taken[ids[i]]) throw data_error("embed: two images of data set '{}' have the id {}", dataset.info().name, ids[i]);
    taken[ids[i]] = true;
  }
  const at::Tensor table = at::zeros({rows, features.values.size(1)}, at::kFloat);
  table.index_copy_(0, at::tensor(ids, at::kLong), features.values);
  write_npy(path, DType::kFloat32, {rows, table.size(1)}, table.const_data_ptr());
  return {path, rows, table.size(1), rows - std::ssize(ids)};
}

}  // namespace debias

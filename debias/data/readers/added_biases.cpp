#include "debias/data/readers/added_biases.h"

#include <algorithm>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/sha256.h"
#include "debias/data/name_table.h"
#include "debias/data/readers/label_join.h"

namespace debias {
namespace {

// "test/" if the images are in the folder of their split.
std::string folder_of_split(const std::vector<std::string>& images, const std::string& split) {
  for (const std::string& name : {split, std::string("train")}) {  // held-out images are among those of train
    const std::string prefix = name + "/";
    if (!images.empty() && std::all_of(images.begin(), images.end(), [&](const auto& image) { return image.starts_with(prefix); }))
      return prefix;
  }
  return "";
}

}  // namespace

AddedBiases::AddedBiases(const LabelColumns& columns)
    : columns_{.file = columns.file, .path = columns.path, .label = std::nullopt, .bias = columns.bias, .group = columns.group},
      digest_(file_digest(columns.file)),
      finds_paths_(!has_path_column(columns)) {
  if (!finds_paths_) labels_ = read_label_file(columns_);
}

AddedBiases::Added AddedBiases::add(std::shared_ptr<const Dataset> dataset, const std::string& root) {
  std::vector<std::string> images;
  std::vector<int64_t> labels, biases;
  for (int64_t i = 0; i < dataset->size(); ++i) {
    images.push_back(dataset->source(i));
    labels.push_back(dataset->label(i));
  }
  if (finds_paths_) labels_ = read_label_file(columns_, images);
  const LabelPlaces places{root, folder_of_split(images, dataset->info().split), file()};
  MatchedRows matched = rows_of_images(places, labels_.names(), images);
  std::vector<std::string> notes = labels_.notes;
  notes.insert(notes.end(), labels_.bias.notes.begin(), labels_.bias.notes.end());
  notes.insert(notes.end(), matched.notes.begin(), matched.notes.end());
  const auto of_images = [&](int64_t LabelRow::*of_row) {
    std::vector<int64_t> values;
    for (const int64_t row : matched.of_image)
      values.push_back(row == kUnknown ? kUnknown : labels_.rows[static_cast<size_t>(row)].*of_row);
    return values;
  };
  int64_t unknown = 0;
  if (has_biases()) {
    biases = of_images(&LabelRow::bias);
    unknown = std::count(biases.begin(), biases.end(), kUnknown);
  } else {
    for (int64_t i = 0; i < dataset->size(); ++i) biases.push_back(dataset->bias(i));
  }
  auto added = std::make_shared<Renumbered>(std::move(dataset), std::vector<std::string>(), names(), std::move(labels), std::move(biases));
  if (labels_.group.kind != ColumnKind::kAbsent) {
    notes.insert(notes.end(), labels_.group.notes.begin(), labels_.group.notes.end());
    std::vector<int64_t> groups = of_images(&LabelRow::group);
    if (const auto alone = std::count(groups.begin(), groups.end(), kUnknown); alone > 0)
      notes.push_back(
          fmt::format("{} of {} images have no value of {} and are groups of their own", alone, groups.size(), labels_.group.title));
    added->take_groups(labels_.group.names, std::move(groups), "column " + labels_.group.title);
  }
  return {std::move(added), unknown, std::move(notes)};
}

}  // namespace debias

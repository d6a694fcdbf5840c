// Tables of labels and biases by path: under the usual columns and under named ones, by themselves and laid upon images.
#include <algorithm>

#include "debias/data/readers/label_join.h"
#include "fuzz/fuzz_target.h"

namespace {

using namespace debias;

void require_known(int64_t value, const std::vector<std::string>& names) {
  fuzz::require(value >= kUnknown && value < std::ssize(names), "a value is unknown or has a name");
}

// An image for each row that can be one, then those that another row may mean as well.
std::vector<ImageFile> images_of(const LabelFile& labels) {
  std::vector<ImageFile> files;
  for (const LabelRow& row : labels.rows) {
    if (row.path.starts_with("train/") && !row.path.ends_with('/')) files.push_back({.path = row.path});
  }
  return files;
}

void lay_upon_images(const LabelPlaces& places, const LabelFile& labels) {
  std::vector<ImageFile> files = images_of(labels);
  DatasetInfo info;
  join_labels(places, labels, files, info);
  for (const ImageFile& file : files) {
    require_known(file.label, info.class_names);
    require_known(file.bias, info.bias_names);
  }
  if (labels.label.kind == ColumnKind::kNames) {
    for (int64_t label = 0; label < std::ssize(info.class_names); ++label) {
      fuzz::require(std::any_of(files.begin(), files.end(), [&](const ImageFile& file) { return file.label == label; }),
                    "a class that is named has an image");
    }
  }
  fuzz::require(info.remarks.size() <= 3 + info.columns.likely_bias.size() + info.columns.remarks.size(),
                "a column that is read has one remark besides the notes, and so have those that are not");
}

void read(const LabelColumns& columns) {
  const LabelFile labels = read_label_file(columns);
  fuzz::require(labels.label.kind != ColumnKind::kAbsent || labels.bias.kind != ColumnKind::kAbsent, "there are labels or biases");
  for (const LabelRow& row : labels.rows) {
    require_known(row.label, labels.label.names);
    require_known(row.bias, labels.bias.names);
    fuzz::require(!row.path.empty() && row.line > 1, "a row has its path and its line");
  }
  lay_upon_images({.root = "/r", .prefix = "train/", .csv = columns.file}, labels);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::MemoryFile file;
  file.hold({data, size});
  fuzz::refused_only_as(ErrorKind::kData, [&] { read(LabelColumns{.file = file.path()}); });
  fuzz::refused_only_as(ErrorKind::kData,
                        [&] { read(LabelColumns{.file = file.path(), .path = "image", .label = "species", .bias = "place"}); });
  return 0;
}

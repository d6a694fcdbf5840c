// Bias labels and groups of a CSV for the images of a data set that was read without them: what `debias eval --labels` and `--group` add
// afterwards. A CSV without bias labels, or without groups, leaves the data set its own.
//
// Unlike a data set's own labels (label_join.h), the CSV need not have a row for every image: an image without one has an unknown bias
// value, and is counted. Rows for other images are left unused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/data/readers/label_file.h"

namespace debias {

class AddedBiases {
 public:
  // Reads the columns of paths, bias labels and groups; the column of labels is left alone. FileError as of read_label_file, and without a
  // column of either.
  explicit AddedBiases(const LabelColumns& columns);

  struct Added {
    std::shared_ptr<const Dataset> dataset;  // its own labels, the CSV's bias labels, which it names `names()`
    int64_t unknown = 0;                     // images without a row, or whose field is unknown (table_column.h), of bias labels
    std::vector<std::string> notes;          // one line each: what was read or joined otherwise than it is written
  };
  // `root`: of the data set, "" where it has none. Rows name an image as label_join.h has it, or as Dataset::source() does.
  Added add(std::shared_ptr<const Dataset> dataset, const std::string& root);

  const std::vector<std::string>& names() const { return labels_.bias.names; }
  bool has_biases() const { return labels_.bias.kind != ColumnKind::kAbsent; }  // behind add()
  const std::string& file() const { return columns_.file; }
  const std::string& column() const { return labels_.bias.title; }
  const std::string& digest() const { return digest_; }  // SHA-256 of the file's bytes

 private:
  LabelColumns columns_;
  std::string digest_;
  bool finds_paths_;  // the column of paths is found when images are known
  LabelFile labels_;
};

}  // namespace debias

// A feature table: vectors of a frozen encoder, and a CSV that describes each row.
//
// Rows are joined by name (row_names.h) if the vectors have a file of names next to them (F.names.csv or F.csv for F.npy) and the CSV has a
// column of the same kind (`path` or `filenames`; `id`) or one that holds these names. Rows of the CSV without a vector are then left out.
// Otherwise row i of the vectors belongs to row i of the CSV, and a remark says so. The output of `debias embed` is such a table; its CSV
// need not be named.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/features/bias_groups.h"
#include "debias/features/feature_vectors.h"
#include "debias/features/table_rows.h"

namespace debias {

// Finds the CSV of a feature table next to its vectors, if none is named.

inline constexpr const char* kNamesEnding = ".names.csv";

// F.names.csv or F.csv for F.npy, the first that exists; empty if neither does.
std::string csv_beside(const std::string& vectors);

struct FeatureTableFiles {
  std::string vectors = "";
  std::string csv = "";  // empty: the CSV beside the vectors
  std::string key = "";  // feature_vectors.h
};

struct FeatureTable {
  FeatureVectors vectors;
  TableRows rows;                    // in the order of the vectors
  std::vector<std::string> remarks;  // one line each: what was joined or left out

  int64_t size() const { return vectors.rows(); }
  std::vector<int64_t> of_split(TableSplit split) const;  // indices of its rows, ascending
};

// Checks that every value is usable (feature_vectors.h). Remarks count vectors of zeros and exact repeats. Throws the errors of
// FeatureVectors and read_table_rows. Throws a data error if the numbers of vectors and of rows differ, if names of vectors have no row in the
// CSV, or if the classes of the two files have the same names and are not the same (unless `options` name the column of labels). Throws a
// usage error if no CSV is named or found next to the vectors.
FeatureTable open_feature_table(const FeatureTableFiles& files, const TableRowOptions& options = {});

// What a feature table holds, in two digests, so that a later reader notices a change.

struct TableDigest {
  std::string vectors;  // of every byte of their file
  std::string rows;     // of name, label, split and bias labels of each row, in the order of the vectors; other columns do not count
};

// SHA-256, lower case. The file is hashed in blocks on all cores: its digest is one of the blocks' digests.
TableDigest table_digest(const FeatureTable& table);

// Rows of a feature table as a data set: labels, bias labels and names, without images.

// The rows `places`, in that order, with the groups that the table's columns name; ids are row indices of the table. A null `bias` means no bias labels. get() throws a data error,
// because there are no images.
std::shared_ptr<const Dataset> table_dataset(const TableRows& rows, const JointBias* bias, std::vector<int64_t> places,
                                             const std::string& split);

}  // namespace debias

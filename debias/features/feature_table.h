// A table of features: vectors of a frozen encoder, and a CSV that says what each row is.
//
// Row i of the vectors belongs to row i of the CSV, or, where names of the vectors lie beside them (F.names.csv or F.csv of F.npy) and
// the CSV has a column of the same kind (`path` or `filenames`; `id`), to the row of its name. Rows of the CSV without a vector are then
// left out. What `debias embed` writes is a table as it is, and its CSV is found without being named.
#pragma once

#include <string>
#include <vector>

#include "debias/features/feature_vectors.h"
#include "debias/features/table_rows.h"

namespace debias {

class FeatureTableFiles {
 public:
  DEBIAS_OPTION(FeatureTableFiles, std::string, vectors, "")
  DEBIAS_OPTION(FeatureTableFiles, std::string, csv, "")  // empty: the one beside the vectors
  DEBIAS_OPTION(FeatureTableFiles, std::string, key, "")  // feature_vectors.h
};

struct FeatureTable {
  FeatureVectors vectors;
  TableRows rows;                    // in the order of the vectors
  std::vector<std::string> remarks;  // a line each: what was joined or left out

  int64_t size() const { return vectors.rows(); }
  std::vector<int64_t> of_split(TableSplit split) const;  // places of its rows, ascending
};

// Every value is known to be finite. Beside the errors of FeatureVectors and read_table_rows, data errors: numbers of vectors and of rows
// that differ, names of vectors without a row in the CSV. Usage error without a CSV, named or beside the vectors.
FeatureTable open_feature_table(const FeatureTableFiles& files, const TableRowOptions& options = {});

}  // namespace debias

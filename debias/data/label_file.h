// CSV files of labels and biases by image path.
//
// The first line is a header with `path` and one or both of `label` and `bias`, in any order. Fields may be quoted as in RFC 4180; lines
// end with LF or CRLF. An empty field is unknown. A column whose other fields are all integers >= 0 (or -1, unknown) is taken as it is;
// otherwise its fields are names, and the value is the rank of the name in byte-wise order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "debias/data/dataset.h"

namespace debias {

struct LabelRow {
  int64_t label = kUnknown;
  int64_t bias = kUnknown;
  int64_t line = 0;  // in the file, from 1
};

struct LabelFile {
  std::map<std::string, LabelRow> rows;  // by path
  bool has_label = false;
  bool has_bias = false;
  std::vector<std::string> label_names;  // empty without a column; "0", "1", ... for integers
  std::vector<std::string> bias_names;
};

// FileError "PATH: line N: ..." for a missing or malformed file, unknown columns, a path given twice, integers above 1,000,000.
LabelFile read_label_file(const std::string& path);

}  // namespace debias

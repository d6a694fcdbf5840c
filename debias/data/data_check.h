// Reads every image of a data set and reports its contents.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/data/near_copies.h"

namespace debias {

struct BadFile {
  std::string path;
  std::string reason;
};

// Everything is counted over the good images only. Sums are exact integers, so that the result does not depend on the threads.
struct DataCheck {
  std::string name;
  std::string split;
  int64_t count = 0;
  int height = 0, width = 0, channels = 0;       // height and width are 0 when images differ in size
  std::map<std::pair<int, int>, int64_t> sizes;  // images of each (height, width)
  std::vector<std::string> class_names;
  std::vector<int64_t> per_class;  // labels beyond the named classes and unknown ones are left out
  std::vector<std::string> bias_names;
  std::vector<std::vector<int64_t>> bias_table;   // [label][bias]; empty without a bias
  std::vector<double> mean, std;                  // per channel, of values in [0, 1], over all pixels (population); empty without pixels
  std::vector<BadFile> bad_files;                 // in the data set's order
  std::vector<std::string> remarks;               // of the reader, as in DatasetInfo
  std::vector<std::string> pixel_notes;           // of these, those on how pixels are read
  ColumnUse columns;                              // likewise
  std::vector<std::optional<SmallPixels>> small;  // of each image that can be read, where they were asked for
};

// A bad image never throws: it is listed. `threads` 0 takes one per processor.
DataCheck check_data(const Dataset& dataset, int threads = 0, Progress& progress = Progress::silent(), bool keep_small = false);

}  // namespace debias

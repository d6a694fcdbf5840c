// MNIST: {train,t10k}-images-idx3-ubyte and -labels-idx1-ubyte, plain or .gz, directly in the root.
//
// 28x28 grey, labels 0..9 (LeCun, Cortes, Burges: the MNIST database). Counts come from the files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/data/hold_out.h"
#include "debias/data/readers/packed_dataset.h"

namespace debias {

// IDX files of unsigned bytes, as MNIST's: big-endian magic 0x000008DD (DD = number of dimensions), the extents, then the bytes.
struct IdxArray {
  std::vector<int64_t> shape;
  std::vector<uint8_t> values;
};

// Plain or gzip-compressed, detected by the content. FileError naming the fault: missing, empty, another magic, extents that are zero or
// multiply to more than 1 GiB, fewer or more bytes than they promise, damaged compression. Memory grows with what was read, not with
// what the header claims.
IdxArray read_idx(const std::string& path, int dimensions);

struct MnistOptions {
  std::string root = "";
  Split split = Split::kTrain;
  HoldOutOptions hold_out = {};
  void describe(OptionVisitor& o) {
    o("root", root, "folder with the IDX files, plain or .gz");
    o("split", split, "split to read");
    hold_out.describe(o);
  }
};

// A data error naming the file: missing, malformed, not 28x28, images and labels of different counts, a label above 9.
std::unique_ptr<Dataset> make_mnist(const MnistOptions& options);

}  // namespace debias

// MNIST: {train,t10k}-images-idx3-ubyte and -labels-idx1-ubyte, plain or .gz, directly in the root.
//
// 28x28 grey, labels 0..9 (LeCun, Cortes, Burges: the MNIST database). Counts come from the files.
#pragma once

#include <memory>
#include <string>

#include "debias/data/dataset.h"
#include "debias/data/hold_out.h"
#include "debias/data/split.h"

namespace debias {

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

// A data error naming the file: missing, malformed (idx_file.h), not 28x28, images and labels of different counts, a label above 9.
std::unique_ptr<Dataset> make_mnist(const MnistOptions& options);

}  // namespace debias

// bFFHQ: faces whose age is the label and whose gender is the bias (Kim et al., "BiaSwap", 2021, as published by Lee et al., 2021).
//
// root/0.5pct/{align,conflict}/<class>/<id>_<target>_<bias>.png is train, root/valid and root/test hold the other splits (named_images.h).
// Target 0 is young (10 to 29 years), 1 old (40 to 59); bias 0 is a woman, 1 a man. In test only the images whose target and bias differ
// are kept, as in the published evaluation. Images are read in their own size; the published runs resize them to 224x224 and normalise
// them with the constants of CIFAR-10.
#pragma once

#include <memory>
#include <string>

#include "debias/data/dataset.h"
#include "debias/data/readers/named_images.h"

namespace debias {

struct BffhqOptions {
  std::string root = "";
  FolderSplit split = FolderSplit::kTrain;
  HoldOutOptions hold_out = {};
  void describe(OptionVisitor& o) {
    o("root", root, "folder with 0.5pct, valid and test");
    o("split", split, "split to read; test has only images whose target and bias differ");
    hold_out.describe(o);
  }
};

// A data error naming the path, as of read_named_images; also where no image of test is bias-conflicting.
std::unique_ptr<Dataset> make_bffhq(const BffhqOptions& options);

}  // namespace debias

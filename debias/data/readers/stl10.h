// STL-10, the binary version (Coates, Ng, Lee 2011): {train,test}_{X,y}.bin and unlabeled_X.bin, in the root or in root/stl10_binary.
//
// An image is 27,648 bytes: a red, a green and a blue plane of 96x96, each stored column by column. Labels are 1..10 in the file and 0..9
// here: airplane bird car cat deer dog horse monkey ship truck; unlabelled images have kUnknown. Counts come from the files' sizes. Images
// are read at each access (the unlabelled file has 2.8 GB), so the files must stay in place while the data set is in use.
//
// Split `train+unlabeled` is train, then the unlabelled images; `hold_out` takes its images from train in both. An id is the position in
// the split before `hold_out`.
#pragma once

#include <memory>
#include <string>

#include "debias/data/dataset.h"
#include "debias/data/hold_out.h"

namespace debias {

enum class StlSplit { kTrain, kTest, kUnlabeled, kTrainAndUnlabeled, kHeldOut };

constexpr auto enum_words(StlSplit) { return named("train", "test", "unlabeled", "train+unlabeled", "held_out"); }

struct Stl10Options {
  std::string root = "";
  StlSplit split = StlSplit::kTrain;
  HoldOutOptions hold_out = {};
  void describe(OptionVisitor& o) {
    o("root", root, "folder with the binary files, or with their archive's folder");
    o("split", split, "split to read");
    hold_out.describe(o);
  }
};

// A data error naming the file: missing (and what was looked for), empty, a partial record, labels of another count, a label that is no
// class; from get(), a file that has become shorter.
std::unique_ptr<Dataset> make_stl10(const Stl10Options& options);

}  // namespace debias

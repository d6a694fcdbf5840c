// CIFAR-10 and CIFAR-100, the binary version (Krizhevsky 2009), and CIFAR-10 as folders of images.
//
// A record is one label byte (CIFAR-10) or a coarse and a fine one (CIFAR-100, the fine is used), then 1024 red, 1024 green and 1024
// blue bytes, row-major 32x32. The number of records comes from the files' sizes. Files are looked for in the root and in
// root/cifar-10-batches-bin or root/cifar-100-binary. A CIFAR-10 root with a folder train/ or test/ is read as one folder of JPEG or PNG
// files per class instead, decoded at each access.
//
// Class indices: airplane automobile bird cat deer dog frog horse ship truck; the fine labels of CIFAR-100 in alphabetical order.
#pragma once

#include <memory>
#include <string>

#include "debias/data/dataset.h"
#include "debias/data/hold_out.h"
#include "debias/data/readers/packed_dataset.h"

namespace debias {

struct CifarOptions {
  std::string root = "";
  Split split = Split::kTrain;
  HoldOutOptions hold_out = {};
  void describe(OptionVisitor& o) {
    o("root", root, "folder with the binary files, or with their archive's folder");
    o("split", split, "split to read");
    hold_out.describe(o);
  }
};

// A data error naming the file: missing (and what was looked for), empty, a partial record, a label that is not a class.
std::unique_ptr<Dataset> make_cifar10(const CifarOptions& options);
std::unique_ptr<Dataset> make_cifar100(const CifarOptions& options);

}  // namespace debias

// Folders of image files (image_decode.h): root/[split/]<class>/**/file.
//
// The class index is the rank of the class folder's name in byte-wise order (bytes of a name that is not UTF-8 are written \xe4), files are
// sorted by path within a class, other files and names that begin with a dot are ignored, extensions count in any case. If
// root/<split> is not a folder, split train is the root itself, unless its folders are splits (Train, Test). A folder without class
// folders is read as unlabelled: its own files, label kUnknown. info().remarks counts folders without images, which are not classes, and
// images beside the class folders, which are not read.
//
// `labels` (label_file.h) gives labels and biases by path, relative to the root, to the split's folder or to the CSV's, or
// absolute; a label column replaces the folders' labels. Every image needs a row, every row a file.
//
// `classes` (class_selection.h) takes some of the class folders, or groups of them as classes; the others are ignored. A class of which
// the root has no images keeps its number and is named in info().remarks; one at least must be there.
//
// `exif_orientation` turns photographs as their camera noted, which torchvision's loader does not: there, and here with false, an image
// taken upright may be on its side. Files that look like images but are not read are counted in info().remarks.
//
// Samples of 16 bits become bytes by the bits that the images use (deep_images.h), those of the folder's training split where there is one,
// unless `bits` or `window` say otherwise; info().remarks says so once.
//
// Images of which dropping `transparency` leaves a single colour are counted in info().remarks (clear_images.h).
//
// Normalisation constants: ImageNet's. Images may differ in size: info().height and width are 0.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/data/hold_out.h"
#include "debias/data/readers/deep_images.h"
#include "debias/data/readers/label_file.h"

namespace debias {

struct ImageFolderOptions {
  std::string root = "";
  std::string split = "train";
  LabelColumns labels = {};
  std::string classes = "";
  bool exif_orientation = true;
  Transparency transparency = Transparency::kDrop;
  SampleBits bits = SampleBits::kAuto;
  std::optional<std::vector<double>> window = {};  // low, high
  HoldOutOptions hold_out = {};
  void describe(OptionVisitor& o) {
    o("root", root, "folder with class folders, or with one folder of class folders per split");
    o("split", split, "folder of the root to read; train is the root itself if there is no such folder");
    o("labels", labels, "CSV with columns path, label and bias, or a map {file, path, label, bias} that names them");
    o("classes", classes, "classes to read: imagenet9, imagenet100, cifar4 or a file with lines CLASS: FOLDER ...; empty: all");
    o("exif_orientation", exif_orientation, "rotate photographs by their EXIF orientation, which torchvision does not");
    o("transparency", transparency, "transparent pixels: their stored colour (drop), or laid upon white or black");
    o("bits", bits, "bits in use where files store 16 a sample; auto: the fewest that the training images need, which a note says");
    o("window", window, "[low, high]: the values of such files that become black and white, in the place of bits");
    hold_out.describe(o);
  }
};

// A data error naming the path: a missing root or split, no image at all, a malformed or incomplete CSV.
std::unique_ptr<Dataset> make_image_folder(const ImageFolderOptions& options);

// What `bits: auto` is for these images; auto where no image has 16 bits, or bits or a window are given.
SampleBits settled_bits(const ImageFolderOptions& options);

}  // namespace debias

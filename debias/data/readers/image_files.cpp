#include "debias/data/readers/image_files.h"

#include <filesystem>
#include <utility>

#include "debias/core/error.h"

namespace debias {

ImageFiles::ImageFiles(DatasetInfo info, std::string root, std::vector<ImageFile> files, ImageReading reading,
                       std::vector<std::string> pixel_notes)
    : info_(std::move(info)), root_(std::move(root)), files_(std::move(files)), reading_(reading), pixel_notes_(std::move(pixel_notes)) {}

const ImageFile& ImageFiles::at(int64_t index) const {
  require_index(*this, index);
  return files_[static_cast<size_t>(index)];
}

int64_t ImageFiles::id(int64_t index) const {
  const int64_t id = at(index).id;
  return id == kUnknown ? index : id;
}

Sample ImageFiles::get(int64_t index) const {
  const ImageFile& file = at(index);
  return {region(index, whole_region).image, id(index), file.label, file.bias};
}

PartialImage ImageFiles::region(int64_t index, const RegionChooser& choose) const {
  const std::string path = (std::filesystem::path(root_) / at(index).path).string();
  PartialImage part = read_region(path, choose, reading_);
  const bool sized = info_.height > 0 && info_.width > 0;
  if (sized && (part.height != info_.height || part.width != info_.width)) {
    throw FileError(path, fmt::format("is {}x{} pixels, expected {}x{}", part.height, part.width, info_.height, info_.width));
  }
  return part;
}

}  // namespace debias

// A data set of image files, decoded at each access.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/image/image_decode.h"

namespace debias {

struct ImageFile {
  std::string path;  // relative to the root, with '/'
  int64_t label = kUnknown;
  int64_t bias = kUnknown;
  int64_t group = kUnknown;
  int64_t id = kUnknown;  // where unknown, its place in the list
};

class ImageFiles : public Dataset {
 public:
  // `pixel_notes`: what a reader says of how pixels are read; they are among info.remarks. If info.height and info.width are not 0, an image of another size is a data error of get().
  ImageFiles(DatasetInfo info, std::string root, std::vector<ImageFile> files, ImageReading reading = {},
             std::vector<std::string> pixel_notes = {});

  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  Sample get(int64_t index) const override;
  PartialImage region(int64_t index, const RegionChooser& choose) const override;
  int64_t id(int64_t index) const override;
  int64_t label(int64_t index) const override { return at(index).label; }
  int64_t bias(int64_t index) const override { return at(index).bias; }
  int64_t group(int64_t index) const override { return at(index).group; }
  std::string source(int64_t index) const override { return at(index).path; }
  const ImageReading& reading() const { return reading_; }
  const std::vector<std::string>& pixel_notes() const { return pixel_notes_; }

 private:
  const ImageFile& at(int64_t index) const;

  DatasetInfo info_;
  std::string root_;
  std::vector<ImageFile> files_;
  ImageReading reading_;
  std::vector<std::string> pixel_notes_;
};

}  // namespace debias

#include "debias/runs/thumbnail_folder.h"

#include <filesystem>
#include <fstream>

#include "debias/core/error.h"
#include "debias/data/builders/atomic_folder.h"
#include "debias/evaluate/thumbnail.h"
#include "debias/image/image_encode.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

void write_thumbnail(const std::string& path, const Image& image) {
  const std::vector<uint8_t> bytes = encode_png(image);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw resource_error("writing '{}': it cannot be written; check the folder, its permissions and the disk", path);
}

}  // namespace

void replace_thumbnails(const std::string& folder, const std::map<std::string, ShownImage>& images) {
  std::error_code failure;
  fs::remove_all(folder, failure);
  if (failure) throw resource_error("removing '{}': {}; check its permissions", folder, failure.message());
  AtomicFolder building(folder);
  for (const auto& [name, image] : images) {
    write_thumbnail(fmt::format("{}/{}.png", building.building(), name), thumbnail(image.dataset->get(image.index).image));
  }
  building.commit();
}

}  // namespace debias
